package chrono

import (
	"math"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// TimestampFormat reads the time column of ingested rows as the format of a timestampSpec says:
// iso, auto, millis, posix, micro, nano, ruby (seconds with a fraction), or a Pattern. It is
// immutable.
type TimestampFormat struct {
	name    string
	kind    timestampKind
	pattern *Pattern
}

type timestampKind uint8

const (
	timestampAuto timestampKind = iota
	timestampISO
	timestampMillis
	timestampPosix
	timestampMicro
	timestampNano
	timestampRuby
	timestampPattern
)

// ParseTimestampFormat returns the format of a name, in any case; the empty name is auto. Whatever
// is no name must be a pattern: the error is an InvalidInput fault.
func ParseTimestampFormat(name string) (*TimestampFormat, error) {
	f := &TimestampFormat{name: name}
	switch strings.ToLower(name) {
	case "", "auto":
		f.name = "auto"
	case "iso":
		f.kind = timestampISO
	case "millis":
		f.kind = timestampMillis
	case "posix":
		f.kind = timestampPosix
	case "micro":
		f.kind = timestampMicro
	case "nano":
		f.kind = timestampNano
	case "ruby":
		f.kind = timestampRuby
	default:
		p, err := CompilePattern(name)
		if err != nil {
			return nil, fault.InvalidInput("Unable to parse timestamps with format [%s]: expected one of "+
				"[auto, iso, millis, posix, micro, nano, ruby] or a pattern such as yyyy-MM-dd HH:mm:ss", shorten(name)).WithCause(err)
		}
		f.kind, f.pattern = timestampPattern, p
	}
	return f, nil
}

// String returns the name of the format.
func (f *TimestampFormat) String() string { return f.name }

// Parse reads a timestamp from text, with or without quotes around it. Text without a zone is UTC.
func (f *TimestampFormat) Parse(s string) (ms int64, ok bool) {
	switch f.kind {
	case timestampAuto:
		return parseAuto(s)
	case timestampISO:
		s = stripQuotes(s)
		if ms, ok := ParseISO(s); ok {
			return ms, true
		}
		n, err := strconv.ParseInt(s, 10, 64) // too many digits for a year: milliseconds, as a datasource that is read again has them
		return n, err == nil
	case timestampRuby:
		seconds, err := strconv.ParseFloat(stripQuotes(s), 64)
		if err != nil {
			return 0, false
		}
		return f.Float(seconds)
	case timestampPattern:
		return f.pattern.Parse(stripQuotes(s), UTC)
	default:
		n, err := strconv.ParseInt(stripQuotes(s), 10, 64)
		if err != nil {
			return 0, false
		}
		return f.Integer(n)
	}
}

// Integer reads a timestamp that came as an integer. For iso and patterns its digits are text.
func (f *TimestampFormat) Integer(n int64) (ms int64, ok bool) {
	switch f.kind {
	case timestampPosix, timestampRuby:
		ms = satMul(n, Second)
		return ms, ms/Second == n
	case timestampMicro:
		return n / 1000, true
	case timestampNano:
		return n / 1_000_000, true
	case timestampISO, timestampPattern:
		return f.Parse(strconv.FormatInt(n, 10))
	default:
		return n, true
	}
}

// Float reads a timestamp that came as a number with a fraction, which all formats but ruby cut
// off.
func (f *TimestampFormat) Float(v float64) (ms int64, ok bool) {
	if f.kind == timestampRuby {
		v *= float64(Second)
	}
	// The bounds are the powers of two outside which a conversion to int64 is undefined; NaN fails
	// both comparisons.
	if !(v >= math.MinInt64 && v < -math.MinInt64) {
		return 0, false
	}
	if f.kind == timestampRuby {
		return int64(v), true
	}
	return f.Integer(int64(v))
}

// parseAuto reads milliseconds if all are digits, else an ISO 8601 timestamp with "T" or a blank,
// which a blank and a zone may follow.
func parseAuto(s string) (int64, bool) {
	if s == "" {
		return 0, false
	}
	if allDigits(s) {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil
	}
	s = stripQuotes(s)
	if ms, ok := ParseTimestamp(s, UTC); ok {
		return ms, true
	}
	if i := strings.LastIndexByte(s, ' '); i > 2 {
		if zone, err := LoadZone(s[i+1:]); err == nil {
			return ParseTimestamp(s[:i], zone)
		}
	}
	return 0, false
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}

// stripQuotes takes blanks and one pair of double quotes off, with the blanks inside.
func stripQuotes(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	return s
}
