package timefn

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/expr/nativetext"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Functions are the functions of timestamps and dates.
var Functions = slices.Concat(
	[]*expr.Function{
		currentTimestampFunction, currentDateFunction, timeFloorFunction, timeCeilFunction, dateTruncFunction, timeShiftFunction,
		timestampAddFunction, timestampDiffFunction, timeExtractFunction, timeParseFunction, timeFormatFunction,
		timeInIntervalFunction, millisToTimestampFunction, timestampToMillisFunction, lastDayFunction, timeFormatInFunction,
		chunkFunction,
	},
	extractFunctions,
)

// zoned returns the zone a kernel works in: that of constant argument i if it is given and not
// NULL, else the query's.
func zoned(c *expr.Call, i int, ctx *expr.Context) (*chrono.Zone, error) {
	name, err := constantArg(c, i, ctx)
	if err != nil {
		return nil, err
	}
	if s, ok := name.(string); ok {
		return chrono.LoadZone(s)
	}
	return ctx.Zone, nil
}

// constantArg returns the value of an argument that binding found to be constant, nil if it was not
// given.
func constantArg(c *expr.Call, i int, ctx *expr.Context) (any, error) {
	if i >= len(c.Args) {
		return nil, nil
	}
	if l, ok := c.Args[i].(*expr.Literal); ok {
		return l.Value, nil
	}
	v, err := expr.EvaluateRow(c.Args[i], ctx)
	if err != nil {
		return nil, err
	}
	return v.ValueAt(0), nil
}

// period wants an ISO 8601 period, which is checked here if it is a literal.
func period(b *expr.Binding, i int) {
	b.Text(i)
	if b.Err != nil {
		return
	}
	if s, ok := expr.LiteralValue(b.Args[i]); ok {
		if _, err := chrono.ParsePeriod(s.(string)); err != nil {
			b.Err = fault.InvalidSQL(b.At, "Invalid period['%s'] specified for expression[%s]", s,
				nativetext.Format(&expr.Call{Fn: b.Fn.Entry(), Args: b.Args, T: expr.Of(expr.Timestamp)}, nil)).
				With("suggestion", "an ISO 8601 period: 'P1D' is a day, 'PT5M' five minutes")
		}
	}
}

// zone wants a constant time zone as argument i, if it was given.
func zone(b *expr.Binding, i int) {
	if !b.Has(i) {
		return
	}
	b.Text(i)
	b.WantConstant(i, "time zone")
}

var timeFloorFunction = floors(bucketFunction("TIME_FLOOR", "timestamp_floor", "Rounds a timestamp down to the start of its period.",
	func(g chrono.Granularity, reuse bool) expr.Kernel {
		return kernel.Over(reuse, g.FloorAll)
	}, func(b chrono.Interval, _ int64) int64 { return b.Start }))

func floors(fn *expr.Function) *expr.Function {
	fn.FloorsTime = true
	return fn
}

var timeCeilFunction = bucketFunction("TIME_CEIL", "timestamp_ceil", "Rounds a timestamp up to the start of the next period.",
	func(g chrono.Granularity, _ bool) expr.Kernel {
		f := g.Floorer()
		return kernel.Unary(func(ms int64) int64 { return ceiling(f.Bucket(ms), ms) })
	}, ceiling)

// bucketKernel makes the kernel for buckets of a granularity; with reuse a result takes the memory
// of the one before.
type bucketKernel func(g chrono.Granularity, reuse bool) expr.Kernel

// bucketRounding returns what a time in a bucket is rounded to.
type bucketRounding func(b chrono.Interval, ms int64) int64

func ceiling(b chrono.Interval, ms int64) int64 {
	if b.Start != ms {
		return b.End
	}
	return ms
}

