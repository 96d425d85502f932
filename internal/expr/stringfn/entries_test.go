package stringfn

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// Entries that are read where they lie give what their strings give.
func TestKernelsOverEntries(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 400 {
		var entries []string
		for range r.IntN(40) + 1 {
			var b strings.Builder
			for range r.IntN(5) {
				b.WriteString([]string{"a", "b", "ab", "ba", "é", "\U0001f600"}[r.IntN(6-r.IntN(3))])
			}
			entries = append(entries, b.String())
		}
		d := vector.NewDict(entries)
		first := r.IntN(len(entries))
		var codes []uint32
		for i := first; i < len(entries); i++ {
			codes = append(codes, uint32(i))
		}
		if r.IntN(2) == 0 {
			codes = append(codes, uint32(r.IntN(len(entries))))
		}
		v := vector.FromCodes(codes, d)
		flat := v.Flat()
		for name, k := range map[string]expr.Kernel{"contains ab": containsKernel("ab"), "contains a": containsKernel("a"),
			"length": lengthKernel} {
			got, err := k([]*vector.Vector{v}, v.Len, nil)
			if err != nil {
				t.Fatal(err)
			}
			want, err := k([]*vector.Vector{flat}, v.Len, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range codes {
				if got.Longs[i] != want.Longs[i] {
					t.Fatalf("%s of %q: %d, want %d", name, flat.Strings[i], got.Longs[i], want.Longs[i])
				}
			}
		}
	}
}
