package chrono

import (
	"math"

	"github.com/hengedb/henge/internal/fault"
)

// Extract is EXTRACT(unit FROM ts) in a zone. DOW and ISODOW count from 1 = Monday, ISOYEAR is the
// calendar year as in Druid, EPOCH is in seconds cut toward zero, MICROSECOND in Druid's thousands
// of seconds. The error is an InvalidInput fault for NANOSECOND, which an instant does not have.
// Loops use Extractor. See quirk Q016.
func Extract(u Unit, ms int64, zone *Zone) (int64, error) {
	x, err := NewExtractor(u, zone)
	if err != nil {
		return 0, err
	}
	return x.At(ms), nil
}

// Extractor extracts one unit from many instants, remembering the offset and the day it saw last.
// It is for one goroutine.
type Extractor struct {
	unit       Unit
	offsets    OffsetCursor
	start, end int64 // local times of the day whose value is known, for units of a day and more
	value      int64
}

// NewExtractor returns an extractor of a unit in a zone, or an InvalidInput fault.
func NewExtractor(u Unit, zone *Zone) (*Extractor, error) {
	switch u {
	case UnitInvalid, UnitNanosecond:
		return nil, fault.InvalidInput("Unit [%s] can't be extracted from a timestamp", u)
	}
	return &Extractor{unit: u, offsets: zone.Offsets()}, nil
}

// At returns the unit's value at an instant.
func (x *Extractor) At(ms int64) int64 {
	switch x.unit {
	case UnitEpoch:
		return ms / Second
	case UnitMicrosecond:
		return ms / (1000 * Second)
	}
	local := satAdd(ms, x.offsets.At(ms))
	switch x.unit {
	case UnitMillisecond:
		return floorMod(local, Second)
	case UnitSecond:
		return floorMod(local, Minute) / Second
	case UnitMinute:
		return floorMod(local, Hour) / Minute
	case UnitHour:
		return floorMod(local, Day) / Hour
	}
	if local < x.start || local >= x.end {
		days := floorDiv(local, Day)
		x.start = satMul(days, Day)
		x.end = satMul(days+1, Day)
		x.value = extractDay(x.unit, days)
	}
	return x.value
}

// All writes the values at src to dst, which must be as long. dst may be src. Instants mostly come
// in order, so that many have the value of the one before: while neither the unit nor the offset
// changes.
func (x *Extractor) All(dst, src []int64) {
	dst = dst[:len(src)]
	var from, to, value int64 // instants from from up to to have the value
	length := x.run()
	for i, ms := range src {
		if ms < from || ms >= to {
			value = x.At(ms)
			from, to = ms, ms
			if length > 0 && ms > math.MinInt64+2*Day && ms < math.MaxInt64-2*Day {
				into := floorMod(ms+x.offsets.At(ms), length)
				from = max(ms-into, x.offsets.start)
				to = min(ms-into+length, x.offsets.end)
			}
		}
		dst[i] = value
	}
}

// run returns how long values stay the same at least; 0: not long.
func (x *Extractor) run() int64 {
	switch x.unit {
	case UnitEpoch, UnitMicrosecond, UnitMillisecond:
		return 0
	case UnitSecond:
		return Second
	case UnitMinute:
		return Minute
	case UnitHour:
		return Hour
	}
	return Day
}

// extractDay returns the value of a unit that is the same all day.
func extractDay(u Unit, days int64) int64 {
	year, month, day := civilFromDays(days)
	switch u {
	case UnitDay:
		return int64(day)
	case UnitDOW, UnitISODOW:
		return int64(weekday(days))
	case UnitDOY:
		return days - daysFromCivil(year, 1, 1) + 1
	case UnitWeek:
		_, week := isoWeek(days)
		return int64(week)
	case UnitMonth:
		return int64(month)
	case UnitQuarter:
		return int64(month-1)/3 + 1
	case UnitDecade:
		return year / 10
	case UnitCentury:
		return -floorDiv(-year, 100)
	case UnitMillennium:
		return -floorDiv(-year, 1000)
	default: // YEAR and ISOYEAR
		return year
	}
}
