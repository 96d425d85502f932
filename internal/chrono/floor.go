package chrono

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// Floor returns the start of the bucket that contains ms.
func (g Granularity) Floor(ms int64) int64 { return g.locate(ms).floor }

// Next returns the start of the bucket after the one that contains ms.
func (g Granularity) Next(ms int64) int64 { return g.locate(ms).next }

// Ceil returns ms if a bucket starts there, else the start of the next one.
func (g Granularity) Ceil(ms int64) int64 {
	b := g.locate(ms)
	if b.floor == ms {
		return ms
	}
	return b.next
}

// Bucket returns the bucket that contains ms.
func (g Granularity) Bucket(ms int64) Interval {
	b := g.locate(ms)
	return Interval{Start: b.floor, End: b.next}
}

// Iterate yields the buckets that overlap an interval, in order. They are whole: the first may
// start before the interval and the last end after it. For ALL it is the interval itself, as in
// Druid. See quirk Q016.
func (g Granularity) Iterate(iv Interval) iter.Seq[Interval] {
	return func(yield func(Interval) bool) {
		if iv.IsEmpty() {
			return
		}
		if g.kind == kindAll {
			yield(iv)
			return
		}
		f := g.Floorer()
		for at := iv.Start; at < iv.End; {
			b := f.bucket(at)
			if !yield(Interval{Start: b.floor, End: b.next}) || b.next <= at {
				return
			}
			at = b.next
		}
	}
}

// Aligned reports whether an interval starts and ends where buckets do.
func (g Granularity) Aligned(iv Interval) bool {
	if g.kind == kindAll {
		return iv == Eternity
	}
	return g.Ceil(iv.Start) == iv.Start && g.Ceil(iv.End) == iv.End
}

// FloorAll writes the floors of src to dst, which must be as long. Instants of the same bucket that
// follow each other cost a comparison each. dst may be src.
func (g Granularity) FloorAll(dst, src []int64) {
	dst = dst[:len(src)]
	switch g.kind {
	case kindNone:
		copy(dst, src)
		return
	case kindAll:
		for i := range dst {
			dst[i] = MinInstant
		}
		return
	}
	f := g.Floorer()
	start, end, floor := int64(1), int64(0), int64(0)
	for i, ms := range src {
		if ms < start || ms >= end {
			b := f.bucket(ms)
			start, end, floor = b.start, b.end, b.floor
		}
		dst[i] = floor
	}
}

// Floorer finds floors of instants that mostly come in order, remembering the last bucket. It is
// for one goroutine.
type Floorer struct {
	g    Granularity
	last bucket
	// after and before are of kindSteps: the boundaries from the origin on, and back.
	after, before []int64
}

// Floorer returns a cursor over g.
func (g Granularity) Floorer() Floorer { return Floorer{g: g, last: bucket{start: 1}} }

// Floor is Granularity.Floor.
func (f *Floorer) Floor(ms int64) int64 {
	if ms >= f.last.start && ms < f.last.end {
		return f.last.floor
	}
	return f.bucket(ms).floor
}

// Bucket is Granularity.Bucket.
func (f *Floorer) Bucket(ms int64) Interval {
	b := f.bucket(ms)
	return Interval{Start: b.floor, End: b.next}
}

func (f *Floorer) bucket(ms int64) bucket {
	if ms >= f.last.start && ms < f.last.end {
		return f.last
	}
	if f.g.kind == kindSteps {
		f.last = f.step(ms)
	} else {
		f.last = f.g.locate(ms)
	}
	return f.last
}

// bucket is [floor, next), and the range [start, end) of instants inside it which are known to
// floor to floor: for ALL the two differ.
type bucket struct {
	floor, next, start, end int64
}

func whole(floor, next int64) bucket {
	return bucket{floor: floor, next: next, start: floor, end: next}
}

