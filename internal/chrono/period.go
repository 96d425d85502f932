package chrono

import (
	"math"
	"strconv"

	"github.com/hengedb/henge/internal/fault"
)

// Period is a calendar amount of time: how long it is depends on where it is added. Fields may be
// negative. Two periods with different fields are different, even where they are always equally
// long (PT60M and PT1H). The zero value is PT0S.
type Period struct {
	Years, Months, Weeks, Days, Hours, Minutes, Seconds, Millis int32
}

// ParsePeriod reads an ISO 8601 period, such as P1Y2M3W4DT5H6M7.089S: letters in this order and in
// either case, each number with an optional sign, a fraction of seconds after "." or ",", cut off
// to milliseconds. The error is an InvalidInput fault that names the text.
func ParsePeriod(s string) (Period, error) {
	p, ok := parsePeriod(s)
	if !ok {
		return Period{}, fault.InvalidInput("Invalid period [%s]: expected an ISO 8601 period such as P1D or PT1H", shorten(s))
	}
	return p, nil
}

// fields are the letters of a period in their order; the first four come before the "T".
const periodLetters = "YMWDHMS"

func (p *Period) field(i int) *int32 {
	return [...]*int32{&p.Years, &p.Months, &p.Weeks, &p.Days, &p.Hours, &p.Minutes, &p.Seconds, &p.Millis}[i]
}

func parsePeriod(s string) (p Period, ok bool) {
	if len(s) < 3 || s[0]|0x20 != 'p' {
		return p, false
	}
	next := 0 // the first field that may still come
	for i := 1; i < len(s); {
		if s[i]|0x20 == 't' {
			if next >= 4 || i+1 == len(s) {
				return p, false
			}
			next = 4
			i++
			continue
		}
		negative := s[i] == '-'
		if negative || s[i] == '+' {
			i++
		}
		v, end := scanNumber(s, i, 11)
		if negative {
			v = -v
		}
		if end == i || end == len(s) || v != int64(int32(v)) {
			return p, false
		}
		var millis int64
		fraction := s[end] == '.' || s[end] == ','
		if fraction {
			millis, end = scanFraction(s, end+1, Second)
			if negative {
				millis = -millis
			}
		}
		if end == len(s) {
			return p, false
		}
		limit := 4
		if next >= 4 {
			limit = len(periodLetters)
		}
		for next < limit && periodLetters[next]|0x20 != s[end]|0x20 {
			next++
		}
		if next == limit || fraction && next != 6 {
			return p, false
		}
		*p.field(next) = int32(v)
		if fraction {
			p.Millis = int32(millis)
		}
		next++
		if next == 4 {
			next = 3
			if end+1 < len(s) && s[end+1]|0x20 != 't' {
				return p, false
			}
		}
		i = end + 1
	}
	return p, true
}

// String returns the canonical text: fields that are zero are left out, and all zero is "PT0S".
func (p Period) String() string {
	if p == (Period{}) {
		return "PT0S"
	}
	dst := []byte{'P'}
	for i := range len(periodLetters) {
		if i == 4 && (p.Hours != 0 || p.Minutes != 0 || p.Seconds != 0 || p.Millis != 0) {
			dst = append(dst, 'T')
		}
		if i == 6 {
			break
		}
		if v := *p.field(i); v != 0 {
			dst = append(strconv.AppendInt(dst, int64(v), 10), periodLetters[i])
		}
	}
	if millis := int64(p.Seconds)*Second + int64(p.Millis); millis != 0 {
		if millis < 0 {
			dst = append(dst, '-')
			millis = -millis
		}
		dst = strconv.AppendInt(dst, millis/Second, 10)
		if millis%Second != 0 {
			dst = append(dst, '.')
			dst = appendPadded(dst, millis%Second, 3)
		}
		dst = append(dst, 'S')
	}
	return string(dst)
}

// MarshalText writes the text of String; in JSON a period is a string.
func (p Period) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParsePeriod.
func (p *Period) UnmarshalText(text []byte) error {
	parsed, err := ParsePeriod(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// IsZero reports whether every field is zero.
func (p Period) IsZero() bool { return p == Period{} }

// timeMillis is the length of the fields from hours down.
func (p Period) timeMillis() int64 {
	return int64(p.Hours)*Hour + int64(p.Minutes)*Minute + int64(p.Seconds)*Second + int64(p.Millis)
}

// hasDate reports whether fields from days up are in use.
func (p Period) hasDate() bool { return p.Years != 0 || p.Months != 0 || p.Weeks != 0 || p.Days != 0 }

// StandardMillis returns the length with days of 24 hours, and false if there are months or years,
// which have no length of their own.
func (p Period) StandardMillis() (int64, bool) {
	if p.Years != 0 || p.Months != 0 {
		return 0, false
	}
	return int64(p.Weeks)*Week + int64(p.Days)*Day + p.timeMillis(), true
}

// Add returns ms plus n times the period in a zone. The fields are added one after the other, the
// largest first: years, months, weeks and days move the local time, the rest is exact. The result
// saturates, for good: what has come to the end of time stays there, whatever fields follow, so
// that those who walk from boundary to boundary arrive.
func (p Period) Add(ms int64, zone *Zone, n int64) int64 {
	for _, months := range [...]int64{satMul(12, int64(p.Years)), int64(p.Months)} {
		if months != 0 {
			if ms = zone.addMonths(ms, satMul(months, n)); atEnd(ms) {
				return ms
			}
		}
	}
	for _, days := range [...]int64{satMul(7, int64(p.Weeks)), int64(p.Days)} {
		if days != 0 {
			if ms = zone.addDays(ms, satMul(days, n)); atEnd(ms) {
				return ms
			}
		}
	}
	return satAdd(ms, satMul(p.timeMillis(), n))
}

// atEnd reports whether an instant or local time is where time begins or ends.
func atEnd(ms int64) bool { return ms == math.MaxInt64 || ms == math.MinInt64 }

func (z *Zone) addMonths(ms, months int64) int64 {
	return z.shift(ms, addMonthsLocal(z.ToLocal(ms), months), months)
}

func (z *Zone) addDays(ms, days int64) int64 {
	day, rest := split(z.ToLocal(ms))
	return z.shift(ms, join(satAdd(day, days), rest), days)
}

// shift returns the instant of a local time that ms was moved to, by some amount.
func (z *Zone) shift(ms, local, amount int64) int64 {
	if amount == 0 {
		return ms
	}
	if atEnd(local) {
		return local
	}
	to, _ := z.ToUTC(local)
	return to
}
