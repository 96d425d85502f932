package syntax

import (
	"maps"
	"slices"
	"strings"
)

// InsteadOfAsof is the advice for ASOF JOIN.
const InsteadOfAsof = "LEFT JOIN LATERAL (SELECT ... WHERE ... ORDER BY ... DESC LIMIT 1) AS q ON TRUE; ASOF JOIN is not supported"

// What to write instead of other constructs that have no form of their own here.
const (
	insteadOfRecursive  = "WITH without RECURSIVE; queries that read themselves are not supported"
	insteadOfDistinctOn = "QUALIFY ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...) = 1 at the end of the query; DISTINCT ON is not supported"
	insteadOfUnnest     = "UNNEST(array) AS u(x) in FROM, and x here; UNNEST is not a function"
	insteadOfReplace    = "* EXCLUDE (names), and beside it what replaces them"
	insteadOfByAll      = "the expressions, or their places in SELECT: GROUP BY 1, 2"
	insteadOfFile       = "TABLE(EXTERN(...)) EXTEND (columns), or load the file with henge ingest"
	insteadOfSeries     = "UNNEST(ARRAY[1, 2, 3]) AS t(n), or (VALUES (1), (2), (3)) AS t(n); there are no functions that return rows"
	insteadOfFromFirst  = "SELECT * FROM ...: a query begins with SELECT"
	insteadOfSession    = "nothing: every statement is a transaction of its own"
	insteadOfUpkeep     = "nothing: compaction runs by itself; POST /service/coordinator/v1/config/compaction sets how"
	insteadOfColumns    = "SELECT COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = '...'"
	insteadOfTables     = "SELECT TABLE_SCHEMA, TABLE_NAME FROM INFORMATION_SCHEMA.TABLES"
	insteadOfChange     = "REPLACE INTO ... OVERWRITE ALL SELECT ... FROM ... PARTITIONED BY DAY"
	insteadOfUpsert     = "REPLACE INTO ... OVERWRITE WHERE __time >= ... SELECT ... PARTITIONED BY DAY; rows have no keys"
	insteadOfDrop       = "DELETE /service/coordinator/v1/datasources/..."
	insteadOfRights     = "the endpoints of users and roles below /service-ext/basic-security"
	insteadOfCreate     = "INSERT INTO ... SELECT ... PARTITIONED BY DAY, which makes the table"
	insteadOfStats      = "SELECT COUNT(*), MIN(x), MAX(x), APPROX_COUNT_DISTINCT(x) FROM ..., or EXPLAIN ANALYZE of a query"
	insteadOfIndex      = "nothing: every text column has an index"
	insteadOfKill       = "DELETE /service/v2/sql/{sqlQueryId}; sys.queries has the ids"
	insteadOfPrepare    = "the query with ? for each value, and the values in [parameters] of the request"
	insteadOfView       = "WITH name AS (SELECT ...) before the query"
	insteadOfCopyOut    = "INSERT INTO EXTERN(local(exportPath => '...')) AS CSV SELECT ..."
	insteadOfPivot      = "SELECT * FROM ... PIVOT (...): the table comes first"
	insteadOfPrompt     = "SQL; commands of the prompt work in henge sql alone"
)

// statementHabits are words that begin statements of other dialects, with what to write instead.
var statementHabits = map[string]string{
	"SUMMARIZE": insteadOfStats, "ANALYZE": insteadOfStats, "PROFILE": insteadOfStats,
	"VACUUM": insteadOfUpkeep, "OPTIMIZE": insteadOfUpkeep, "REINDEX": insteadOfIndex,
	"CLUSTER": insteadOfUpkeep, "CHECKPOINT": insteadOfUpkeep,
	"COPY": insteadOfFile, "LOAD": insteadOfFile, "IMPORT": insteadOfFile, "ATTACH": insteadOfFile, "DETACH": insteadOfTables,
	"EXPORT": insteadOfCopyOut, "UNLOAD": insteadOfCopyOut,
	"BEGIN": insteadOfSession, "START": insteadOfSession, "END": insteadOfSession, "SAVEPOINT": insteadOfSession, "ABORT": insteadOfSession,
	"LOCK": insteadOfSession, "RELEASE": insteadOfSession, "COMMIT": insteadOfSession, "ROLLBACK": insteadOfSession,
	"DESC": insteadOfColumns, "PRAGMA": insteadOfColumns, "DATABASES": insteadOfTables, "TABLES": insteadOfTables,
	"KILL": insteadOfKill, "PREPARE": insteadOfPrepare, "DEALLOCATE": insteadOfPrepare, "EXECUTE": insteadOfPrepare, "EXEC": insteadOfPrepare,
	"DECLARE": insteadOfView, "CACHE": insteadOfView, "REFRESH": insteadOfUpkeep, "RENAME": insteadOfChange,
	"PIVOT": insteadOfPivot, "UNPIVOT": insteadOfPivot, "HELP": insteadOfPrompt, "QUIT": insteadOfPrompt, "EXIT": insteadOfPrompt,
	"FROM": insteadOfFromFirst,
}

