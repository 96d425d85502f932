package expr

import (
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

// Constants that are large are not computed while planning; those together neither, unless what is
// made of them is small.
func TestLargeConstants(t *testing.T) {
	call := func(fn string, args ...Expr) Expr {
		e, err := NewCall(MustLookup(fn), args, fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	constants := &Constants{}
	folds := func(e Expr) bool {
		folded, err := Fold(e, &Context{Constants: constants})
		if err != nil {
			t.Fatal(err)
		}
		return isLiteral(folded)
	}
	repeated := func(n int64) Expr { return call("REPEAT", textLiteral("x"), longConstant(n)) }
	if large := repeated(maxConstantBytes); folds(large) || !constants.tooLarge(large) {
		t.Error("a large constant is computed")
	}
	for i := range 20 {
		if !folds(call("LENGTH", repeated(maxConstantBytes-1000))) {
			t.Fatalf("constant %d that becomes small is not computed", i)
		}
	}
	kept := 0
	for kept < 100 && folds(repeated(maxConstantBytes-1000)) {
		kept++
	}
	if want := maxConstantsBytes / maxConstantBytes; kept != want {
		t.Errorf("%d constants are kept, want %d", kept, want)
	}
	if !folds(repeated(100)) {
		t.Error("a small one is not computed after large ones")
	}
}
