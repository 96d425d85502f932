package stringfn

import (
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/javatext"
	"github.com/hengedb/henge/internal/vector"
)

// Kernels that read the entries of a dictionary without making a string of each. Those of a
// segment's dictionary lie one after the other in memory, and are mostly asked for in this order.

// lengthKernel is LENGTH: of an ASCII text the number of its bytes.
func lengthKernel(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
	v := args[0]
	if v.Dict == nil || v.Const || v.Dict.Len() == 0 || !v.Dict.ASCII() {
		return kernel.Unary(func(s string) int64 { return int64(javatext.UnitCount(s)) })(args, n, valid)
	}
	out := make([]int64, n)
	offsets := v.Dict.Offsets
	for i, c := range v.Codes[:n] {
		out[i] = int64(offsets[c+1] - offsets[c])
	}
	return vector.FromLongs(out), nil
}

// leadingRun returns how many of the first n codes follow each other.
func leadingRun(codes []uint32, n int) int {
	for i, c := range codes[:n] {
		if c != codes[0]+uint32(i) {
			return i
		}
	}
	return n
}

// contains returns the text that a pattern looks for anywhere in a string, if that is all it does.
func (p *likePattern) contains() (text string, ok bool) {
	if p.fold || p.start || p.end || len(p.pieces) != 1 || !p.pieces[0].plain {
		return "", false
	}
	return p.pieces[0].text, true
}

// containsKernel looks for a text in each string. Entries that follow each other are searched as
// one.
func containsKernel(text string) expr.Kernel {
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		v, run := args[0], 0
		out := make([]int64, n)
		if v.Dict != nil && !v.Const && v.Dict.Len() > 0 {
			run = leadingRun(v.Codes, n)
			markContaining(v.Dict, v.Codes[:run], text, out)
		}
		if run < n {
			s := kernel.ColumnOf[string](v)
			for i := run; i < n; i++ {
				out[i] = kernel.Bool(strings.Contains(s.At(i), text))
			}
		}
		return vector.FromLongs(out), nil
	}
}

// markContaining sets out[i] to 1 if entry codes[i] contains text. The codes follow each other.
func markContaining(d *vector.Dict, codes []uint32, text string, out []int64) {
	if len(codes) == 0 {
		return
	}
	offsets := d.Offsets[codes[0] : codes[0]+uint32(len(codes))+1]
	find := newFinder(text, d.Blob[offsets[0]:offsets[len(codes)]])
	entry := 0
	for at := offsets[0]; ; {
		i := find.index(d.Blob[at:offsets[len(codes)]])
		if i < 0 {
			return
		}
		at += uint32(i)
		entry = entryAt(offsets, entry, at)
		if at+uint32(len(text)) <= offsets[entry+1] {
			out[entry] = 1
			at = offsets[entry+1]
		} else {
			at++ // it lies across two entries
		}
	}
}

// entryAt returns the entry, from on, in which byte at lies.
func entryAt(offsets []uint32, from int, at uint32) int {
	step := 1
	for from+step < len(offsets) && offsets[from+step] <= at {
		from += step
		step *= 2
	}
	for ; step > 0; step /= 2 {
		for from+step < len(offsets) && offsets[from+step] <= at {
			from += step
		}
	}
	return from
}
