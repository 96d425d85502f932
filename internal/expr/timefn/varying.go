package timefn

import (
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// constantsFrom reports whether all arguments of a call from the i-th are constants.
func constantsFrom(c *expr.Call, i int) bool {
	for _, a := range c.Args[min(i, len(c.Args)):] {
		if !expr.IsConstant(a) {
			return false
		}
	}
	return true
}

// periodOf keeps the period and the zone that were last read from the rows of a batch: they are the
// same for most.
type periodOf struct {
	ctx        *expr.Context
	text, name string
	zoned      bool // name counts, as the zone of a row isn't NULL
	made       bool
	period     chrono.Period
	zone       *chrono.Zone
}

// read takes the period and the zone of row i, and reports whether they differ from those of the
// last row; zone is nil where none is given.
func (p *periodOf) read(period, zone *vector.Vector, i int) (changed bool, err error) {
	text, name, zoned := period.StringAt(i), "", false
	if zone != nil && !zone.IsNull(i) {
		name, zoned = zone.StringAt(i), true
	}
	if p.made && text == p.text && name == p.name && zoned == p.zoned {
		return false, nil
	}
	if p.period, err = chrono.ParsePeriod(text); err != nil {
		return false, err
	}
	p.zone = p.ctx.Zone
	if zoned {
		if p.zone, err = chrono.LoadZone(name); err != nil {
			return false, err
		}
	}
	p.text, p.name, p.zoned, p.made = text, name, zoned, true
	return true, nil
}

// argument returns argument i of a kernel; nil: it was not given.
func argument(args []*vector.Vector, i int) *vector.Vector {
	if i < len(args) {
		return args[i]
	}
	return nil
}

// varyingBuckets is the kernel of TIME_FLOOR and TIME_CEIL whose period, origin or zone comes from
// the rows.
func varyingBuckets(ctx *expr.Context, round bucketRounding) expr.Kernel {
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		read := periodOf{ctx: ctx}
		var buckets chrono.Floorer
		var from *int64
		return varying(args[:2], n, func(i int) (int64, error) {
			changed, err := read.read(args[1], argument(args, 3), i)
			if err != nil {
				return 0, err
			}
			origin := originAt(argument(args, 2), i)
			if changed || (origin == nil) != (from == nil) || origin != nil && *origin != *from {
				g, err := chrono.PeriodGranularity(read.period, read.zone, origin)
				if err != nil {
					return 0, err
				}
				buckets, from = g.Floorer(), origin
			}
			ms := args[0].LongAt(i)
			return round(buckets.Bucket(ms), ms), nil
		})
	}
}

func originAt(v *vector.Vector, i int) *int64 {
	if v == nil || v.IsNull(i) || v.Type.Kind != vector.KindLong {
		return nil
	}
	ms := v.LongAt(i)
	return &ms
}

// varyingShift is the kernel of TIME_SHIFT whose period or zone comes from the rows.
func varyingShift(ctx *expr.Context) expr.Kernel {
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		read := periodOf{ctx: ctx}
		return varying(args[:3], n, func(i int) (int64, error) {
			if _, err := read.read(args[1], argument(args, 3), i); err != nil {
				return 0, err
			}
			return read.period.Add(args[0].LongAt(i), read.zone, args[2].LongAt(i)), nil
		})
	}
}

// varying computes the rows in which none of the needed arguments is NULL.
func varying(needed []*vector.Vector, n int, row func(i int) (int64, error)) (*vector.Vector, error) {
	out, valid := make([]int64, n), kernel.ValidRows(needed, n)
	for i := range out {
		if !valid.Get(i) {
			continue
		}
		var err error
		if out[i], err = row(i); err != nil {
			return nil, err
		}
	}
	v := vector.FromLongs(out)
	if valid != nil {
		v = kernel.WithValid(v, valid)
	}
	return v, nil
}