func (g Granularity) locate(ms int64) bucket {
	switch g.kind {
	case kindNone:
		return whole(ms, satAdd(ms, 1))
	case kindAll:
		return bucket{floor: MinInstant, next: MaxInstant, start: math.MinInt64, end: math.MaxInt64}
	case kindMillis:
		// The remainders are taken apart so that the difference to the origin can't overflow.
		past := floorMod(floorMod(ms, g.millis)-floorMod(g.origin, g.millis), g.millis)
		floor := satSub(ms, past)
		return whole(floor, satAdd(floor, g.millis))
	case kindClock:
		return g.locateClock(ms)
	case kindSteps:
		return g.locateStep(ms)
	case kindChunks:
		return g.locateChunk(ms)
	default:
		return g.locateCalendar(ms)
	}
}

// locateChunk finds the interval of an instant, or the gap that it is in.
func (g Granularity) locateChunk(ms int64) bucket {
	i, _ := slices.BinarySearchFunc(g.chunks, ms, func(iv Interval, ms int64) int { return cmp.Compare(iv.End, satAdd(ms, 1)) })
	floor, next := MinInstant, MaxInstant
	if i > 0 {
		floor = g.chunks[i-1].End
	}
	if i < len(g.chunks) {
		if next = g.chunks[i].Start; next <= ms {
			floor, next = next, g.chunks[i].End
		}
	}
	return whole(floor, next)
}

// locateClock floors the local time with the offset at ms. Where the offset changes by less than a
// unit, the bucket is shorter: it ends, or starts, at the change.
func (g Granularity) locateClock(ms int64) bucket {
	start, end, offset := g.zone.SpanAt(ms)
	local := satAdd(ms, offset)
	floor := min(satSub(satSub(local, floorMod(local, g.millis)), offset), ms) // before time there is no local time
	return whole(max(floor, start), min(satAdd(floor, g.millis), end))
}

// locateCalendar counts days or months in local time.
func (g Granularity) locateCalendar(ms int64) bucket {
	local := g.zone.ToLocal(ms)
	var k int64
	if g.unit == unitDay {
		k = floorDiv(floorDiv(local, Day)-floorDiv(g.originLocal(), Day), g.units)
	} else {
		year, month, _ := civilFromDays(floorDiv(local, Day))
		oy, om, _ := civilFromDays(floorDiv(g.originLocal(), Day))
		k = floorDiv((year-oy)*12+int64(month-om), g.units)
	}
	// The count is off by one where the origin is not at the start of its day or month, or the zone's
	// clock was set over a boundary.
	floor, next := g.boundary(k), g.boundary(k+1)
	for floor > ms {
		k--
		floor, next = g.boundary(k), floor
	}
	for next <= ms && next < endOfTime {
		k++
		floor, next = next, g.boundary(k+1)
	}
	return whole(floor, next)
}

// originLocal is the local time of the origin: without one, the Monday that weeks are counted from,
// or 1970-01-01.
func (g Granularity) originLocal() int64 {
	switch {
	case g.hasOrigin:
		return g.zone.ToLocal(g.origin)
	case g.period.Weeks == 1:
		return -3 * Day
	default:
		return 0
	}
}

// boundary is the start of the k-th bucket after the one at the origin.
func (g Granularity) boundary(k int64) int64 {
	var local int64
	if g.unit == unitDay {
		days, rest := split(g.originLocal()) // the days are added first, so that only what is beyond time is cut
		local = join(satAdd(days, satMul(k, g.units)), rest)
	} else {
		local = addMonthsLocal(g.originLocal(), satMul(k, g.units))
	}
	if atEnd(local) {
		return local
	}
	return g.zone.firstAt(local)
}

// A period of several fields has no formula for its k-th boundary, because the day may be forced to
// the end of a month at any step. Buckets are found by walking from the origin, but the walk is
// bounded: it starts over at anchors, which are the origin plus that many periods at once. The
// first anchors lie centuries away from the origin for any period of a day or more. Cursors
// remember the walk to them, but not the ones beyond, which are therefore near each other.
const (
	nearSteps = 1 << 16
	farSteps  = 1 << 7
)

