package chrono

import (
	"cmp"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Interval is the half-open range of instants [Start, End), Start <= End.
type Interval struct {
	Start, End int64
}

// Eternity contains every instant that data may have.
var Eternity = Interval{Start: MinInstant, End: MaxInstant}

// ParseInterval reads "start/end", "start/period" or "period/end". Instants without an offset are
// UTC and periods are added there. The error is an InvalidInput fault that names the text.
func ParseInterval(s string) (Interval, error) {
	first, second, found := strings.Cut(s, "/")
	if !found {
		return Interval{}, fault.InvalidInput("Invalid interval [%s]: expected start and end with [/] between them", shorten(s))
	}
	firstIsPeriod, secondIsPeriod := isPeriod(first), isPeriod(second)
	var iv Interval
	var ok [2]bool
	switch {
	case firstIsPeriod && secondIsPeriod:
		return Interval{}, fault.InvalidInput("Invalid interval [%s]: it has two periods and no instant", shorten(s))
	case firstIsPeriod:
		p, err := ParsePeriod(first)
		iv.End, ok[1] = ParseISO(second)
		ok[0] = err == nil
		iv.Start = p.Add(iv.End, UTC, -1)
	case secondIsPeriod:
		p, err := ParsePeriod(second)
		iv.Start, ok[0] = ParseISO(first)
		ok[1] = err == nil
		iv.End = p.Add(iv.Start, UTC, 1)
	default:
		iv.Start, ok[0] = ParseISO(first)
		iv.End, ok[1] = ParseISO(second)
	}
	for i, part := range [...]string{first, second} {
		if !ok[i] {
			return Interval{}, fault.InvalidInput("Invalid interval [%s]: [%s] is neither an ISO 8601 instant nor a period",
				shorten(s), shorten(part))
		}
	}
	if iv.End < iv.Start {
		return Interval{}, fault.InvalidInput("Invalid interval [%s]: it ends before it starts", shorten(s))
	}
	return iv, nil
}

func isPeriod(s string) bool { return s != "" && (s[0] == 'P' || s[0] == 'p') }

// ParseIntervals reads a comma-separated list, and "all" or "ALL" as Eternity.
func ParseIntervals(s string) ([]Interval, error) {
	if strings.EqualFold(s, "all") {
		return []Interval{Eternity}, nil
	}
	var list []Interval
	for part := range strings.SplitSeq(s, ",") {
		iv, err := ParseInterval(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = append(list, iv)
	}
	return list, nil
}

// String returns "2015-09-12T00:00:00.000Z/2015-09-13T00:00:00.000Z".
func (iv Interval) String() string { return string(iv.Append(nil)) }

// Append appends the text of String to dst.
func (iv Interval) Append(dst []byte) []byte {
	dst = AppendMillis(dst, iv.Start, UTC)
	dst = append(dst, '/')
	return AppendMillis(dst, iv.End, UTC)
}

// MarshalText writes the text of String; in JSON an interval is a string.
func (iv Interval) MarshalText() ([]byte, error) { return iv.Append(nil), nil }

// UnmarshalText is ParseInterval.
func (iv *Interval) UnmarshalText(text []byte) error {
	parsed, err := ParseInterval(string(text))
	if err != nil {
		return err
	}
	*iv = parsed
	return nil
}

// IsEmpty reports whether it contains no instant.
func (iv Interval) IsEmpty() bool { return iv.End <= iv.Start }

// Millis is the length, saturating.
func (iv Interval) Millis() int64 { return satSub(iv.End, iv.Start) }

// ContainsInstant reports whether ms is inside.
func (iv Interval) ContainsInstant(ms int64) bool { return iv.Start <= ms && ms < iv.End }

// Contains reports whether all of o is inside.
func (iv Interval) Contains(o Interval) bool { return iv.Start <= o.Start && o.End <= iv.End }

// Overlaps reports whether some instant is in both.
func (iv Interval) Overlaps(o Interval) bool {
	return iv.Start < o.End && o.Start < iv.End && !iv.IsEmpty() && !o.IsEmpty()
}

// Abuts reports whether one starts where the other ends.
func (iv Interval) Abuts(o Interval) bool { return iv.End == o.Start || o.End == iv.Start }

// Intersect returns what is in both, and false if there is nothing.
func (iv Interval) Intersect(o Interval) (Interval, bool) {
	if !iv.Overlaps(o) {
		return Interval{}, false
	}
	return Interval{Start: max(iv.Start, o.Start), End: min(iv.End, o.End)}, true
}

// Span returns the smallest interval that contains both.
func (iv Interval) Span(o Interval) Interval {
	return Interval{Start: min(iv.Start, o.Start), End: max(iv.End, o.End)}
}

// Compare orders by start, then end.
func (iv Interval) Compare(o Interval) int {
	return cmp.Or(cmp.Compare(iv.Start, o.Start), cmp.Compare(iv.End, o.End))
}
