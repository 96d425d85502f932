package stringfn

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/javatext"
	"github.com/hengedb/henge/internal/vector"
)

// STRING_FORMAT follows java.util.Formatter in English. A format that does not fit its arguments is
// no error there: the result is the format followed by the arguments.
var stringFormatFunction = &expr.Function{
	Name: "STRING_FORMAT", NativeName: "format", Min: 1, Max: -1, SeesNulls: true,
	Summary: "Formats values with a format string of Java's String.format.",
	Forms:   []string{"$F(CHARACTER, [ANY, ...])"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		if b.Type(0).Base == expr.Null {
			b.Mismatch()
		}
		b.Text(0)
		for i := 1; i < len(b.Args); i++ {
			switch t := b.Type(i); t.Base {
			case expr.Other, expr.Array, expr.Row:
				b.Mismatch()
			case expr.Float:
				b.Cast(i, expr.Of(expr.Double))
			case expr.Null:
				b.Cast(i, expr.Of(expr.Varchar))
			}
		}
		return b.Call(expr.Of(expr.Varchar).NotNull().OrNull(b.Type(0).Nullable))
	},
	Kernel: expr.Metered(func(args []*vector.Vector, n int, _ vector.Bitmap, m *expr.Meter) (*vector.Vector, error) {
		formats, r := kernel.ColumnOf[string](args[0]), kernel.NewRows[string](n)
		values := make([]any, len(args)-1)
		for i := range r.Out {
			if args[0].IsNull(i) {
				r.Null(i)
				continue
			}
			for k, a := range args[1:] {
				values[k] = a.ValueAt(i)
			}
			r.Out[i] = javatext.Format(formats.At(i), values)
			if err := m.Add(len(r.Out[i])); err != nil {
				return nil, err
			}
		}
		return r.Vector(), nil
	}),
}
