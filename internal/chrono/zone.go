package chrono

import (
	"math"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the binary must know zones on machines without a zone database

	"github.com/hengedb/henge/internal/fault"
)

// Zone is a time zone: a name and the offset from UTC at every instant. Zones are immutable and
// safe for use by many goroutines.
//
// Offsets are in milliseconds, positive east of Greenwich. A nil *Zone is UTC.
type Zone struct {
	name   string
	loc    *time.Location // nil: the offset is fixed
	offset int64          // of a fixed zone

	once  sync.Once
	spans []offsetSpan // ascending, the first from math.MinInt64, covering everything before tableEnd
}

// offsetSpan says that from start on, until the next one, the offset is offset.
type offsetSpan struct {
	start, offset int64
}

// tableEnd is where the precomputed spans of a zone end (2200-01-01). Later instants are looked up
// in the rules each time.
const tableEnd int64 = 7_258_118_400_000

// UTC is the zone without an offset.
var UTC = &Zone{name: "UTC"}

// legacyIDs are the three-letter ids of Java 1.1 as Joda-Time reads them: regions, not fixed
// offsets.
var legacyIDs = map[string]string{
	"ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires", "ART": "Africa/Cairo",
	"AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka", "CAT": "Africa/Harare", "CNT": "America/St_Johns",
	"CST": "America/Chicago", "CTT": "Asia/Shanghai", "EAT": "Africa/Addis_Ababa", "ECT": "CET", "IET": "America/Indiana/Indianapolis",
	"IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland",
	"PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles",
	"SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
}

// loaded holds the named zones that were asked for. It is bounded by the number of names in the
// zone database.
var loaded sync.Map // string -> *Zone

// LoadZone returns the zone of a name: an id of the IANA database ("Europe/Berlin"), "UTC", "GMT",
// "Z", a legacy short id ("PST"), or an offset ("+05:30", "-0800", "+05", "GMT+2", "UTC-03:00").
// The error is an InvalidInput fault that names the zone. Ids are case-sensitive.
func LoadZone(name string) (*Zone, error) {
	switch name {
	case "UTC", "Z", "GMT", "UT", "Etc/UTC", "Zulu":
		return UTC, nil
	}
	if z, ok := loaded.Load(name); ok {
		return z.(*Zone), nil
	}
	if offset, ok := parseZoneOffset(name); ok {
		return FixedZone(offset), nil
	}
	name = strings.Clone(name) // it is kept, and may be of a segment that isn't
	id := name
	if to, ok := legacyIDs[name]; ok {
		id = to
	}
	// An empty name and "Local" mean something to time.LoadLocation that they must not mean here, and
	// dots and backslashes name files.
	if id == "" || id == "Local" || strings.ContainsAny(id, ".\\") || strings.HasPrefix(id, "/") || len(id) > 64 {
		return nil, unknownZone(name)
	}
	loc, err := time.LoadLocation(id)
	if err != nil {
		return nil, unknownZone(name)
	}
	z, _ := loaded.LoadOrStore(name, &Zone{name: id, loc: loc})
	return z.(*Zone), nil
}

func unknownZone(name string) error {
	hint := ""
	if likely := inUsualCase(name); likely != "" {
		hint = ". Did you mean [" + likely + "]?"
	}
	if len(name) > 64 {
		name = name[:64] + "..."
	}
	return fault.InvalidInput("Time zone [%s] is not recognised: expected a name such as Europe/Berlin, UTC, or an offset such as +05:30%s",
		name, hint)
}

// inUsualCase returns the zone that a name means but for the case of its letters, "" if there is
// none: names are of words that begin with a capital.
func inUsualCase(name string) string {
	if len(name) > 64 || name == "" {
		return ""
	}
	words := []byte(strings.ToLower(name))
	for i, c := range words {
		if c >= 'a' && c <= 'z' && (i == 0 || words[i-1] == '/' || words[i-1] == '_' || words[i-1] == '-') {
			words[i] = c - 'a' + 'A'
		}
	}
	for _, likely := range []string{string(words), strings.ToUpper(name)} {
		if likely != name && !strings.ContainsAny(likely, ".\\") && !strings.HasPrefix(likely, "/") {
			if _, err := time.LoadLocation(likely); err == nil {
				return likely
			}
		}
	}
	return ""
}

// parseZoneOffset reads an offset id, with or without a prefix "GMT" or "UTC".
func parseZoneOffset(name string) (int64, bool) {
	digits, prefixed := strings.CutPrefix(name, "GMT")
	if !prefixed {
		digits, prefixed = strings.CutPrefix(name, "UTC")
	}
	if len(digits) < 2 || digits[0] != '+' && digits[0] != '-' {
		return 0, false
	}
	if prefixed && len(digits) == 2 && isDigit(digits[1]) {
		digits = digits[:1] + "0" + digits[1:] // GMT+2
	}
	offset, end := scanOffset(digits, 0)
	return offset, end == len(digits)
}

// FixedZone returns the zone of a fixed offset, named as "+05:30".
func FixedZone(offset int64) *Zone {
	if offset == 0 {
		return UTC
	}
	return &Zone{name: string(appendOffset(nil, offset)), offset: offset}
}

// Name returns the id that was asked for in its canonical form: "UTC", "Europe/Berlin", "+05:30".
func (z *Zone) Name() string {
	if z == nil {
		return UTC.name
	}
	return z.name
}

// String returns Name.
func (z *Zone) String() string { return z.Name() }

