package corpus

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/hengedb/henge/internal/testkit/corpus"
)

// wanted is a kind of difference that the specification, or a later release of the reference, wants. A statement has it if its text
// matches SQL and its difference matches Difference (empty: any).
type wanted struct {
	sql, difference string
	// holds, if set, looks at the submatches of difference.
	holds func(match []string) bool
	why   string
}

// accepted begins the differences of statements that the reference refuses and we answer.
const accepted = `^status 200, want status 400 \w+: `

// Section numbers are those of spec/sql.md.
var differs = []wanted{
	{difference: accepted + `Received an unexpected token \[(AS )?(\w+)( \.)?\]`, holds: isWord,
		why: "only words that the grammar needs are reserved (appendix A); intervals have weeks and quarters, OFFSET may come first, QUALIFY is answered"},
	{difference: accepted + `Cannot apply '(-|\+|\*|/|%|MOD|=|<|>|<=|>=|<>|!=|BETWEEN \w+)' to .*BOOLEAN`, why: "booleans count as 0 and 1 in arithmetic and comparisons (6.2, 6.3)"},
	{difference: accepted + `Cannot apply '(TIME_\w+|TIMESTAMP_TO_MILLIS)' to .*\(<(DATE|VARCHAR|CHAR)`, why: "time functions take dates, and text as times (6.3)"},
	{difference: accepted + `Cannot apply '(LATEST|EARLIEST|ANY_VALUE|MIN|MAX)`, why: "these aggregates take any type (11, number 2)"},
	{difference: accepted + `Cannot apply 'BIT_`, why: "bit aggregates cast their argument to BIGINT"},
	{difference: accepted + `Cannot apply 'MV_`, why: "multi-value functions take a single value for a list of one"},
	{difference: accepted + `Cannot handle literal \[`, why: "constant arrays and NULL arrays are values"},
	{difference: accepted + `Calcite assertion violated`, why: "a constant that folds to NULL is NULL"},
	{difference: accepted + `Require at least 1 argument`, why: "ARRAY[] is the empty array (6.7)"},
	{difference: accepted + `(Parameters|Values in expression list|Values passed to VALUES operator) must have`, why: "mixed types become the least restrictive one (6.3, 6.7)"},
	{difference: accepted + `No match found for function signature (LOG|DIV|INITCAP|CBRT|SIGN|ASCII|CHR|LAST_DAY|MD5|SHA\d+|SQUARE|RADIANS|NOW|IF)\(`,
		why: "the function is newer than the recorded release, or one of ours (11, number 25)"},
	{difference: accepted + `Interval field value \d+ exceeds precision`, why: "the limit of two digits is dropped (11, number 29)"},
	{difference: accepted + `Cast function cannot convert value of type`, why: "the table of casts has it (6.4)"},
	{difference: accepted + `Column '\w+' is ambiguous`, sql: `USING`, why: "the column of a USING is one column"},
	{difference: accepted + `(Query needs \d+ merge buffers|Subquery generated results beyond maximum)`, why: "large intermediate results spill (11, number 5)"},
	{difference: accepted + `(Illegal use of dynamic parameter|parameter \[\d+\] is an array)`, why: "parameters of every type are taken, dates and arrays too (11, number 21)"},
	{difference: `^SQL types \[`, sql: `\?`, why: "a parameter is of the type it was sent with (11, number 21)"},
	{difference: `^status 200, want status 400: .*org.apache.calcite.avatica.SqlType`, why: "names of parameter types are read in any case"},
	{difference: accepted + `Join algorithm \[sortMerge\] is not supported`, why: "one engine runs every kind of join"},
	{difference: accepted + `Numeric literal '.*' out of range`, why: "a decimal beyond 19 digits is a DOUBLE (6.1)"},
	{difference: accepted + `FILTER clause must be a condition`, why: "NULL is a condition"},
	{difference: accepted + `Invalid equality filter on column`, why: "NULL in a list matches nothing"},
	{difference: accepted + `OVER must be applied to aggregate function`, sql: `FILTER`, why: "window aggregates take FILTER"},

	{difference: `: null, want false$`, sql: `LIKE`, why: "LIKE over NULL is NULL (6.6)"},
	{difference: `: null, want false$`, sql: `^SELECT (NOT )?\(?(id, )?[\w( ']`, why: "conditions over NULL are NULL (6.6)"},
	{difference: `: false, want null$`, sql: ` (AND|OR|BETWEEN) `, why: "FALSE AND NULL is FALSE (6.6)"},
	{difference: `: (-?\d+), want (-?\d+)$`, holds: cutTo32Bits, why: "INTEGER is never cut to 32 bits (6.1)"},
	{difference: `: (-?\d+\.\d+[\dE-]*), want (-?\d+\.\d+[\dE-]*)$`, holds: sameFloat, why: "FLOAT is written with as few digits as read back the same (1.4)"},
	{difference: `: "?\[?\d+\.\d+\]?"?, want "?\[?\d+\]?"?$`, sql: `UNION`, why: "the columns of a UNION have the least restrictive type (6.3)"},
	{difference: `: (true|false), want (true|false)$`, sql: `AS BOOLEAN`, why: "a number is true if it is above zero (6.4)"},
	{difference: `want "?(1|0)"?$`, sql: `TRUE|FALSE|BOOLEAN`, why: "a boolean as text is true or false (6.4)"},
	{difference: `: true, want false$`, sql: `(TIMESTAMP|DATE) '[^']*' = '`, why: "text beside a time is read as a time (6.3)"},
	{difference: `^row`, sql: `CAST\(CAST\(\w+ AS (TINYINT|SMALLINT|INTEGER|INT|BIGINT|TIMESTAMP|TIMESTAMP\(0\)|DATE)\)`, why: "the inner of two casts counts; the reference drops it"},
	{difference: `: null, want "1970-01-01T00:00:00.000Z"$`, why: "what can't be read as a time is NULL; the reference folds such constants to 0 (6.5)"},
	{difference: `^status 400 invalidInput: Time zone \[`, why: "an unknown time zone is refused; the reference takes UTC"},
	{difference: `^status 400 legacyQueryException: Expected key \[(sqlTimeZone|engine)\] to be a String`, why: "a context value of a wrong type is refused"},
	{difference: `^row .*column \d+: |rows, want`, sql: `(RIGHT|FULL)( OUTER)? JOIN`, why: "RIGHT and FULL JOIN are answered right (11, number 7)"},
}

