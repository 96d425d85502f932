package timefn

import (
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// The functions of the current time give the time of the query, which does not change while it
// runs.

var currentTimestampFunction = &expr.Function{
	Name: "CURRENT_TIMESTAMP", Contextual: true, Aliases: []string{"LOCALTIMESTAMP", "NOW"}, Min: 0, Max: 1,
	Summary: "Returns the time at which the query started.",
	Forms:   []string{"$F", "$F([precision])"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		if b.Has(0) {
			if n, ok := b.Constant(0, "precision").(int64); !ok || n < 0 || n > 3 {
				b.Fail("Argument to function '%s' must be a valid precision between '0' and '3'", b.Fn.Name)
			}
			b.Args = nil
		}
		return b.Call(expr.Of(expr.Timestamp).NotNull())
	},
	Kernel: func(_ *expr.Call, ctx *expr.Context) (expr.Kernel, error) { return constantKernel(ctx.Now), nil },
}

var currentDateFunction = &expr.Function{
	Name: "CURRENT_DATE", Contextual: true, Min: 0, Max: 0,
	Summary: "Returns the day, in the query's time zone, on which the query started.",
	Forms:   []string{"$F"},
	Bind:    func(b *expr.Binding) (expr.Expr, error) { return b.Call(expr.Of(expr.Date).NotNull()) },
	Kernel: func(_ *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
		return constantKernel(expr.DayFloor(ctx.Zone)(ctx.Now)), nil
	},
}

func constantKernel(x int64) expr.Kernel {
	return func(_ []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		return vector.Constant(vector.Long, x, n), nil
	}
}

var timeParseFunction = &expr.Function{
	Name: "TIME_PARSE", Aliases: []string{"TO_TIMESTAMP"}, NativeName: "timestamp_parse", Min: 1, Max: 3, SeesNulls: true, RefusesNull: true,
	Summary: "Parses a timestamp in ISO 8601 or by a pattern. Returns NULL if the string does not match.",
	Forms:   []string{"$F(<CHARACTER>, [<CHARACTER>, [<CHARACTER>]])"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		pattern(b, 1)
		zone(b, 2)
		return b.Call(expr.Of(expr.Timestamp))
	},
	Kernel: func(c *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
		zone, err := zoned(c, 2, ctx)
		if err != nil {
			return nil, err
		}
		pattern, err := patternArg(c, ctx)
		if err != nil {
			return nil, err
		}
		if pattern == nil {
			return kernel.OnFirst(kernel.Partial1(func(s string) (int64, bool) { return chrono.ParseTimestamp(s, zone) })), nil
		}
		return kernel.OnFirst(kernel.Partial1(func(s string) (int64, bool) { return pattern.Parse(s, zone) })), nil
	},
}

var timeFormatFunction = &expr.Function{
	Name: "TIME_FORMAT", NativeName: "timestamp_format", Min: 1, Max: 3, SeesNulls: true, RefusesNull: true,
	Summary: "Formats a timestamp in ISO 8601 or by a pattern.",
	Forms:   []string{"$F(<TIMESTAMP>, [<CHARACTER>, [<CHARACTER>]])"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		if b.Type(0).IsCharacter() {
			b.Mismatch()
		}
		b.Instant(0)
		pattern(b, 1)
		zone(b, 2)
		return b.Call(expr.Of(expr.Varchar).NotNull().OrNull(b.Type(0).Nullable))
	},
	Kernel: timeFormatKernel,
}

// timeFormatKernel writes times by the pattern, zone and language that the second, third and fourth
// argument are, if they are given.
func timeFormatKernel(c *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
	zone, err := zoned(c, 2, ctx)
	if err != nil {
		return nil, err
	}
	pattern, err := patternArg(c, ctx)
	if err != nil {
		return nil, err
	}
	if pattern == nil {
		if pattern, err = chrono.CompilePattern("yyyy-MM-dd'T'HH:mm:ss.SSSZZ"); err != nil {
			return nil, err
		}
	}
	if len(c.Args) > 3 {
		language, err := constantArg(c, 3, ctx)
		if err != nil {
			return nil, err
		}
		tag, _ := language.(string)
		pattern = pattern.In(tag)
	}
	offsets := zone.Offsets()
	return kernel.OnFirst(kernel.Texts(func(dst []byte, ms int64) []byte { return pattern.AppendOffset(dst, ms, offsets.At(ms), zone) })), nil
}

// pattern wants a constant Joda-Time pattern as argument i, if it was given.
func pattern(b *expr.Binding, i int) {
	if !b.Has(i) {
		return
	}
	b.Text(i)
	b.WantConstant(i, "pattern")
	if b.Err != nil {
		return
	}
	if s, ok := expr.LiteralValue(b.Args[i]); ok {
		_, b.Err = chrono.CompilePattern(s.(string))
	}
}

// patternArg returns the pattern of TIME_PARSE or TIME_FORMAT, nil if there is none or it is NULL.
func patternArg(c *expr.Call, ctx *expr.Context) (*chrono.Pattern, error) {
	text, err := constantArg(c, 1, ctx)
	if s, ok := text.(string); ok && err == nil {
		return chrono.CompilePattern(s)
	}
	return nil, err
}
