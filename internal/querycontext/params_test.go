package querycontext

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// Every kind reads JSON values and text, and says what it can't read.
func TestKinds(t *testing.T) {
	const max32, max64 = int64(1<<31 - 1), int64(1<<63 - 1)
	for _, c := range []struct {
		read interface{ check(v any) (any, error) }
		in   any
		want any // an error is its text
	}{
		{of(Priority), json.Number("5"), 5},
		{of(Priority), nil, 0},
		{of(Priority), " 7 ", 7},
		{of(Priority), json.Number("3e2"), 300},
		{of(Priority), "3e2", 300},
		{of(Priority), json.Number("-1.5"), -1},
		{of(Priority), "1.5", "Expected key [priority] to be in integer format, but got [1.5]"},
		{of(Priority), true, "Expected key [priority] to be an Integer, but got [java.lang.Boolean]"},
		{of(Priority), []any{}, "Expected key [priority] to be an Integer, but got [java.util.ArrayList]"},
		// Numbers outside the range are the nearest in it, text outside is refused.
		{of(Priority), json.Number("3000000000"), int(max32)},
		{of(Priority), int64(-1 << 40), -1 << 31},
		{of(Priority), 1e300, int(max32)},
		{of(Priority), "3000000000", "Expected key [priority] to be in integer format, but got [3000000000]"},
		{of(Timeout), json.Number("3000000000"), int64(3000000000)},
		{of(Timeout), json.Number("99999999999999999999"), max64},
		{of(Timeout), json.Number("1e400"), max64},
		{of(Timeout), json.Number("-1e400"), -max64 - 1},
		{of(Timeout), json.Number("9223372036854775807"), max64},
		{of(Timeout), "9223372036854775808", "Expected key [timeout] to be in long format, but got [9223372036854775808]"},
		{of(Timeout), "soon", "Expected key [timeout] to be in long format, but got [soon]"},
		{of(Timeout), "NaN", "Expected key [timeout] to be in long format, but got [NaN]"},
		{of(RowsPerSegment), json.Number("0"), "Query context parameter [rowsPerSegment] must be a positive integer, but it is [0]"},
		{of(RowsPerSegment), json.Number("1e12"), int(max32)},
		{of(MaxSubqueryBytes), "auto", int64(0)},
		{of(MaxSubqueryBytes), "12", int64(12)},
		{of(Cache), "TRUE", true},
		{of(Cache), "False", false},
		{of(Cache), "no", "Expected key [useCache] to be true or false, but got [no]"},
		{of(Cache), nil, true},
		{of(Cache), 1, "Expected key [useCache] to be a Boolean, but got [java.lang.Integer]"},
		{of(Lane), true, "Expected key [lane] to be a String, but got [java.lang.Boolean]"},
		{of(Assignment), "AUTO", "auto"},
		{of(Assignment), nil, "max"},
		{of(Assignment), "min", "Expected key [taskAssignment] to be referring to one of the values [MAX,AUTO] of enum [WorkerAssignmentStrategy], but got [min]"},
		{of(SegmentSortOrder), "a, b,,", []string{"a", "b"}},
		{of(SegmentSortOrder), `["a,b"]`, []string{"a,b"}},
		{of(SegmentSortOrder), []any{"x"}, []string{"x"}},
		{of(IndexSpec), map[string]any{"a": 1}, json.RawMessage(`{"a":1}`)},
		{of(IndexSpec), "[]", "Expected key [indexSpec] to be an indexSpec, but got [[]]"},
	} {
		got, err := c.read.check(c.in)
		if err != nil {
			got = err.Error()
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v (%T): got %v, want %v", c.in, c.in, got, c.want)
		}
	}
}

type checker[T any] struct{ p *Param[T] }

func of[T any](p *Param[T]) checker[T] { return checker[T]{p} }

func (c checker[T]) check(v any) (any, error) {
	got, err := c.p.Read(map[string]any{c.p.Key(): v})
	return got, err
}

func TestReaderKeepsTheFirstError(t *testing.T) {
	r := &Reader{Values: map[string]any{"timeout": true, "lane": 1, "priority": 3}}
	if ms, lane, n := Timeout.FromOr(r, 9), Lane.From(r), Priority.From(r); ms != 9 || lane != "" || n != 3 {
		t.Errorf("read %d, %q, %d", ms, lane, n)
	}
	if err := r.Err(); err == nil || err.Error() != "Expected key [timeout] to be a Long, but got [java.lang.Boolean]" {
		t.Errorf("got %v", err)
	}
}

func TestCheck(t *testing.T) {
	wrong := map[string]any{"enableUnnest": 1}
	if err := Check(CheckedBySQL, wrong); err == nil {
		t.Error("SQL does not check enableUnnest")
	}
	if err := Check(CheckedByNative, wrong); err != nil {
		t.Errorf("native queries check enableUnnest: %v", err)
	}
}

// The list names every parameter once and says what it means, and the page is current.
func TestList(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range list {
		if seen[e.key] || e.key == "" || e.kind == "" || e.doc == "" {
			t.Errorf("entry [%s] is there twice or incomplete: %+v", e.key, *e)
		}
		seen[e.key] = true
	}
	got, err := os.ReadFile("../../docs/context.md")
	if err != nil || string(got) != Markdown() {
		t.Errorf("docs/context.md is not current: run go generate ./internal/querycontext (%v)", err)
	}
}
