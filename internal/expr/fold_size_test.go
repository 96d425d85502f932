package expr_test

import (
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
)

// Constants that are large are not computed while planning; those together neither, unless what is
// made of them is small.
func TestLargeConstants(t *testing.T) {
	call := func(fn string, args ...expr.Expr) expr.Expr {
		e, err := expr.NewCall(catalog.MustLookup(fn), args, fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	constants := &expr.Constants{}
	folds := func(e expr.Expr) bool {
		folded, err := expr.Fold(e, &expr.Context{Constants: constants})
		if err != nil {
			t.Fatal(err)
		}
		return expr.IsLiteral(folded)
	}
	repeated := func(n int64) expr.Expr { return call("REPEAT", expr.TextLiteral("x"), expr.LongLiteral(n)) }
	if large := repeated(expr.MaxConstantBytes); folds(large) || !constants.TooLarge(large) {
		t.Error("a large constant is computed")
	}
	for i := range 20 {
		if !folds(call("LENGTH", repeated(expr.MaxConstantBytes-1000))) {
			t.Fatalf("constant %d that becomes small is not computed", i)
		}
	}
	kept := 0
	for kept < 100 && folds(repeated(expr.MaxConstantBytes-1000)) {
		kept++
	}
	if want := expr.MaxConstantsBytes / expr.MaxConstantBytes; kept != want {
		t.Errorf("%d constants are kept, want %d", kept, want)
	}
	if !folds(repeated(100)) {
		t.Error("a small one is not computed after large ones")
	}
}