// bucketFunction is TIME_FLOOR or TIME_CEIL: (timestamp, period, origin, zone). kernel is for
// periods, origins and zones that are constants, round for those that come from the rows.
func bucketFunction(name, native, summary string, run bucketKernel, round bucketRounding) *expr.Function {
	return &expr.Function{
		Name: name, NativeName: native, Summary: summary, Min: 2, Max: 4, SeesNulls: true, RefusesNull: true,
		Forms: []string{"$F(<TIMESTAMP>, <CHARACTER>, [<TIMESTAMP>, [<CHARACTER>]])"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			b.Instant(0)
			period(b, 1)
			if b.Has(2) {
				if b.Type(2).IsCharacter() && !expr.IsNullLiteral(b.Args[2]) {
					b.Mismatch()
				}
				b.Instant(2)
			}
			if b.Has(3) {
				b.Text(3)
			}
			return b.Call(expr.Of(expr.Timestamp).NotNull().OrNull(b.Type(0).Nullable || expr.IsNullLiteral(b.Args[1]) ||
				!expr.IsConstant(b.Args[1]) && b.Type(1).Nullable))
		},
		Kernel: func(c *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
			if !constantsFrom(c, 1) {
				return varyingBuckets(ctx, round), nil
			}
			g, ok, err := granularityOf(c, ctx)
			if err != nil {
				return nil, err
			}
			if !ok {
				return kernel.Nulls(vector.Long), nil
			}
			return kernel.OnFirst(run(g, ctx.Reuse)), nil
		},
	}
}

func granularityOf(c *expr.Call, ctx *expr.Context) (chrono.Granularity, bool, error) {
	text, err := constantArg(c, 1, ctx)
	if err != nil || text == nil {
		return chrono.Granularity{}, false, err
	}
	zone, err := zoned(c, 3, ctx)
	if err != nil {
		return chrono.Granularity{}, false, err
	}
	period, err := chrono.ParsePeriod(text.(string))
	if err != nil {
		return chrono.Granularity{}, false, err
	}
	origin, err := constantArg(c, 2, ctx)
	if err != nil {
		return chrono.Granularity{}, false, err
	}
	var at *int64
	if ms, ok := origin.(int64); ok {
		at = &ms
	}
	g, err := chrono.PeriodGranularity(period, zone, at)
	return g, err == nil, err
}

// TimeBucket reports whether e floors a timestamp to the buckets of a granularity, as TIME_FLOOR,
// FLOOR(.. TO ..) and DATE_TRUNC do, and returns the timestamp and the granularity. Planning uses
// it to group by time buckets and to prune segments.
func TimeBucket(e expr.Expr, ctx *expr.Context) (ts expr.Expr, g chrono.Granularity, ok bool) {
	c, is := e.(*expr.Call)
	if !is || !c.Fn.Same(timeFloorFunction) || !constantsFrom(c, 1) {
		return nil, chrono.Granularity{}, false
	}
	if ctx == nil {
		ctx = &expr.Context{}
	}
	g, ok, err := granularityOf(c, ctx)
	if err != nil || !ok {
		return nil, chrono.Granularity{}, false
	}
	return c.Args[0], g, true
}

// NewFloorTo binds FLOOR(x TO unit), or CEIL(x TO unit) with ceil. The result for a DATE is a DATE.
func NewFloorTo(unit chrono.Unit, x expr.Expr, ceil bool, at fault.Span) (expr.Expr, error) {
	fn, name := timeFloorFunction, "FLOOR"
	if ceil {
		fn, name = timeCeilFunction, "CEIL"
	}
	if x.Type().Multi {
		return expr.MapOverValues([]expr.Expr{x}, 0, func(args []expr.Expr) (expr.Expr, error) { return NewFloorTo(unit, args[0], ceil, at) })
	}
	t := x.Type()
	if t.Base == expr.Null {
		return x, nil
	}
	if !t.IsTime() && !t.IsCharacter() {
		forms := []string{name + "(<DATE> TO <TIME_UNIT>)", name + "(<TIMESTAMP> TO <TIME_UNIT>)"}
		return nil, expr.TypeError(&expr.Function{Name: name, Forms: forms}, []expr.Expr{x}, at)
	}
	period, ok := unit.Period()
	if !ok || unit == chrono.UnitMicrosecond {
		return nil, fault.InvalidSQL(at, "Unit [%s] can't be used in %s(.. TO ..)", unit, name)
	}
	e, err := expr.NewCall(fn, []expr.Expr{x, expr.TextLiteral(period.String())}, at)
	if err != nil || t.Base != expr.Date {
		return e, err
	}
	return expr.Coerce(e, t), nil
}

var dateTruncUnits = strings.Fields("microseconds milliseconds second minute hour day week month quarter year decade century " +
	"millennium")

