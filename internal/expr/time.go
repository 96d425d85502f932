package expr

import (
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// zoned returns the zone a kernel works in: that of constant argument i if it is given and not
// NULL, else the query's.
func zoned(c *Call, i int, ctx *Context) (*chrono.Zone, error) {
	name, err := constantArg(c, i, ctx)
	if err != nil {
		return nil, err
	}
	if s, ok := name.(string); ok {
		return chrono.InferZone(s), nil
	}
	return ctx.Zone, nil
}

// constantArg returns the value of an argument that binding found to be constant, nil if it was not
// given.
func constantArg(c *Call, i int, ctx *Context) (any, error) {
	if i >= len(c.Args) {
		return nil, nil
	}
	if l, ok := c.Args[i].(*Literal); ok {
		return l.Value, nil
	}
	v, err := evaluateRow(c.Args[i], ctx)
	if err != nil {
		return nil, err
	}
	return v.ValueAt(0), nil
}

// wantConstant records that argument i, if given, is not constant. Its value may depend on the
// query's zone and time, which binding does not know.
func (b *binding) wantConstant(i int, what string) {
	if b.has(i) && !IsConstant(b.args[i]) {
		b.mustBeLiteral(what)
	}
}

// period wants an ISO 8601 period, which is checked here if it is a literal.
func (b *binding) period(i int) {
	b.text(i)
	if b.err != nil {
		return
	}
	if s, ok := literalValue(b.args[i]); ok {
		if _, err := chrono.ParsePeriod(s.(string)); err != nil {
			b.err = fault.InvalidSQL(b.at, "Invalid period['%s'] specified for expression[%s]", s,
				Native(&Call{Fn: b.fn.entry(), Args: b.args, T: Of(Timestamp)}, nil)).
				With("suggestion", "an ISO 8601 period: 'P1D' is a day, 'PT5M' five minutes")
		}
	}
}

// zone wants a constant time zone as argument i, if it was given.
func (b *binding) zone(i int) {
	if !b.has(i) {
		return
	}
	b.text(i)
	b.wantConstant(i, "time zone")
}

var timeFloorFunction = bucketFunction("TIME_FLOOR", "timestamp_floor", "Rounds a timestamp down to the start of its period.",
	func(g chrono.Granularity) Kernel {
		return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			out := make([]int64, n)
			if args[0].Const {
				for i := range out {
					out[i] = g.Floor(args[0].Longs[0])
				}
			} else {
				g.FloorAll(out, args[0].Longs[:n])
			}
			return vector.FromLongs(out), nil
		}
	}, func(b chrono.Interval, _ int64) int64 { return b.Start })

var timeCeilFunction = bucketFunction("TIME_CEIL", "timestamp_ceil", "Rounds a timestamp up to the start of a period.",
	func(g chrono.Granularity) Kernel {
		f := g.Floorer()
		return unary(func(ms int64) int64 { return ceiling(f.Bucket(ms), ms) })
	}, ceiling)

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
func bucketFunction(name, native, summary string, kernel func(chrono.Granularity) Kernel, round bucketRounding) *Function {
	return &Function{
		Name: name, NativeName: native, Summary: summary, Min: 2, Max: 4, SeesNulls: true, RefusesNull: true,
		Forms: []string{"$F(<TIMESTAMP>, <CHARACTER>, [<TIMESTAMP>, [<CHARACTER>]])"},
		Bind: func(b *binding) (Expr, error) {
			b.instant(0)
			b.period(1)
			if b.has(2) {
				if b.typ(2).IsCharacter() && !isNullLiteral(b.args[2]) {
					b.mismatch()
				}
				b.instant(2)
			}
			if b.has(3) {
				b.text(3)
			}
			return b.call(Of(Timestamp).NotNull().OrNull(b.typ(0).Nullable || isNullLiteral(b.args[1]) || !IsConstant(b.args[1]) && b.typ(1).Nullable))
		},
		Kernel: func(c *Call, ctx *Context) (Kernel, error) {
			if !constantsFrom(c, 1) {
				return varyingBuckets(ctx, round), nil
			}
			g, ok, err := granularityOf(c, ctx)
			if err != nil {
				return nil, err
			}
			if !ok {
				return nullKernel(vector.Long), nil
			}
			return onFirst(kernel(g)), nil
		},
	}
}

