package expr

import (
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/vector"
)

// The functions of the current time give the time of the query, which does not change while it
// runs.

var currentTimestampFunction = &Function{
	Name: "CURRENT_TIMESTAMP", Contextual: true, Aliases: []string{"LOCALTIMESTAMP", "NOW"}, Min: 0, Max: 1,
	Summary: "Returns the time at which the query started.",
	Forms:   []string{"$F", "$F([precision])"},
	Bind: func(b *binding) (Expr, error) {
		if b.has(0) {
			if n, ok := b.constant(0, "precision").(int64); !ok || n < 0 || n > 3 {
				b.fail("Argument to function '%s' must be a valid precision between '0' and '3'", b.fn.Name)
			}
			b.args = nil
		}
		return b.call(Of(Timestamp).NotNull())
	},
	Kernel: func(_ *Call, ctx *Context) (Kernel, error) { return constantKernel(ctx.Now), nil },
}

var currentDateFunction = &Function{
	Name: "CURRENT_DATE", Contextual: true, Min: 0, Max: 0,
	Summary: "Returns the day, in the query's time zone, on which the query started.",
	Forms:   []string{"$F"},
	Bind:    func(b *binding) (Expr, error) { return b.call(Of(Date).NotNull()) },
	Kernel: func(_ *Call, ctx *Context) (Kernel, error) {
		return constantKernel(dayFloor(ctx.Zone)(ctx.Now)), nil
	},
}

func constantKernel(x int64) Kernel {
	return func(_ []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		return vector.Constant(vector.Long, x, n), nil
	}
}

var timeParseFunction = &Function{
	Name: "TIME_PARSE", Aliases: []string{"TO_TIMESTAMP"}, NativeName: "timestamp_parse", Min: 1, Max: 3, SeesNulls: true, RefusesNull: true,
	Summary: "Reads a timestamp from text, in ISO 8601 or by a Joda-Time pattern; text that is no such timestamp gives NULL.",
	Forms:   []string{"$F(<CHARACTER>, [<CHARACTER>, [<CHARACTER>]])"},
	Bind: func(b *binding) (Expr, error) {
		b.text(0)
		b.pattern(1)
		b.zone(2)
		return b.call(Of(Timestamp))
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		zone, err := zoned(c, 2, ctx)
		if err != nil {
			return nil, err
		}
		pattern, err := patternArg(c, ctx)
		if err != nil {
			return nil, err
		}
		if pattern == nil {
			return onFirst(partial1(func(s string) (int64, bool) { return chrono.ParseTimestamp(s, zone) })), nil
		}
		return onFirst(partial1(func(s string) (int64, bool) { return pattern.Parse(s, zone) })), nil
	},
}

var timeFormatFunction = &Function{
	Name: "TIME_FORMAT", NativeName: "timestamp_format", Min: 1, Max: 3, SeesNulls: true, RefusesNull: true,
	Summary: "Writes a timestamp as text, in ISO 8601 or by a Joda-Time pattern.",
	Forms:   []string{"$F(<TIMESTAMP>, [<CHARACTER>, [<CHARACTER>]])"},
	Bind: func(b *binding) (Expr, error) {
		if b.typ(0).IsCharacter() {
			b.mismatch()
		}
		b.instant(0)
		b.pattern(1)
		b.zone(2)
		return b.call(Of(Varchar).NotNull().OrNull(b.typ(0).Nullable))
	},
	Kernel: timeFormatKernel,
}

// timeFormatKernel writes times by the pattern, zone and language that the second, third and fourth
// argument are, if they are given.
func timeFormatKernel(c *Call, ctx *Context) (Kernel, error) {
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
	return onFirst(textKernel(func(dst []byte, ms int64) []byte { return pattern.AppendOffset(dst, ms, offsets.At(ms), zone) })), nil
}

// pattern wants a constant Joda-Time pattern as argument i, if it was given.
func (b *binding) pattern(i int) {
	if !b.has(i) {
		return
	}
	b.text(i)
	b.wantConstant(i, "pattern")
	if b.err != nil {
		return
	}
	if s, ok := literalValue(b.args[i]); ok {
		_, b.err = chrono.CompilePattern(s.(string))
	}
}

// patternArg returns the pattern of TIME_PARSE or TIME_FORMAT, nil if there is none or it is NULL.
func patternArg(c *Call, ctx *Context) (*chrono.Pattern, error) {
	text, err := constantArg(c, 1, ctx)
	if s, ok := text.(string); ok && err == nil {
		return chrono.CompilePattern(s)
	}
	return nil, err
}