// insteadOf says how to reach what statements are for that are understood and not run.
var insteadOf = map[string]string{
	"SHOW": insteadOfTables, "USE": insteadOfTables + "; tables are named schema.table", "DESCRIBE_TABLE": insteadOfColumns,
	"CREATE_TABLE": insteadOfCreate, "CREATE_VIEW": insteadOfView, "CREATE_INDEX": insteadOfIndex, "CREATE_OR": insteadOfView,
	"CREATE_TEMPORARY": insteadOfView, "CREATE_TEMP": insteadOfView, "CREATE_MATERIALIZED": insteadOfView,
	"CREATE_USER": insteadOfRights, "CREATE_ROLE": insteadOfRights, "DROP_USER": insteadOfRights, "DROP_ROLE": insteadOfRights,
	"DROP_TABLE": insteadOfDrop, "TRUNCATE": insteadOfDrop,
	"DELETE": "REPLACE INTO ... OVERWRITE ALL SELECT * FROM ... WHERE NOT (...) PARTITIONED BY DAY",
	"UPDATE": insteadOfChange, "MERGE": insteadOfChange, "ALTER": insteadOfChange + ", with the columns wanted; new columns need no statement",
	"SET_OPTION": "SET name = value; before the query", "COMMIT": insteadOfSession, "ROLLBACK": insteadOfSession,
	"GRANT": insteadOfRights, "REVOKE": insteadOfRights, "EXECUTE": insteadOfPrepare,
}

// statementHabit returns what to write instead of a statement that begins with the token which
// failed, "" if that is not known of other dialects.
func (f *failure) statementHabit() string {
	word := upper(f.source(&f.toks[f.at]))
	if word == "COPY" && f.hasWord("TO") {
		return insteadOfCopyOut
	}
	return statementHabits[word]
}

// hasWord reports whether one of the tokens that are known is a word.
func (f *failure) hasWord(word string) bool {
	for i := range f.toks {
		if f.toks[i].kind == tokWord && strings.EqualFold(f.source(&f.toks[i]), word) {
			return true
		}
	}
	return false
}

// behind reports whether the token so many places before the one in front of the failure is a
// keyword.
func (f *failure) behind(places int, k keyword) bool {
	at := f.at - 1 - places
	return at >= 0 && f.toks[at].is(k)
}

// beginsTable reports whether a table may stand behind a token.
func (t *token) beginsTable() bool { return t.is(kwFrom) || t.is(kwJoin) || t.kind == tokComma }

// tableFunction returns what to write instead of a call in the place of a table.
func tableFunction(name string) string {
	switch lower := strings.ToLower(name); {
	case lower == "range", lower == "numbers", lower == "sequence", strings.HasPrefix(lower, "generate_"), lower == "zeros":
		return insteadOfSeries
	case strings.HasPrefix(lower, "read_"), strings.HasSuffix(lower, "_scan"), lower == "file", lower == "url", lower == "openrowset":
		return insteadOfFile
	case lower == "unnest", lower == "explode", lower == "flatten":
		return insteadOfUnnest
	}
	return "TABLE(" + upper(name) + "(...)), if it is a function that reads a source; for files " + insteadOfFile
}

// intervalOf writes the text of an interval of other dialects, such as 1 day, as one of ours.
func intervalOf(text string) string {
	number := strings.TrimSpace(text)
	unit := strings.TrimLeft(number, "+-0123456789.")
	number = strings.TrimSpace(strings.TrimSuffix(number, unit))
	unit = upper(strings.TrimSpace(unit))
	for short, long := range unitWords {
		if unit == short || unit == long+"S" {
			unit = long
		}
	}
	if !isNumber(number) || !slices.Contains(slices.Collect(maps.Values(unitWords)), unit) {
		return "INTERVAL '1' DAY: the number in quotes, the unit behind them"
	}
	return "INTERVAL '" + number + "' " + unit
}

var unitWords = map[string]string{
	"Y": "YEAR", "QTR": "QUARTER", "MON": "MONTH", "W": "WEEK", "D": "DAY", "H": "HOUR", "M": "MINUTE", "S": "SECOND",
}

// construct returns what to write instead of a construct that the token which failed is part of, ""
// if it is of none.
func (f *failure) construct() string {
	tok, before := &f.toks[f.at], &f.toks[f.at-1]
	switch {
	case f.isAsof():
		return InsteadOfAsof
	case tok.is(kwRecursive) && before.is(kwWith):
		return insteadOfRecursive
	case tok.is(kwOn) && before.is(kwDistinct):
		return insteadOfDistinctOn
	case tok.is(kwUnnest):
		return insteadOfUnnest
	case tok.is(kwReplace) && before.kind == tokStar:
		return insteadOfReplace
	case before.is(kwAll) && f.behind(1, kwBy):
		return insteadOfByAll
	case before.kind == tokString && f.behind(1, kwInterval):
		unit := ""
		if tok.kind == tokWord && !tok.keyword.isReserved() {
			unit = f.source(tok)
		}
		return intervalOf(strings.Trim(f.source(before), "'") + " " + unit)
	case tok.kind == tokLeftParen && before.isName() && f.at > 1 && f.toks[f.at-2].beginsTable():
		return tableFunction(f.source(before))
	case tok.isName() && before.is(kwExcept) && f.at > 1 && f.toks[f.at-2].kind == tokStar:
		return "* EXCLUDE (" + f.source(tok) + ")"
	}
	return ""
}

// IsAsof reports whether an alias is the keyword before JOIN in other dialects.
func IsAsof(alias string) bool { return strings.EqualFold(alias, "ASOF") }

// isAsof reports whether the token that failed, or one before it in the same query, begins ASOF
// JOIN. The word itself is read as an alias.
func (f *failure) isAsof() bool {
	for at := f.at; at >= 0 && !f.toks[at].is(kwSelect); at-- {
		if IsAsof(f.source(&f.toks[at])) && at+1 < len(f.toks) && (f.toks[at+1].is(kwJoin) || f.toks[at+1].is(kwLeft)) {
			return true
		}
	}
	return false
}