// onFirst runs a kernel on the first argument only: the others are constants that it has in it, and
// may be NULL.
func onFirst(k Kernel) Kernel {
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		first := args[:1]
		valid := validRows(first, n)
		v, err := k(first, n, valid)
		if err != nil || valid == nil {
			return v, err
		}
		return withValid(v, valid), nil
	}
}

func granularityOf(c *Call, ctx *Context) (chrono.Granularity, bool, error) {
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
func TimeBucket(e Expr, ctx *Context) (ts Expr, g chrono.Granularity, ok bool) {
	c, is := e.(*Call)
	if !is || !c.Fn.same(timeFloorFunction) || !constantsFrom(c, 1) {
		return nil, chrono.Granularity{}, false
	}
	if ctx == nil {
		ctx = &Context{}
	}
	g, ok, err := granularityOf(c, ctx)
	if err != nil || !ok {
		return nil, chrono.Granularity{}, false
	}
	return c.Args[0], g, true
}

// NewFloorTo binds FLOOR(x TO unit), with ceil CEIL(x TO unit). A DATE stays a DATE.
func NewFloorTo(unit chrono.Unit, x Expr, ceil bool, at fault.Span) (Expr, error) {
	fn, name := timeFloorFunction, "FLOOR"
	if ceil {
		fn, name = timeCeilFunction, "CEIL"
	}
	if x.Type().Multi {
		return overValues([]Expr{x}, 0, func(args []Expr) (Expr, error) { return NewFloorTo(unit, args[0], ceil, at) })
	}
	t := x.Type()
	if t.Base == Null {
		return x, nil
	}
	if !t.IsTime() && !t.IsCharacter() {
		forms := []string{name + "(<DATE> TO <TIME_UNIT>)", name + "(<TIMESTAMP> TO <TIME_UNIT>)"}
		return nil, typeError(&Function{Name: name, Forms: forms}, []Expr{x}, at)
	}
	period, ok := unit.Period()
	if !ok || unit == chrono.UnitMicrosecond {
		return nil, fault.InvalidSQL(at, "Unit [%s] can't be used in %s(.. TO ..)", unit, name)
	}
	e, err := NewCall(fn, []Expr{x, textLiteral(period.String())}, at)
	if err != nil || t.Base != Date {
		return e, err
	}
	return coerce(e, t), nil
}

func textLiteral(s string) *Literal { return &Literal{Value: s, T: Of(Varchar).NotNull()} }

var dateTruncUnits = strings.Fields("microseconds milliseconds second minute hour day week month quarter year decade century millennium")

var dateTruncFunction = &Function{
	Name: "DATE_TRUNC", Min: 2, Max: 2, RefusesNull: true,
	Summary: "Rounds a timestamp down to a unit: " + strings.Join(dateTruncUnits, ", ") + ".",
	Forms:   []string{"$F(<CHARACTER>, <TIMESTAMP>)"},
	Bind: func(b *binding) (Expr, error) {
		unit := b.constantText(0, "unit")
		b.instant(1)
		if b.err != nil {
			return nil, b.err
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
			err := fault.InvalidSQL(b.at, "Operator[DATE_TRUNC] cannot truncate to[%s]", unit)
			if near := fault.Nearest(unit, dateTruncUnits); near != "" {
				err = err.With("suggestion", "'"+near+"'")
			}
			return nil, err
		}
		return NewCall(timeFloorFunction, []Expr{b.args[1], textLiteral(period.String())}, b.at)
	},
}

var timeShiftFunction = &Function{
	Name: "TIME_SHIFT", NativeName: "timestamp_shift", Min: 3, Max: 4, SeesNulls: true, RefusesNull: true,
	Summary: "Shifts a timestamp by a period, a number of times, by the calendar of a time zone.",
	Forms:   []string{"$F(<TIMESTAMP>, <CHARACTER>, <INTEGER>, [<CHARACTER>])"},
	Bind: func(b *binding) (Expr, error) {
		b.instant(0)
		b.period(1)
		b.whole(2)
		if b.has(3) {
			b.text(3)
		}
		return b.call(Of(Timestamp).NotNull().OrNull(b.typ(0).Nullable || b.typ(1).Nullable || b.typ(2).Nullable))
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		if !IsConstant(c.Args[1]) || !constantsFrom(c, 3) {
			return varyingShift(ctx), nil
		}
		text, err := constantArg(c, 1, ctx)
		if err != nil {
			return nil, err
		}
		if text == nil {
			return nullKernel(vector.Long), nil
		}
		period, err := chrono.ParsePeriod(text.(string))
		if err != nil {
			return nil, err
		}
		zone, err := zoned(c, 3, ctx)
		if err != nil {
			return nil, err
		}
		shift := binary(func(ms, n int64) int64 { return period.Add(ms, zone, n) })
		return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			operands := []*vector.Vector{args[0], args[2]}
			v, err := shift(operands, n, nil)
			if valid := validRows(operands, n); err == nil && valid != nil {
				v = withValid(v, valid)
			}
			return v, err
		}, nil
	},
}