// anchorAt is the j-th anchor after the origin, before it where j is negative.
func (g Granularity) anchorAt(j int64) int64 {
	var steps int64
	switch {
	case j > 0:
		steps = satAdd(nearSteps, satMul(j-1, farSteps))
	case j < 0:
		steps = satAdd(-nearSteps, satMul(j+1, farSteps))
	}
	return g.period.Add(g.origin, g.zone, steps)
}

// anchorsPast returns how many anchors lie between the origin and ms, negative before the origin:
// the one returned is at ms or between it and the origin.
func (g Granularity) anchorsPast(ms int64) int64 {
	const year = 365.2425 * float64(Day)
	p := g.period
	length := float64(p.Years)*year + float64(p.Months)*year/12 + float64(p.Weeks)*float64(Week) + float64(p.Days)*float64(Day) +
		float64(p.timeMillis())
	// The estimate is off by few anchors at most, as the fields of a period differ little from their
	// mean lengths.
	steps := math.Abs(float64(ms)-float64(g.origin)) / length
	j := int64(0)
	if steps >= nearSteps {
		j = 1 + int64((steps-nearSteps)/farSteps)
	}
	if ms >= g.origin {
		for j > 0 && g.anchorAt(j) > ms {
			j--
		}
		for next := g.anchorAt(j + 1); next <= ms && next < endOfTime; next = g.anchorAt(j + 1) {
			j++
		}
		return j
	}
	for j = -j; j < 0 && g.anchorAt(j) <= ms; {
		j++
	}
	for next := g.anchorAt(j - 1); next > ms && next > math.MinInt64; next = g.anchorAt(j - 1) {
		j--
	}
	return j
}

// locateStep walks to the bucket from the anchor between it and the origin.
func (g Granularity) locateStep(ms int64) bucket {
	j := g.anchorsPast(ms)
	at := g.anchorAt(j)
	if ms >= g.origin {
		limit := g.anchorAt(j + 1)
		next := g.stepOn(at, limit)
		for next <= ms && next < endOfTime {
			at, next = next, g.stepOn(next, limit)
		}
		return whole(at, next)
	}
	limit := g.anchorAt(j - 1)
	floor := g.stepBack(at, limit)
	for floor > ms {
		at, floor = floor, g.stepBack(floor, limit)
	}
	return whole(floor, at)
}

// stepOn is the boundary after one, which lies before an anchor.
func (g Granularity) stepOn(at, anchor int64) int64 { return min(g.period.Add(at, g.zone, 1), anchor) }

// stepBack is the boundary before one, which lies after an anchor.
func (g Granularity) stepBack(at, anchor int64) int64 {
	return max(g.period.Add(at, g.zone, -1), anchor)
}

// step is locateStep for a cursor, which keeps the boundaries between the origin and the first
// anchors that it has walked over: instants in any order then cost a search, and not a walk each.
func (f *Floorer) step(ms int64) bucket {
	g := f.g
	if ms >= g.origin {
		anchor := g.anchorAt(1)
		if ms >= anchor {
			return g.locateStep(ms)
		}
		f.after = walk(f.after, g.origin, func(at int64) bool { return at > ms }, func(at int64) int64 { return g.stepOn(at, anchor) })
		i, found := slices.BinarySearch(f.after, ms)
		if !found {
			i--
		}
		return whole(f.after[i], f.after[i+1])
	}
	anchor := g.anchorAt(-1)
	if ms < anchor {
		return g.locateStep(ms)
	}
	f.before = walk(f.before, g.origin, func(at int64) bool { return at <= ms }, func(at int64) int64 { return g.stepBack(at, anchor) })
	i, _ := slices.BinarySearchFunc(f.before, ms, func(at, ms int64) int { return cmp.Compare(ms, at) })
	return whole(f.before[i], f.before[i-1])
}

// walk continues a list of boundaries that starts at the origin until one is far enough.
func walk(boundaries []int64, origin int64, far func(at int64) bool, next func(at int64) int64) []int64 {
	if boundaries == nil {
		boundaries = append(boundaries, origin)
	}
	for at := boundaries[len(boundaries)-1]; !far(at); {
		at = next(at)
		boundaries = append(boundaries, at)
	}
	return boundaries
}
