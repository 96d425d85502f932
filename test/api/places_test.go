package api

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestErrorsHavePlaces asks for what fails while its constants are computed, or its rows: the
// context says where it stands, the message is the one that clients know.
func TestErrorsHavePlaces(t *testing.T) {
	s := server.Start(t, server.Options{})
	for _, c := range []struct{ query, column, endColumn, message string }{
		{"SELECT 1/0", "8", "10", "/ by zero"},
		{"SELECT 2, MOD(a, 0) FROM (VALUES (1)) AS t(a)", "11", "19", "/ by zero"},
		{"SELECT LEFT('abc', -1)", "8", "22", "Function[left] needs a positive integer as the second argument"},
		{"SELECT REGEXP_EXTRACT('abc', 'b', 5)", "8", "36", "No group 5"},
		{"SELECT LOOKUP('a', 'nope')", "8", "26", "Lookup [nope] not found"},
		{"SELECT UPPER(LOOKUP(a, 'nope')) FROM (VALUES ('x')) AS t(a)", "14", "30", "Lookup [nope] not found"},
		{"SELECT PARSE_JSON('{bad')", "8", "25", "Function[parse_json] bad string input [{bad]"},
		{"SELECT JSON_VALUE('{}', '$..a')", "8", "31", "JSONPath [$..a] is invalid, path parts separated by '.' must not be empty"},
		{"SELECT TIME_FLOOR(CURRENT_TIMESTAMP, 'P0D')", "8", "43", "Invalid period [PT0S]: zero period is not acceptable as a granularity"},
		{"SELECT TIME_FORMAT(CURRENT_TIMESTAMP, 'bogus')", "8", "46", "Invalid time pattern [bogus]: illegal pattern component [b]"},
		{"SELECT 1 + MAX(a) FROM (SELECT ARRAY[1, 2] AS a)", "12", "17", "Aggregation [MAX] does not support type [ARRAY<LONG>], column [a]"},
		{`SELECT * FROM TABLE(EXTERN('{"type":"inline","data":"a"}', '{"type":"csv"}'))`, "15", "77",
			"EXTERN requires either a [signature] value or an EXTEND clause"},
		{"SELECT 1, (SELECT a FROM (VALUES (1), (2)) AS t(a))", "12", "50", "Subquery expression returned more than one row"},
		{"SELECT a, (SELECT b FROM (VALUES (1, 2), (1, 3)) AS u(x, b) WHERE x = a) FROM (VALUES (1)) AS t(a)", "12", "71",
			"Subquery expression returned more than one row"},
		{"SHOW TABLES", "1", "4", "Unsupported SQL statement [SHOW]. " +
			"Write instead: SELECT TABLE_SCHEMA, TABLE_NAME FROM INFORMATION_SCHEMA.TABLES"},
		{"DELETE FROM t", "1", "6", "Unsupported SQL statement [DELETE]. " +
			"Write instead: REPLACE INTO ... OVERWRITE ALL SELECT * FROM ... WHERE NOT (...) PARTITIONED BY DAY"},
	} {
		text, err := json.Marshal(map[string]string{"query": c.query})
		if err != nil {
			t.Fatal(err)
		}
		status, body, err := s.Send(t.Context(), "router", http.MethodPost, "/service/v2/sql", string(text))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			ErrorMessage string            `json:"errorMessage"`
			Context      map[string]string `json:"context"`
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatal(err)
		}
		at := answer.Context
		if status != http.StatusBadRequest || answer.ErrorMessage != c.message || at["line"] != "1" || at["column"] != c.column || at["endColumn"] != c.endColumn {
			t.Errorf("%s\ngives status %d, %s", c.query, status, body)
		}
	}
}
