package invariant

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

// recovered runs f and returns what it panicked with, or nil.
func recovered(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

func TestCheck(t *testing.T) {
	if r := recovered(func() { Check(true, "never seen") }); r != nil {
		t.Fatalf("Check(true) panicked: %v", r)
	}
	r := recovered(func() { Check(false, "batch has [%d] rows", 3) })
	if Enabled != (r != nil) {
		t.Fatalf("Enabled = %v, Check(false) panicked with %v", Enabled, r)
	}
	if s, _ := r.(string); Enabled && !strings.Contains(s, "batch has [3] rows") {
		t.Fatalf("panic does not name the rule: %q", s)
	}
}

func TestFailed(t *testing.T) {
	var err error
	r := recovered(func() { err = Failed("node [%s] is not covered", "Sort") })
	if Enabled {
		if r == nil {
			t.Fatal("Failed did not panic in a checked build")
		}
		return
	}
	f := fault.Find(err)
	if f == nil || f.Category != fault.CategoryDefensive || f.Message != "node [Sort] is not covered" {
		t.Fatalf("Failed = %#v, want a defensive fault", err)
	}
}
