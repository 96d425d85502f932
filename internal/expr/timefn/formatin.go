package timefn

import "github.com/hengedb/henge/internal/expr"

// timeFormatInFunction is TIME_FORMAT with the names of a language: timestamp, pattern, zone,
// language tag.
var timeFormatInFunction = &expr.Function{
	Name: "$TIME_FORMAT_IN", Min: 4, Max: 4,
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Instant(0)
		pattern(b, 1)
		zone(b, 2)
		b.Text(3)
		return b.Call(expr.Of(expr.Varchar).NotNull().OrNull(b.Type(0).Nullable))
	},
	Kernel: timeFormatKernel,
}
