package stringfn

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/javatext"
	"github.com/hengedb/henge/internal/vector"
)

var likeFunction = patternFunction("LIKE", false)
var ilikeFunction = patternFunction("ILIKE", true)

// patternFunction is LIKE, or ILIKE, which ignores case: (string, pattern, escape).
func patternFunction(name string, fold bool) *expr.Function {
	return &expr.Function{
		Name: name, Min: 2, Max: 3, Total: true,
		Forms: []string{"$F(<STRING>, <STRING>, <STRING>)"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			b.AnyText(0)
			b.AnyText(1)
			if b.Has(2) {
				if b.AnyText(2); b.Err == nil && expr.IsNullLiteral(b.Args[2]) {
					return &expr.Literal{T: expr.Of(expr.Boolean)}, nil
				}
				if s := b.ConstantText(2, "escape character"); b.Err == nil && utf8.RuneCountInString(s) != 1 {
					b.Fail("Invalid escape character '%s'", s)
				}
			}
			return b.Strict(expr.Of(expr.Boolean))
		},
		Kernel: func(c *expr.Call, _ *expr.Context) (expr.Kernel, error) {
			escape := rune(-1)
			if len(c.Args) == 3 {
				x, _ := expr.LiteralValue(c.Args[2])
				s, _ := x.(string)
				escape, _ = utf8.DecodeRuneInString(s)
			}
			if x, ok := expr.LiteralValue(c.Args[1]); ok {
				p := compileLike(x.(string), escape, fold)
				if text, ok := p.contains(); ok {
					return kernel.OnFirst(containsKernel(text)), nil
				}
				return kernel.OnFirst(kernel.Unary(func(s string) int64 { return kernel.Bool(p.match(s)) })), nil
			}
			return variableLike(escape, fold), nil
		},
	}
}

// variableLike matches patterns that differ by row, keeping the last one compiled.
func variableLike(escape rune, fold bool) expr.Kernel {
	var last *likePattern
	var text string
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		s, patterns, out := kernel.ColumnOf[string](args[0]), kernel.ColumnOf[string](args[1]), make([]int64, n)
		for i := range out {
			if !valid.Get(i) {
				continue
			}
			if p := patterns.At(i); last == nil || p != text {
				last, text = compileLike(p, escape, fold), p
			}
			out[i] = kernel.Bool(last.match(s.At(i)))
		}
		return vector.FromLongs(out), nil
	}
}

// likePattern is a compiled LIKE pattern: pieces of literal text and single-character holes,
// divided by "%".
type likePattern struct {
	fold   bool
	pieces []likePiece
	start  bool // the first piece is at the start of the string
	end    bool // the last piece is at the end of the string
}

// likePiece is a run of characters, -1 standing for any one of them. When it has none of those,
// text is the run.
type likePiece struct {
	chars []rune
	text  string
	plain bool
}

// compileLike takes any character after the escape character for itself; an escape character at the
// end says nothing.
func compileLike(pattern string, escape rune, fold bool) *likePattern {
	if fold {
		pattern = javatext.ToLower(pattern)
	}
	p := &likePattern{fold: fold, start: true, pieces: make([]likePiece, 0, strings.Count(pattern, "%")+1)}
	chars, begin := make([]rune, 0, len(pattern)), 0 // of all pieces, and where the current one begins
	escaped, open := false, false                    // open: the last character was "%"
	for i, r := range pattern {
		open = false
		switch {
		case escaped:
			chars = append(chars, r)
			escaped = false
		case r == escape:
			escaped = true
		case r == '%':
			p.start = p.start && i > 0
			p.add(chars[begin:])
			begin, open = len(chars), true
		case r == '_':
			chars = append(chars, -1)
		default:
			chars = append(chars, r)
		}
	}
	p.end = !open
	p.add(chars[begin:])
	return p
}

// add ends a piece. An empty one, of "%%" or at either end, says nothing.
func (p *likePattern) add(piece []rune) {
	if len(piece) == 0 {
		return
	}
	made := likePiece{chars: piece, plain: !slices.Contains(piece, -1)}
	if made.plain {
		made.text = string(piece)
	}
	p.pieces = append(p.pieces, made)
}

func (p *likePattern) match(s string) bool {
	if p.fold {
		s = javatext.ToLower(s)
	}
	pieces := p.pieces
	if len(pieces) == 0 {
		return !(p.start && p.end) || s == ""
	}
	if p.start {
		n, ok := pieces[0].prefix(s)
		if !ok {
			return false
		}
		if s, pieces = s[n:], pieces[1:]; len(pieces) == 0 {
			return !p.end || s == ""
		}
	}
	last := len(pieces)
	if p.end {
		last--
	}
	for _, piece := range pieces[:last] {
		n, ok := piece.find(s)
		if !ok {
			return false
		}
		s = s[n:]
	}
	return !p.end || pieces[last].suffix(s)
}

// prefix reports whether s starts with the piece, and how many bytes that takes.
func (p *likePiece) prefix(s string) (int, bool) {
	if p.plain {
		return len(p.text), strings.HasPrefix(s, p.text)
	}
	n := 0
	for _, c := range p.chars {
		if n >= len(s) {
			return 0, false
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		if c >= 0 && c != r {
			return 0, false
		}
		n += size
	}
	return n, true
}

// find returns the end of the piece's first occurrence in s.
func (p *likePiece) find(s string) (int, bool) {
	if p.plain {
		i := strings.Index(s, p.text)
		return i + len(p.text), i >= 0
	}
	for i := 0; i <= len(s); {
		if n, ok := p.prefix(s[i:]); ok {
			return i + n, true
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		if size == 0 {
			break
		}
		i += size
	}
	return 0, false
}

// suffix reports whether s ends with the piece.
func (p *likePiece) suffix(s string) bool {
	if p.plain {
		return strings.HasSuffix(s, p.text)
	}
	start := len(s)
	for range p.chars {
		if start == 0 {
			return false
		}
		_, size := utf8.DecodeLastRuneInString(s[:start])
		start -= size
	}
	n, ok := p.prefix(s[start:])
	return ok && start+n == len(s)
}

// NewLike binds x LIKE pattern, or ILIKE with fold; escape is nil when there is none.
func NewLike(x, pattern, escape expr.Expr, fold bool, at fault.Span) (expr.Expr, error) {
	fn := likeFunction
	if fold {
		fn = ilikeFunction
	}
	args := []expr.Expr{x, pattern}
	if escape != nil {
		args = append(args, escape)
	}
	return expr.NewCall(fn, args, at)
}