// unitArgument reads the unit that the binder passes as a constant string.
func (b *binding) unitArgument(i int) chrono.Unit {
	name := b.constantText(i, "unit")
	u, ok := chrono.ParseUnit(strings.TrimPrefix(strings.ToUpper(name), "SQL_TSI_"))
	if !ok {
		b.fail("Unit [%s] of function [%s] is unknown", name, b.fn.Name)
	}
	return u
}

// spanArgument reads a unit that spans of time are counted in.
func (b *binding) spanArgument(i int) chrono.Unit {
	u := b.unitArgument(i)
	_, length := u.Period()
	if _, part := partsOfMilli(u); !length && !part {
		b.fail("Unit [%s] of function [%s] is a field of a time and has no length", u, b.fn.Name)
	}
	return u
}

var timestampAddFunction = &Function{
	Name: "TIMESTAMPADD", Min: 3, Max: 3,
	Summary: "Adds a number of units to a timestamp.",
	Forms:   []string{"$F(<ANY>, <INTEGER>, <DATETIME>)"},
	Bind: func(b *binding) (Expr, error) {
		u := b.spanArgument(0)
		if b.typ(1).IsCharacter() {
			b.cast(1, Of(BigInt))
		}
		b.whole(1)
		t := b.typ(2)
		if t.Base == Null && b.err == nil {
			return &Literal{T: t}, nil
		}
		if !t.IsTime() {
			b.mismatch()
		}
		b.cast(2, Of(Timestamp))
		e, err := b.strict(Of(Timestamp))
		if err != nil || t.Base != Date || u < chrono.UnitDay {
			return e, err
		}
		return coerce(e, t), nil
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		u, err := unitOf(c, ctx)
		if err != nil {
			return nil, err
		}
		zone := ctx.Zone
		if parts, ok := partsOfMilli(u); ok {
			return onRest(binary(func(n, ms int64) int64 { return ms + n/parts })), nil
		}
		if _, err := chrono.TimestampAdd(u, 0, 0, zone); err != nil {
			return nil, err
		}
		add := binary(func(n, ms int64) int64 {
			out, _ := chrono.TimestampAdd(u, n, ms, zone) // fails for the unit only, which was tried above
			return out
		})
		return onRest(add), nil
	},
}

