package expr

import (
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// A kernel goes over all rows of a batch before anything else happens. Where their texts are long
// that takes long, whatever it makes of them, so that it gets them in pieces, between which the
// query is asked whether it goes on.

// pieceBytes is how much text a kernel gets at once, but that of one row.
const pieceBytes = 2 << 20

// inPieces makes a kernel one that gets long texts in pieces.
func inPieces(x *Call, run Kernel, ctx *Context) Kernel {
	if !readsTexts(x) {
		return run
	}
	t, room := x.T.Runtime(), ctx.textRoom()
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		if textOf(args) <= pieceBytes {
			return run(args, n, valid)
		}
		out, made := vector.NewBatchBuilder([]vector.Type{t}, n), int64(0)
		for lo := 0; lo < n; {
			if err := ctx.Stopped(); err != nil {
				return nil, err
			}
			hi := pieceEnd(args, lo, n)
			v, err := runPiece(run, args, lo, hi, valid)
			if err != nil {
				return nil, err
			}
			if made += textOf([]*vector.Vector{v}); made > room {
				return nil, tooMuchText(x.Fn.Name, room)
			}
			out.Append(&vector.Batch{N: hi - lo, Cols: []*vector.Vector{v}})
			lo = hi
		}
		return out.Build().Cols[0], nil
	}
}

func runPiece(run Kernel, args []*vector.Vector, lo, hi int, valid vector.Bitmap) (*vector.Vector, error) {
	piece := make([]*vector.Vector, len(args))
	for i, a := range args {
		piece[i] = a.Slice(lo, hi)
	}
	if valid != nil {
		valid = kernel.ValidRows(piece, hi-lo)
	}
	return run(piece, hi-lo, valid)
}

// readsTexts reports whether an argument of a call is a text.
func readsTexts(x *Call) bool {
	for _, a := range x.Args {
		switch a.Type().Runtime().Kind {
		case vector.KindString, vector.KindComplex:
			return true
		}
	}
	return false
}

// textOf is how many bytes the texts have that the rows of vectors have for themselves: constants
// and the entries of dictionaries don't count.
func textOf(args []*vector.Vector) int64 {
	total := int64(0)
	for _, a := range args {
		if a.Const || a.Dict != nil {
			continue
		}
		for _, s := range a.Strings {
			total += int64(len(s))
		}
	}
	return total
}

// pieceEnd is the row behind those from lo on whose texts are taken at once.
func pieceEnd(args []*vector.Vector, lo, n int) int {
	total := 0
	for hi := lo; hi < n; hi++ {
		for _, a := range args {
			if !a.Const && a.Dict == nil && hi < len(a.Strings) {
				total += len(a.Strings[hi])
			}
		}
		if total > pieceBytes {
			return max(hi, lo+1)
		}
	}
	return n
}
