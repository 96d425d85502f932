package chrono

import (
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// FormatMillis returns the ISO 8601 text of an instant in a zone, as results show it:
// "2015-09-12T00:46:58.771Z", with "+05:30" in place of "Z" where the offset is not zero. Years
// beyond 0..9999 have as many digits as they need, and a sign if negative.
func FormatMillis(ms int64, zone *Zone) string {
	var buf [40]byte
	return string(AppendMillis(buf[:0], ms, zone))
}

// AppendMillis appends the text of FormatMillis to dst.
func AppendMillis(dst []byte, ms int64, zone *Zone) []byte {
	offset := zone.OffsetAt(ms)
	return AppendMillisOffset(dst, ms, offset, zone.IsUTC())
}

// AppendMillisOffset is AppendMillis for callers that know the offset already, from an
// OffsetCursor.
func AppendMillisOffset(dst []byte, ms, offset int64, utc bool) []byte {
	days, rest := split(satAdd(ms, offset))
	dst = appendDate(dst, days)
	dst = append(dst, 'T')
	dst = appendClock(dst, rest)
	dst = append(dst, '.')
	dst = appendPadded(dst, rest%Second, 3)
	if utc || offset == 0 {
		return append(dst, 'Z')
	}
	return appendOffset(dst, offset)
}

// AppendSQLTimestamp appends "2000-02-03 04:05:06", the text of a TIMESTAMP cast to VARCHAR: local
// time, without milliseconds.
func AppendSQLTimestamp(dst []byte, ms int64, zone *Zone) []byte {
	days, rest := split(zone.ToLocal(ms))
	dst = appendDate(dst, days)
	dst = append(dst, ' ')
	return appendClock(dst, rest)
}

// AppendSQLDate appends "2000-02-03", the text of a DATE cast to VARCHAR.
func AppendSQLDate(dst []byte, ms int64, zone *Zone) []byte {
	days, _ := split(zone.ToLocal(ms))
	return appendDate(dst, days)
}

func appendDate(dst []byte, days int64) []byte {
	year, month, day := civilFromDays(days)
	dst = appendYear(dst, year, 4)
	return append(dst, '-', '0'+byte(month/10), '0'+byte(month%10), '-', '0'+byte(day/10), '0'+byte(day%10))
}

func appendClock(dst []byte, millisOfDay int64) []byte {
	s := int(millisOfDay / Second)
	h, m := s/3600, s/60%60
	s %= 60
	return append(dst, '0'+byte(h/10), '0'+byte(h%10), ':', '0'+byte(m/10), '0'+byte(m%10), ':', '0'+byte(s/10), '0'+byte(s%10))
}

// appendYear writes a year with at least width digits, and a minus before them if it is negative.
func appendYear(dst []byte, year int64, width int) []byte {
	if year < 0 {
		dst = append(dst, '-')
		year = -year
	}
	return appendPadded(dst, year, width)
}

// appendPadded writes n >= 0 with leading zeros.
func appendPadded(dst []byte, n int64, width int) []byte {
	var buf [20]byte
	digits := strconv.AppendInt(buf[:0], n, 10)
	for i := len(digits); i < width; i++ {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// appendOffset writes "+05:30", with seconds where an offset of former times has some.
func appendOffset(dst []byte, offset int64) []byte {
	return appendOffsetFields(dst, offset, true, 2, 4)
}

// appendOffsetFields writes sign and hours, then minutes, seconds and milliseconds: minFields of
// the four, more up to maxFields while there is something left to say.
func appendOffsetFields(dst []byte, offset int64, colons bool, minFields, maxFields int) []byte {
	if offset < 0 {
		dst = append(dst, '-')
		offset = -offset
	} else {
		dst = append(dst, '+')
	}
	dst = appendPadded(dst, offset/Hour, 2)
	for i, unit := range [...]int64{Minute, Second, 1} {
		rest := offset % (unit * [...]int64{60, 60, 1000}[i])
		if i+2 > maxFields || i+2 > minFields && rest == 0 {
			break
		}
		width := 2
		if unit == 1 {
			width = 3
		}
		if colons {
			dst = append(dst, [...]byte{':', ':', '.'}[i])
		}
		dst = appendPadded(dst, rest/unit, width)
	}
	return dst
}

// ParseTimestamp reads a timestamp as SQL does without a pattern (CAST, TIME_PARSE):
// yyyy[-MM[-dd]], xxxx-'W'ww[-e] or yyyy-DDD, then optionally "T" or a blank, optionally a time
// HH[:mm[:ss]] whose last part may have a fraction of up to nine digits, and optionally an offset.
// Without an offset the text is local to zone. Numbers may have fewer digits than their letters. It
// returns false for any other text, and for a local time that the zone skips.
func ParseTimestamp(s string, zone *Zone) (ms int64, ok bool) {
	if ms, ok := parseCanonical(s); ok {
		return ms, true
	}
	return parseISO(s, zone, true)
}

// ParseISO reads an ISO 8601 instant as JSON members and URLs have it: as ParseTimestamp, but with
// "T" and not a blank before the time. Without an offset it is UTC.
func ParseISO(s string) (ms int64, ok bool) {
	if ms, ok := parseCanonical(s); ok {
		return ms, true
	}
	return parseISO(s, UTC, false)
}

// ParseInstant is ParseISO with an InvalidInput fault that shows the text.
func ParseInstant(s string) (int64, error) {
	ms, ok := ParseISO(s)
	if !ok {
		return 0, fault.InvalidInput("Invalid timestamp [%s]: expected ISO 8601 such as 2015-09-12T00:00:00.000Z", shorten(s))
	}
	return ms, nil
}

// ParseTimestampLiteral reads the text of TIMESTAMP '2000-01-01 00:00:00[.SSS]' in the zone: years
// 0 to 9999, fractions beyond milliseconds cut off, leading zeros optional. The error is an
// InvalidInput fault; the caller adds the place.
func ParseTimestampLiteral(s string, zone *Zone) (int64, error) {
	local, rest, ok := scanLiteralDate(s)
	var clock [3]int64
	if ok = ok && strings.HasPrefix(rest, " "); ok {
		rest, ok = scanNumbers(rest[1:], ":", 2, clock[:])
	}
	ok = ok && clock[0] < 24 && clock[1] < 60 && clock[2] < 60
	local += clock[0]*Hour + clock[1]*Minute + clock[2]*Second
	if ok && rest != "" {
		fraction, end := scanFraction(rest, 1, Second)
		ok = rest[0] == '.' && end > 1 && end == len(rest)
		local += fraction
	}
	if !ok {
		return 0, fault.InvalidInput("Illegal TIMESTAMP literal '%s': not in format 'yyyy-MM-dd HH:mm:ss'", shorten(s))
	}
	ms, _ := zone.ToUTC(local)
	return ms, nil
}

// ParseDateLiteral reads the text of DATE '2000-01-01' as the first instant of that day in the
// zone. Leading zeros are optional.
func ParseDateLiteral(s string, zone *Zone) (int64, error) {
	local, rest, ok := scanLiteralDate(s)
	if !ok || rest != "" {
		return 0, fault.InvalidInput("Illegal DATE literal '%s': not in format 'yyyy-MM-dd'", shorten(s))
	}
	return zone.firstAt(local), nil
}

// scanLiteralDate reads year, month and day of a literal at the start of s and returns what
// follows.
func scanLiteralDate(s string) (local int64, rest string, ok bool) {
	var date [3]int64
	if rest, ok = scanNumbers(s, "-", 4, date[:]); !ok {
		return 0, "", false
	}
	year, month, day := date[0], int(date[1]), int(date[2])
	if month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month) {
		return 0, "", false
	}
	return daysFromCivil(year, month, day) * Day, rest, true
}

// scanNumbers reads len(out) numbers with a separator between them at the start of s, the first of
// at most width digits, the others of at most two, and returns what follows.
func scanNumbers(s, separator string, width int, out []int64) (rest string, ok bool) {
	for i := range out {
		if i > 0 {
			if s, ok = strings.CutPrefix(s, separator); !ok {
				return "", false
			}
			width = 2
		}
		n := 0
		for n < len(s) && n < width && isDigit(s[n]) {
			out[i] = out[i]*10 + int64(s[n]-'0')
			n++
		}
		if n == 0 {
			return "", false
		}
		s = s[n:]
	}
	return s, true
}

// literalDate reads yyyy-MM-dd at the start of s.
func literalDate(s string) (local int64, ok bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	year, month, day := digits(s, 0, 4), digits(s, 5, 2), digits(s, 8, 2)
	if year < 0 || month < 1 || month > 12 || day < 1 || day > daysInMonth(int64(year), month) {
		return 0, false
	}
	return daysFromCivil(int64(year), month, day) * Day, true
}

// shorten keeps a value that someone sent from filling a message.
func shorten(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// digits reads exactly n digits at i, or returns -1.
func digits(s string, i, n int) int {
	if len(s)-i < n {
		return -1
	}
	v := 0
	for _, c := range []byte(s[i : i+n]) {
		if !isDigit(c) {
			return -1
		}
		v = v*10 + int(c-'0')
	}
	return v
}

// parseCanonical reads the text that FormatMillis writes for UTC and years of four digits, with or
// without milliseconds. It is the bulk of all input.
func parseCanonical(s string) (int64, bool) {
	if len(s) != 24 && len(s) != 20 || s[len(s)-1] != 'Z' || s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	local, ok := literalDate(s)
	h, m, sec, milli := digits(s, 11, 2), digits(s, 14, 2), digits(s, 17, 2), 0
	if len(s) == 24 {
		milli = digits(s, 20, 3)
		ok = ok && s[19] == '.'
	}
	if !ok || uint(h) > 23 || uint(m) > 59 || uint(sec) > 59 || milli < 0 {
		return 0, false
	}
	return local + int64(h)*Hour + int64(m)*Minute + int64(sec)*Second + int64(milli), true
}