var dateTruncFunction = &expr.Function{
	Name: "DATE_TRUNC", Min: 2, Max: 2, RefusesNull: true,
	Summary: "Rounds a timestamp down to a unit: " + strings.Join(dateTruncUnits, ", ") + ".",
	Forms:   []string{"$F(<CHARACTER>, <TIMESTAMP>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		unit := b.ConstantText(0, "unit")
		b.Instant(1)
		if b.Err != nil {
			return nil, b.Err
		}
		name := strings.ToLower(unit)
		switch name {
		case "microseconds", "milliseconds":
			name = name[:len(name)-1]
		case "microsecond", "millisecond":
			name = ""
		}
		u, ok := chrono.ParseUnit(name)
		period, has := u.Period()
		if !ok || !has {
			err := fault.InvalidSQL(b.At, "Operator[DATE_TRUNC] cannot truncate to[%s]", unit)
			if near := fault.Nearest(unit, dateTruncUnits); near != "" {
				err = err.With("suggestion", "'"+near+"'")
			}
			return nil, err
		}
		return expr.NewCall(timeFloorFunction, []expr.Expr{b.Args[1], expr.TextLiteral(period.String())}, b.At)
	},
}

var timeShiftFunction = &expr.Function{
	Name: "TIME_SHIFT", NativeName: "timestamp_shift", Min: 3, Max: 4, SeesNulls: true, RefusesNull: true,
	Summary: "Adds a period to a timestamp a number of times, by the calendar of a time zone.",
	Forms:   []string{"$F(<TIMESTAMP>, <CHARACTER>, <INTEGER>, [<CHARACTER>])"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Instant(0)
		period(b, 1)
		b.Whole(2)
		if b.Has(3) {
			b.Text(3)
		}
		return b.Call(expr.Of(expr.Timestamp).NotNull().OrNull(b.Type(0).Nullable || b.Type(1).Nullable || b.Type(2).Nullable))
	},
	Kernel: func(c *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
		if !expr.IsConstant(c.Args[1]) || !constantsFrom(c, 3) {
			return varyingShift(ctx), nil
		}
		text, err := constantArg(c, 1, ctx)
		if err != nil {
			return nil, err
		}
		if text == nil {
			return kernel.Nulls(vector.Long), nil
		}
		period, err := chrono.ParsePeriod(text.(string))
		if err != nil {
			return nil, err
		}
		zone, err := zoned(c, 3, ctx)
		if err != nil {
			return nil, err
		}
		shift := kernel.Binary(func(ms, n int64) int64 { return period.Add(ms, zone, n) })
		return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			operands := []*vector.Vector{args[0], args[2]}
			v, err := shift(operands, n, nil)
			if valid := kernel.ValidRows(operands, n); err == nil && valid != nil {
				v = kernel.WithValid(v, valid)
			}
			return v, err
		}, nil
	},
}

// unitArgument reads the unit that the binder passes as a constant string.
func unitArgument(b *expr.Binding, i int) chrono.Unit {
	name := b.ConstantText(i, "unit")
	u, ok := chrono.ParseUnit(strings.TrimPrefix(strings.ToUpper(name), "SQL_TSI_"))
	if !ok {
		b.Fail("Unit [%s] of function [%s] is unknown", name, b.Fn.Name)
	}
	return u
}

// spanArgument reads a unit that spans of time are counted in.
func spanArgument(b *expr.Binding, i int) chrono.Unit {
	u := unitArgument(b, i)
	_, length := u.Period()
	if _, part := partsOfMilli(u); !length && !part {
		b.Fail("Unit [%s] of function [%s] is a field of a time and has no length", u, b.Fn.Name)
	}
	return u
}

