package infoschema

// Form is what is called or written like a function and is in no catalog of functions: its
// arguments are not bound as those of functions are.
type Form struct {
	Name string
	// Aggregator says that it is listed as one: window functions are, as in the reference.
	Aggregator bool
	// Signatures are as ROUTINES shows them, "" where it shows NULL: what can't be written as a call.
	Signatures string
	// Syntax is shown instead of Signatures where these are not how it is written.
	Syntax  string
	Summary string
}

// Windows are the functions that only exist with OVER.
var Windows = []Form{
	{Name: "CUME_DIST", Aggregator: true, Signatures: "'CUME_DIST()'", Summary: "Returns the share of the partition's rows that come before the row or are its peers."},
	{Name: "DENSE_RANK", Aggregator: true, Signatures: "'DENSE_RANK()'", Summary: "Returns the number of the row's peers among all groups of peers, without gaps."},
	{Name: "FIRST_VALUE", Aggregator: true, Signatures: "'FIRST_VALUE(<ANY>)'", Summary: "Returns the value for the first row of the frame."},
	{
		Name: "LAG", Aggregator: true, Signatures: "'LAG(<ANY>)'\n'LAG(<ANY>, <NUMERIC>)'\n'LAG(<ANY>, <NUMERIC>, <ANY>)'",
		Summary: "Returns the value for a row before this one (by default the one before), or the default where there is none.",
	},
	{Name: "LAST_VALUE", Aggregator: true, Signatures: "'LAST_VALUE(<ANY>)'", Summary: "Returns the value for the last row of the frame."},
	{
		Name: "LEAD", Aggregator: true, Signatures: "'LEAD(<ANY>)'\n'LEAD(<ANY>, <NUMERIC>)'\n'LEAD(<ANY>, <NUMERIC>, <ANY>)'",
		Summary: "Returns the value for a row after this one (by default the next), or the default where there is none.",
	},
	{Name: "NTH_VALUE", Aggregator: true, Signatures: "'NTH_VALUE(<ANY>, <NUMERIC>)'", Summary: "Returns the value for the row of the frame with that number, counted from 1."},
	{Name: "NTILE", Aggregator: true, Signatures: "'NTILE(<INTEGER>)'", Summary: "Divides the rows of the partition into that many parts as equal as they can be, and returns the number of the row's part."},
	{Name: "PERCENT_RANK", Aggregator: true, Signatures: "'PERCENT_RANK()'", Summary: "Returns the rank of the row as a share: (rank - 1) / (rows - 1)."},
	{Name: "RANK", Aggregator: true, Signatures: "'RANK()'", Summary: "Returns the number of the first of the row's peers."},
	{Name: "ROW_NUMBER", Aggregator: true, Signatures: "'ROW_NUMBER()'", Summary: "Returns the number of the row in its partition, counted from 1."},
}

// Forms are the others.
var Forms = []Form{
	{Name: "APPEND", Signatures: "'APPEND(<CHARACTER>, ...)'", Syntax: "TABLE(APPEND('table', ...))", Summary: "All rows of several datasources; columns that one lacks are NULL."},
	{
		Name: "BETWEEN", Signatures: "'<COMPARABLE_TYPE> BETWEEN <COMPARABLE_TYPE> AND <COMPARABLE_TYPE>'", Syntax: "x [NOT] BETWEEN [SYMMETRIC] low AND high",
		Summary: "Whether a value is not below one nor above another.",
	},
	{Name: "CASE", Syntax: "CASE [x] WHEN .. THEN .. [ELSE ..] END", Summary: "The value of the first condition that is true."},
	{Name: "CAST", Syntax: "CAST(x AS type)", Summary: "The value in another type."},
	{
		Name: "EXTERN", Signatures: "'EXTERN(<CHARACTER>, <CHARACTER>)'\n'EXTERN(<CHARACTER>, <CHARACTER>, <CHARACTER>)'", Syntax: "TABLE(EXTERN('source', 'format'[, 'signature'])) [EXTEND (columns)]",
		Summary: "The rows of external data.",
	},
	{Name: "EXTRACT", Signatures: "'EXTRACT(<TIME_UNIT> FROM <TIMESTAMP>)'", Summary: "A part of a time, such as its HOUR."},
	{Name: "GROUPING", Aggregator: true, Signatures: "'GROUPING(<expr>, ...)'", Summary: "A number with a bit for each expression, the last one's the lowest: 0 where the row's group is by it."},
	{Name: "LIKE", Signatures: "'LIKE(<STRING>, <STRING>, <STRING>)'", Syntax: "x [NOT] LIKE pattern [ESCAPE c]", Summary: "Whether a string matches a pattern of `%` and `_`."},
}
