package expr_test

import (
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Of a text that never is NULL nothing is computed for NULL: with invariants checked, what its type
// says holds for all entries.
func TestEntriesOfTextsThatAreNeverNull(t *testing.T) {
	for _, nullable := range []bool{false, true} {
		column := &expr.Column{Name: "s", T: expr.Of(expr.Varchar).NotNull().OrNull(nullable)}
		reverse, err := expr.NewCall(catalog.MustLookup("REVERSE"), []expr.Expr{column}, fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		like, err := expr.NewCall(catalog.MustLookup("LIKE"), []expr.Expr{reverse,
			&expr.Literal{Value: "_b", T: expr.Of(expr.Varchar).NotNull()}}, fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := expr.Compile(like, &expr.Context{})
		if err != nil {
			t.Fatal(err)
		}
		codes := []uint32{0, 1, 2, 1, 2}
		for range 3 { // what was computed is used again
			v := vector.FromCodes(codes, vector.NewDict([]string{"ab", "b", "ba"}))
			want := []uint32{2, 4}
			if nullable {
				v.Valid = vector.FullBitmap(len(codes))
				v.Valid.Clear(4)
				want = []uint32{2}
			}
			got, err := p.Filter(&vector.Batch{N: len(codes), Cols: []*vector.Vector{v}})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("nullable %v: got rows %v, %v, want %v", nullable, got, err, want)
			}
		}
	}
}