var timestampAddFunction = &expr.Function{
	Name: "TIMESTAMPADD", Min: 3, Max: 3,
	Summary: "Adds a number of units to a timestamp.",
	Forms:   []string{"$F(<ANY>, <INTEGER>, <DATETIME>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		u := spanArgument(b, 0)
		if b.Type(1).IsCharacter() {
			b.Cast(1, expr.Of(expr.BigInt))
		}
		b.Whole(1)
		t := b.Type(2)
		if t.Base == expr.Null && b.Err == nil {
			return &expr.Literal{T: t}, nil
		}
		if !t.IsTime() {
			b.Mismatch()
		}
		b.Cast(2, expr.Of(expr.Timestamp))
		e, err := b.Strict(expr.Of(expr.Timestamp))
		if err != nil || t.Base != expr.Date || u < chrono.UnitDay {
			return e, err
		}
		return expr.Coerce(e, t), nil
	},
	Kernel: func(c *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
		u, err := unitOf(c, ctx)
		if err != nil {
			return nil, err
		}
		zone := ctx.Zone
		if parts, ok := partsOfMilli(u); ok {
			return onRest(kernel.Binary(func(n, ms int64) int64 { return ms + n/parts })), nil
		}
		if _, err := chrono.TimestampAdd(u, 0, 0, zone); err != nil {
			return nil, err
		}
		add := kernel.Binary(func(n, ms int64) int64 {
			out, _ := chrono.TimestampAdd(u, n, ms, zone) // fails for the unit only, which was tried above
			return out
		})
		return onRest(add), nil
	},
}

var timestampDiffFunction = &expr.Function{
	Name: "TIMESTAMPDIFF", Aliases: []string{"DATE_DIFF"}, Min: 3, Max: 3,
	Summary: "Returns the number of whole units between two timestamps.",
	Forms:   []string{"$F(<ANY>, <DATETIME>, <DATETIME>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		u := spanArgument(b, 0)
		for i := 1; i < 3; i++ {
			b.Instant(i)
		}
		if u == chrono.UnitNanosecond {
			return b.Strict(expr.Of(expr.BigInt))
		}
		return b.Strict(expr.Of(expr.Integer))
	},
	Kernel: func(c *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
		u, err := unitOf(c, ctx)
		if err != nil {
			return nil, err
		}
		zone := ctx.Zone
		if parts, ok := partsOfMilli(u); ok {
			return onRest(kernel.Binary(func(a, b int64) int64 { return (b - a) * parts })), nil
		}
		if _, err := chrono.TimestampDiff(u, 0, 0, zone); err != nil {
			return nil, err
		}
		diff := kernel.Binary(func(a, b int64) int64 {
			out, _ := chrono.TimestampDiff(u, a, b, zone) // fails for the unit only, which was tried above
			return out
		})
		return onRest(diff), nil
	},
}

// partsOfMilli returns how many of a unit are a millisecond, the finest that an instant has, if it
// is a smaller one.
func partsOfMilli(u chrono.Unit) (int64, bool) {
	switch u {
	case chrono.UnitMicrosecond:
		return 1000, true
	case chrono.UnitNanosecond:
		return 1_000_000, true
	}
	return 0, false
}

func unitOf(c *expr.Call, ctx *expr.Context) (chrono.Unit, error) {
	name, err := constantArg(c, 0, ctx)
	if err != nil {
		return 0, err
	}
	s, _ := name.(string)
	u, ok := chrono.ParseUnit(strings.TrimPrefix(strings.ToUpper(s), "SQL_TSI_"))
	if !ok {
		return 0, fault.InvalidInput("Unit [%s] is unknown", s)
	}
	return u, nil
}

// onRest runs a kernel on the arguments after the first, which is a constant that the kernel has in
// it.
func onRest(k expr.Kernel) expr.Kernel {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		return k(args[1:], n, valid)
	}
}

var timeExtractFunction = &expr.Function{
	Name: "TIME_EXTRACT", NativeName: "timestamp_extract", Min: 2, Max: 3, SeesNulls: true, RefusesNull: true,
	Summary: "Returns a part of a timestamp: EPOCH, MILLISECOND, SECOND, MINUTE, HOUR, DAY, DOW, ISODOW, DOY, WEEK, MONTH, " +
		"QUARTER, YEAR, " +
		"ISOYEAR, DECADE, CENTURY or MILLENNIUM.",
	Forms: []string{"$F(<TIMESTAMP>, <CHARACTER>, [<CHARACTER>])"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Instant(0)
		u := unitArgument(b, 1)
		zone(b, 2)
		if b.Err == nil {
			_, b.Err = chrono.NewExtractor(u, nil)
		}
		return b.Call(expr.Of(expr.BigInt).NotNull().OrNull(b.Type(0).Nullable))
	},
	Kernel: func(c *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
		zone, err := zoned(c, 2, ctx)
		if err != nil {
			return nil, err
		}
		name, _ := expr.LiteralValue(c.Args[1])
		s, _ := name.(string)
		u, _ := chrono.ParseUnit(s)
		x, err := chrono.NewExtractor(u, zone)
		if err != nil {
			return nil, err
		}
		return kernel.OnFirst(kernel.Over(ctx.Reuse, x.All)), nil
	},
}

