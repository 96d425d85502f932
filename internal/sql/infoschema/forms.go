package infoschema

// Form is a construct with the syntax of a function that is not in a catalog of functions, because
// its arguments are not bound like those of functions.
type Form struct {
	Name string
	// Aggregator is true if it is listed as an aggregator, as window functions are in Druid. See quirk
	// Q014.
	Aggregator bool
	// Signatures are those of ROUTINES, "" where ROUTINES shows NULL because the form is not a call.
	Signatures string
	// Syntax replaces Signatures in the documentation if the form is written differently.
	Syntax  string
	Summary string
}

// Windows are the functions that require OVER.
var Windows = []Form{
	{Name: "CUME_DIST", Aggregator: true, Signatures: "'CUME_DIST()'", Summary: "Returns the share of the rows of the partition " +
		"that come before the row or are its peers."},
	{Name: "DENSE_RANK", Aggregator: true, Signatures: "'DENSE_RANK()'", Summary: "Returns the rank of the row without gaps: " +
		"peers have the same rank, and the next rank is one higher."},
	{Name: "FIRST_VALUE", Aggregator: true, Signatures: "'FIRST_VALUE(<ANY>)'", Summary: "Returns the value of the first row of the frame."},
	{
		Name: "LAG", Aggregator: true, Signatures: "'LAG(<ANY>)'\n'LAG(<ANY>, <NUMERIC>)'\n'LAG(<ANY>, <NUMERIC>, <ANY>)'",
		Summary: "Returns the value of an earlier row, by default the previous one. Returns the default, or NULL, at the start " +
			"of the partition.",
	},
	{Name: "LAST_VALUE", Aggregator: true, Signatures: "'LAST_VALUE(<ANY>)'", Summary: "Returns the value of the last row of the frame."},
	{
		Name: "LEAD", Aggregator: true, Signatures: "'LEAD(<ANY>)'\n'LEAD(<ANY>, <NUMERIC>)'\n'LEAD(<ANY>, <NUMERIC>, <ANY>)'",
		Summary: "Returns the value of a later row, by default the next one. Returns the default, or NULL, at the end of the " +
			"partition.",
	},
	{Name: "NTH_VALUE", Aggregator: true, Signatures: "'NTH_VALUE(<ANY>, <NUMERIC>)'", Summary: "Returns the value of a row of " +
		"the frame by its number, counted from 1."},
	{Name: "NTILE", Aggregator: true, Signatures: "'NTILE(<INTEGER>)'", Summary: "Divides the rows of the partition into parts " +
		"of nearly equal size and returns the number of the row's part."},
	{Name: "PERCENT_RANK", Aggregator: true, Signatures: "'PERCENT_RANK()'", Summary: "Returns the rank of the row as a share: " +
		"(rank - 1) / (rows - 1)."},
	{Name: "RANK", Aggregator: true, Signatures: "'RANK()'", Summary: "Returns the rank of the row with gaps: peers have the " +
		"number of the first of them."},
	{Name: "ROW_NUMBER", Aggregator: true, Signatures: "'ROW_NUMBER()'", Summary: "Returns the number of the row in its " +
		"partition, counted from 1."},
}

// Forms are the other forms.
var Forms = []Form{
	{Name: "APPEND", Signatures: "'APPEND(<CHARACTER>, ...)'", Syntax: "TABLE(APPEND('table', ...))", Summary: "Returns the rows of " +
		"several datasources. Columns that a datasource lacks are NULL."},
	{
		Name: "BETWEEN", Signatures: "'<COMPARABLE_TYPE> BETWEEN <COMPARABLE_TYPE> AND " +
			"<COMPARABLE_TYPE>'", Syntax: "x [NOT] BETWEEN [SYMMETRIC] low AND high",
		Summary: "Returns whether a value is between two bounds, which are included. SYMMETRIC accepts the bounds in either order.",
	},
	{Name: "CASE", Syntax: "CASE [x] WHEN .. THEN .. [ELSE ..] END", Summary: "Returns the value of the first condition that is " +
		"true. Without ELSE, returns NULL if none of them is."},
	{Name: "CAST", Syntax: "CAST(x AS type)", Summary: "Converts a value to another type."},
	{
		Name: "EXTERN", Signatures: "'EXTERN(<CHARACTER>, <CHARACTER>)'\n'EXTERN(<CHARACTER>, <CHARACTER>, " +
			"<CHARACTER>)'", Syntax: "TABLE(EXTERN('source', 'format'[, 'signature'])) [EXTEND (columns)]",
		Summary: "Returns the rows of external data.",
	},
	{Name: "EXTRACT", Signatures: "'EXTRACT(<TIME_UNIT> FROM <TIMESTAMP>)'", Summary: "Returns a part of a timestamp, such as its hour."},
	{Name: "GROUPING", Aggregator: true, Signatures: "'GROUPING(<expr>, ...)'", Summary: "Returns a number with one bit for each " +
		"expression, the lowest for the last one. A bit is 0 if the row is grouped by its expression."},
	{Name: "LIKE", Signatures: "'LIKE(<STRING>, <STRING>, <STRING>)'", Syntax: "x [NOT] LIKE pattern [ESCAPE c]", Summary: "Returns whether a " +
		"string matches a pattern. `%` matches any characters, `_` matches one."},
}