// Equal reports whether both are the same zone.
func (z *Zone) Equal(o *Zone) bool { return z == o || z.Name() == o.Name() }

// IsUTC reports whether the zone never has an offset by definition.
func (z *Zone) IsUTC() bool { return z == nil || z.loc == nil && z.offset == 0 }

// Fixed returns the offset of a zone that has only one.
func (z *Zone) Fixed() (offset int64, ok bool) {
	if z == nil {
		return 0, true
	}
	return z.offset, z.loc == nil
}

// OffsetAt returns the offset in effect at an instant.
func (z *Zone) OffsetAt(ms int64) int64 {
	if z == nil || z.loc == nil {
		offset, _ := z.Fixed()
		return offset
	}
	_, _, offset := z.SpanAt(ms)
	return offset
}

// SpanAt returns the offset in effect at an instant and the half-open range [start, end) of
// instants around it that have the same. The ends of time are math.MinInt64 and math.MaxInt64.
func (z *Zone) SpanAt(ms int64) (start, end, offset int64) {
	if z == nil || z.loc == nil {
		offset, _ = z.Fixed()
		return math.MinInt64, math.MaxInt64, offset
	}
	z.once.Do(z.build)
	if ms >= tableEnd {
		return z.lookup(ms)
	}
	lo, hi := 0, len(z.spans)
	for hi-lo > 1 {
		mid := int(uint(lo+hi) >> 1)
		if z.spans[mid].start <= ms {
			lo = mid
		} else {
			hi = mid
		}
	}
	span := z.spans[lo]
	if lo+1 < len(z.spans) {
		return span.start, z.spans[lo+1].start, span.offset
	}
	_, end, _ = z.lookup(max(ms, tableEnd-1))
	return span.start, end, span.offset
}

// build fills the table of spans.
func (z *Zone) build() {
	at := int64(math.MinInt64)
	for at < tableEnd {
		_, end, offset := z.lookup(at)
		if n := len(z.spans); n == 0 || z.spans[n-1].offset != offset {
			z.spans = append(z.spans, offsetSpan{start: at, offset: offset})
		}
		if end == math.MaxInt64 {
			break
		}
		at = end
	}
}

// lookup asks the rules of the zone. Neighbouring ranges may have the same offset under different
// names.
func (z *Zone) lookup(ms int64) (start, end, offset int64) {
	t := time.UnixMilli(ms).In(z.loc)
	_, seconds := t.Zone()
	start, end = math.MinInt64, math.MaxInt64
	from, to := t.ZoneBounds()
	if !from.IsZero() {
		start = from.UnixMilli()
	}
	if !to.IsZero() {
		end = to.UnixMilli()
	}
	if end <= ms {
		// Package time takes every year of a recurring rule for 365 days, so on December 31 of a leap
		// year the range has ended already.
		end = satAdd(ms, Hour)
	}
	return start, end, int64(seconds) * Second
}

// ToLocal returns the local time at an instant, as the milliseconds from 1970-01-01T00:00 local.
func (z *Zone) ToLocal(ms int64) int64 { return satAdd(ms, z.OffsetAt(ms)) }

// ToUTC returns the instant of a local time, and whether the zone has that local time at all. Of
// two instants it is the earlier; a local time inside a gap moves forward by the length of the gap.
func (z *Zone) ToUTC(local int64) (ms int64, exists bool) {
	if offset, ok := z.Fixed(); ok {
		return satSub(local, offset), true
	}
	ms, gap := z.resolve(local)
	return ms, gap == noGap
}

// firstAt returns the first instant whose local time is local or later: for a local time inside a
// gap, the end of the gap.
func (z *Zone) firstAt(local int64) int64 {
	if offset, ok := z.Fixed(); ok {
		return satSub(local, offset)
	}
	ms, gap := z.resolve(local)
	if gap != noGap {
		return gap
	}
	return ms
}

const noGap int64 = math.MinInt64

// resolve finds the instant of a local time; gap is the transition that skips it, or noGap.
func (z *Zone) resolve(local int64) (ms, gap int64) {
	// No offset is as large as 26 hours, so the instant is in this span or in one that follows.
	_, end, offset := z.SpanAt(satSub(local, 26*Hour))
	for {
		ms = satSub(local, offset)
		if ms < end || end == math.MaxInt64 {
			return ms, noGap
		}
		start, nextEnd, nextOffset := z.SpanAt(end)
		if satSub(local, nextOffset) < start {
			return ms, start
		}
		end, offset = nextEnd, nextOffset
	}
}

// abbreviation returns the short name in effect at an instant, such as "CET".
func (z *Zone) abbreviation(ms int64) string {
	if z == nil || z.loc == nil {
		return z.Name()
	}
	name, _ := time.UnixMilli(ms).In(z.loc).Zone()
	return name
}

// OffsetCursor finds offsets for instants that mostly come in order: a comparison each, and a
// search only where the offset changes. The zero value is a cursor of UTC. It is for one goroutine.
type OffsetCursor struct {
	zone               *Zone
	start, end, offset int64
}

// Offsets returns a cursor over z.
func (z *Zone) Offsets() OffsetCursor { return OffsetCursor{zone: z} }

// At returns the offset in effect at ms.
func (c *OffsetCursor) At(ms int64) int64 {
	if ms < c.start || ms >= c.end {
		c.start, c.end, c.offset = c.zone.SpanAt(ms)
	}
	return c.offset
}