var timestampDiffFunction = &Function{
	Name: "TIMESTAMPDIFF", Aliases: []string{"DATE_DIFF"}, Min: 3, Max: 3,
	Summary: "Returns the number of whole units from one timestamp to another.",
	Forms:   []string{"$F(<ANY>, <DATETIME>, <DATETIME>)"},
	Bind: func(b *binding) (Expr, error) {
		u := b.spanArgument(0)
		for i := 1; i < 3; i++ {
			b.instant(i)
		}
		if u == chrono.UnitNanosecond {
			return b.strict(Of(BigInt))
		}
		return b.strict(Of(Integer))
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		u, err := unitOf(c, ctx)
		if err != nil {
			return nil, err
		}
		zone := ctx.Zone
		if parts, ok := partsOfMilli(u); ok {
			return onRest(binary(func(a, b int64) int64 { return (b - a) * parts })), nil
		}
		if _, err := chrono.TimestampDiff(u, 0, 0, zone); err != nil {
			return nil, err
		}
		diff := binary(func(a, b int64) int64 {
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

func unitOf(c *Call, ctx *Context) (chrono.Unit, error) {
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
func onRest(k Kernel) Kernel {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		return k(args[1:], n, valid)
	}
}

var timeExtractFunction = &Function{
	Name: "TIME_EXTRACT", NativeName: "timestamp_extract", Min: 2, Max: 3, SeesNulls: true, RefusesNull: true,
	Summary: "Returns a part of a timestamp: EPOCH, MILLISECOND, SECOND, MINUTE, HOUR, DAY, DOW, ISODOW, DOY, WEEK, MONTH, QUARTER, YEAR, " +
		"ISOYEAR, DECADE, CENTURY or MILLENNIUM.",
	Forms: []string{"$F(<TIMESTAMP>, <CHARACTER>, [<CHARACTER>])"},
	Bind: func(b *binding) (Expr, error) {
		b.instant(0)
		u := b.unitArgument(1)
		b.zone(2)
		if b.err == nil {
			_, b.err = chrono.NewExtractor(u, nil)
		}
		return b.call(Of(BigInt).NotNull().OrNull(b.typ(0).Nullable))
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		zone, err := zoned(c, 2, ctx)
		if err != nil {
			return nil, err
		}
		name, _ := literalValue(c.Args[1])
		s, _ := name.(string)
		u, _ := chrono.ParseUnit(s)
		x, err := chrono.NewExtractor(u, zone)
		if err != nil {
			return nil, err
		}
		return onFirst(unary(x.At)), nil
	},
}

// NewExtract binds EXTRACT(unit FROM x).
func NewExtract(unit chrono.Unit, x Expr, at fault.Span) (Expr, error) {
	t := x.Type()
	if t.Base == Null {
		return &Literal{T: Of(BigInt)}, nil
	}
	if !t.Multi && !t.IsTime() {
		return nil, typeError(&Function{Name: "EXTRACT", Forms: []string{"EXTRACT(<DATETIME_INTERVAL> FROM <DATETIME>)"}}, []Expr{x}, at)
	}
	return NewCall(timeExtractFunction, []Expr{x, textLiteral(unit.String())}, at)
}

// extractFunctions are the shorthands for EXTRACT.
var extractFunctions = func() []*Function {
	units := []struct{ name, unit string }{{"YEAR", "YEAR"}, {"QUARTER", "QUARTER"}, {"MONTH", "MONTH"}, {"WEEK", "WEEK"},
		{"DAYOFYEAR", "DOY"}, {"DAYOFMONTH", "DAY"}, {"DAYOFWEEK", "DOW"}, {"HOUR", "HOUR"}, {"MINUTE", "MINUTE"}, {"SECOND", "SECOND"}}
	out := make([]*Function, len(units))
	for i, u := range units {
		out[i] = &Function{
			Name: u.name, Min: 1, Max: 1,
			Summary: "Equivalent to EXTRACT(" + u.unit + " FROM timestamp).",
			Forms:   []string{"$F(<DATETIME>)"},
			Bind: func(b *binding) (Expr, error) {
				return NewCall(timeExtractFunction, []Expr{b.args[0], textLiteral(u.unit)}, b.at)
			},
		}
	}
	return out
}()

var millisToTimestampFunction = &Function{
	Name: "MILLIS_TO_TIMESTAMP", Min: 1, Max: 1, RefusesNull: true,
	Summary: "Converts a number of milliseconds since 1970-01-01 to a timestamp.",
	Forms:   []string{"$F(<EXACT_NUMERIC>)"},
	Bind: func(b *binding) (Expr, error) {
		if t := b.typ(0); !t.IsInteger() && t.Base != Decimal && t.Base != Null {
			b.mismatch()
			return nil, b.err
		}
		return NewCast(coerce(b.args[0], Of(BigInt)), Of(Timestamp), b.at)
	},
}

var timestampToMillisFunction = &Function{
	Name: "TIMESTAMP_TO_MILLIS", Min: 1, Max: 1, RefusesNull: true,
	Summary: "Returns the milliseconds of a timestamp since 1970-01-01.",
	Forms:   []string{"$F(<TIMESTAMP>)"},
	Bind: func(b *binding) (Expr, error) {
		b.instant(0)
		if b.err != nil {
			return nil, b.err
		}
		return NewCast(b.args[0], Of(BigInt), b.at)
	},
}

var lastDayFunction = &Function{
	Name: "LAST_DAY", Min: 1, Max: 1,
	Summary: "Returns the last day of the month of a timestamp.",
	Forms:   []string{"$F(<DATETIME>)"},
	Bind: func(b *binding) (Expr, error) {
		b.instant(0)
		return b.strict(Of(Date))
	},
	Kernel: func(_ *Call, ctx *Context) (Kernel, error) {
		month, err := chrono.PeriodGranularity(chrono.Period{Months: 1}, ctx.Zone, nil)
		if err != nil {
			return nil, err
		}
		f, zone := month.Floorer(), ctx.Zone
		return unary(func(ms int64) int64 { return chrono.Period{Days: 1}.Add(f.Bucket(ms).End, zone, -1) }), nil
	},
}
