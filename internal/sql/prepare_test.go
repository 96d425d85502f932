package sql

import (
	"testing"

	"github.com/hengedb/henge/internal/sql/syntax"
)

// A statement that was parsed before is bound as it was parsed: its text is not read again.
func TestPrepareTakesTheScript(t *testing.T) {
	const text = "SET sqlTimeZone = 'Asia/Tokyo'; SELECT 1 AS x"
	script, err := syntax.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Prepare(t.Context(), Request{Text: "no statement", Script: script})
	if err != nil {
		t.Fatal(err)
	}
	if s.Context["sqlTimeZone"] != "Asia/Tokyo" || s.request.Script != nil {
		t.Errorf("context %v, script kept: %v", s.Context, s.request.Script != nil)
	}
	// Errors of the text are those of a text that was not parsed before.
	_, before := Prepare(t.Context(), Request{Text: "SET x = y; SELECT 1"})
	if script, err = syntax.Parse("SET x = y; SELECT 1"); err == nil {
		_, err = Prepare(t.Context(), Request{Text: "SET x = y; SELECT 1", Script: script})
	}
	if before == nil || err == nil || before.Error() != err.Error() {
		t.Errorf("errors differ: %v, %v", before, err)
	}
}