func isWord(m []string) bool { return regexp.MustCompile(`^[A-Za-z]+$`).MatchString(m[2]) }

func cutTo32Bits(m []string) bool {
	got, errGot := strconv.ParseInt(m[1], 10, 64)
	want, errWant := strconv.ParseInt(m[2], 10, 64)
	return errGot == nil && errWant == nil && got != want && int64(int32(got)) == want
}

func sameFloat(m []string) bool {
	got, errGot := strconv.ParseFloat(m[1], 32)
	want, errWant := strconv.ParseFloat(m[2], 32)
	return errGot == nil && errWant == nil && float32(got) == float32(want)
}

// excuses counts by rule what was excused.
type excuses struct {
	sql, difference []*regexp.Regexp
	count           []int
}

func newExcuses(t *testing.T) *excuses {
	t.Helper()
	e := &excuses{count: make([]int, len(differs))}
	for _, w := range differs {
		for _, c := range []struct {
			to      *[]*regexp.Regexp
			pattern string
		}{{&e.sql, w.sql}, {&e.difference, w.difference}} {
			p, err := regexp.Compile(c.pattern)
			if err != nil {
				t.Fatal(err)
			}
			*c.to = append(*c.to, p)
		}
	}
	return e
}

// covers reports whether a difference is wanted.
func (e *excuses) covers(r *corpus.Record, difference string) bool {
	for i, w := range differs {
		m := e.difference[i].FindStringSubmatch(difference)
		if m != nil && e.sql[i].MatchString(r.SQL) && (w.holds == nil || w.holds(m)) {
			e.count[i]++
			return true
		}
	}
	return false
}

// report logs how often each rule was needed, and fails for one that never was.
func (e *excuses) report(t *testing.T, complete bool) {
	t.Helper()
	for i, w := range differs {
		t.Logf("%5d answered otherwise: %s", e.count[i], w.why)
		if e.count[i] == 0 && complete {
			t.Errorf("no answer differs as %q any more: take the rule out of differs_test.go", w.why)
		}
	}
}