// NewExtract binds EXTRACT(unit FROM x).
func NewExtract(unit chrono.Unit, x expr.Expr, at fault.Span) (expr.Expr, error) {
	t := x.Type()
	if t.Base == expr.Null {
		return &expr.Literal{T: expr.Of(expr.BigInt)}, nil
	}
	if !t.Multi && !t.IsTime() {
		return nil, expr.TypeError(&expr.Function{Name: "EXTRACT", Forms: []string{"EXTRACT(<DATETIME_INTERVAL> FROM <DATETIME>)"}},
			[]expr.Expr{x}, at)
	}
	return expr.NewCall(timeExtractFunction, []expr.Expr{x, expr.TextLiteral(unit.String())}, at)
}

// extractFunctions are the shorthands for EXTRACT.
var extractFunctions = func() []*expr.Function {
	units := []struct{ name, unit string }{{"YEAR", "YEAR"}, {"QUARTER", "QUARTER"}, {"MONTH", "MONTH"}, {"WEEK", "WEEK"},
		{"DAYOFYEAR", "DOY"}, {"DAYOFMONTH", "DAY"}, {"DAYOFWEEK", "DOW"}, {"HOUR", "HOUR"}, {"MINUTE", "MINUTE"}, {"SECOND", "SECOND"}}
	out := make([]*expr.Function, len(units))
	for i, u := range units {
		out[i] = &expr.Function{
			Name: u.name, Min: 1, Max: 1,
			Summary: "Equivalent to EXTRACT(" + u.unit + " FROM timestamp).",
			Forms:   []string{"$F(<DATETIME>)"},
			Bind: func(b *expr.Binding) (expr.Expr, error) {
				return expr.NewCall(timeExtractFunction, []expr.Expr{b.Args[0], expr.TextLiteral(u.unit)}, b.At)
			},
		}
	}
	return out
}()

var millisToTimestampFunction = &expr.Function{
	Name: "MILLIS_TO_TIMESTAMP", Min: 1, Max: 1, RefusesNull: true,
	Summary: "Converts a number of milliseconds since 1970-01-01 to a timestamp.",
	Forms:   []string{"$F(<EXACT_NUMERIC>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		if t := b.Type(0); !t.IsInteger() && t.Base != expr.Decimal && t.Base != expr.Null {
			b.Mismatch()
			return nil, b.Err
		}
		return expr.NewCast(expr.Coerce(b.Args[0], expr.Of(expr.BigInt)), expr.Of(expr.Timestamp), b.At)
	},
}

var timestampToMillisFunction = &expr.Function{
	Name: "TIMESTAMP_TO_MILLIS", Min: 1, Max: 1, RefusesNull: true,
	Summary: "Returns the milliseconds of a timestamp since 1970-01-01.",
	Forms:   []string{"$F(<TIMESTAMP>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Instant(0)
		if b.Err != nil {
			return nil, b.Err
		}
		return expr.NewCast(b.Args[0], expr.Of(expr.BigInt), b.At)
	},
}

var lastDayFunction = &expr.Function{
	Name: "LAST_DAY", Min: 1, Max: 1,
	Summary: "Returns the last day of the month of a timestamp.",
	Forms:   []string{"$F(<DATETIME>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Instant(0)
		return b.Strict(expr.Of(expr.Date))
	},
	Kernel: func(_ *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
		month, err := chrono.PeriodGranularity(chrono.Period{Months: 1}, ctx.Zone, nil)
		if err != nil {
			return nil, err
		}
		f, zone := month.Floorer(), ctx.Zone
		return kernel.Unary(func(ms int64) int64 { return chrono.Period{Days: 1}.Add(f.Bucket(ms).End, zone, -1) }), nil
	},
}
