package pgtype

import (
	"fmt"
	"strings"
	"time"
)

type (
	// Numeric is a decimal number, as text.
	Numeric string
	// Timestamp is microseconds since 1970 in UTC, or of a clock without a zone.
	Timestamp int64
	// Date is the number of days since 1970.
	Date int64
	// Interval is an interval.
	Interval struct {
		Months, Days int32
		Micros       int64
	}
	// Array is an array. Lower is the index of its first item. If the items are arrays, the array is
	// multidimensional.
	Array struct {
		Elem  OID
		Items []any
		Lower int
	}
	// Record is a row.
	Record struct {
		Names []string
		Types []OID
		Items []any
	}
)

// NewArray returns an array whose indexes start at 1.
func NewArray(elem OID, items ...any) *Array { return &Array{Elem: elem, Items: items, Lower: 1} }

// Strings returns an array of strings.
func Strings(elem OID, list []string) *Array {
	a := &Array{Elem: elem, Lower: 1, Items: make([]any, len(list))}
	for i, s := range list {
		a.Items[i] = s
	}
	return a
}

// The infinite times.
const (
	PositiveInfinity Timestamp = 1<<63 - 1
	NegativeInfinity Timestamp = -1 << 63
)

// ValueError is the error of a value that can't be parsed. Code is the SQLSTATE.
type ValueError struct{ Message, Code string }

func (e *ValueError) Error() string { return e.Message }

func invalid(t OID, text string) error {
	return &ValueError{fmt.Sprintf("invalid input syntax for type %s: %q", t.Name(), text), "22P02"}
}

func outOfRange(t OID, text string) error {
	return &ValueError{fmt.Sprintf("value %q is out of range for type %s", text, t.Name()), "22003"}
}

func (v Interval) String() string {
	var parts []string
	add := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if n != 1 && n != -1 {
			unit += "s"
		} else if n == -1 {
			unit += "s"
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, unit))
	}
	add(int64(v.Months/12), "year")
	add(int64(v.Months%12), "mon")
	add(int64(v.Days), "day")
	if v.Micros != 0 || len(parts) == 0 {
		sign, m := "", v.Micros
		if m < 0 {
			sign, m = "-", -m
		}
		text := fmt.Sprintf("%s%02d:%02d:%02d", sign, m/3_600_000_000, m/60_000_000%60, m/1_000_000%60)
		if f := m % 1_000_000; f != 0 {
			text += strings.TrimRight(fmt.Sprintf(".%06d", f), "0")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// Add returns t plus v, or minus v if sign is negative.
func (v Interval) Add(t time.Time, sign int) time.Time {
	months := int(v.Months) * sign
	if months != 0 {
		day := t.Day()
		t = t.AddDate(0, months, 1-day)
		last := t.AddDate(0, 1, -t.Day()).Day()
		t = t.AddDate(0, 0, min(day, last)-1)
	}
	return t.AddDate(0, 0, int(v.Days)*sign).Add(time.Duration(v.Micros) * time.Microsecond * time.Duration(sign))
}

// Time returns the timestamp as a time.Time.
func (t Timestamp) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }
