package scheduled

import (
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

// The types of cron expressions.
const (
	Unix   = "unix"
	Quartz = "quartz"
)

// Schedule is the set of times of a cron expression, in UTC.
type Schedule struct {
	seconds, minutes, hours, days, months, weekdays uint64
	years                                           map[int]bool // nil: all
	// anyDay and anyWeekday say that a day of the month, or a weekday, was left open.
	anyDay, anyWeekday bool
	// lastDay is the last day of the month; nth is the number of a weekday in its month, 0: each, 6:
	// the last.
	lastDay bool
	nth     int
}

var (
	monthNames   = []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	weekdayNames = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
	macros       = map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *",
		"@midnight": "0 0 * * *", "@hourly": "0 * * * *",
	}
)

// ParseSchedule parses a cron expression: five fields as in Unix cron, or six or seven fields as in
// Quartz, with seconds, and weekdays that start at 1.
func ParseSchedule(kind, text string) (*Schedule, error) {
	given := strings.TrimSpace(text)
	if kind == Unix && macros[strings.ToLower(given)] != "" {
		given = macros[strings.ToLower(given)]
	}
	fields := strings.Fields(given)
	s := &Schedule{seconds: 1}
	switch {
	case kind == Unix && len(fields) == 5:
	case kind == Quartz && (len(fields) == 6 || len(fields) == 7):
		var err error
		if s.seconds, _, err = field(fields[0], 0, 59, nil, 0); err != nil {
			return nil, refused(text, "second", fields[0])
		}
		if len(fields) == 7 {
			if err := s.parseYears(fields[6]); err != nil {
				return nil, refused(text, "year", fields[6])
			}
		}
		fields = fields[1:6]
	case kind != Unix && kind != Quartz:
		return nil, fault.InvalidInput("Type [%s] of [schedulerConfig] is unknown; known are [%s, %s]", kind, Quartz, Unix)
	default:
		return nil, fault.InvalidInput("Schedule [%s] of type [%s] has [%d] fields; it has 5 of type unix, and 6 or 7 of type quartz", text, kind,
			len(fields))
	}
	var err error
	if s.minutes, _, err = field(fields[0], 0, 59, nil, 0); err != nil {
		return nil, refused(text, "minute", fields[0])
	}
	if s.hours, _, err = field(fields[1], 0, 23, nil, 0); err != nil {
		return nil, refused(text, "hour", fields[1])
	}
	if s.months, _, err = field(fields[3], 1, 12, monthNames, 1); err != nil {
		return nil, refused(text, "month", fields[3])
	}
	if err := s.parseDay(fields[2]); err != nil {
		return nil, refused(text, "day of the month", fields[2])
	}
	if err := s.parseWeekday(kind, fields[4]); err != nil {
		return nil, refused(text, "weekday", fields[4])
	}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return nil, fault.InvalidInput("Schedule [%s] means no time", text)
	}
	return s, nil
}

func refused(text, what, part string) error {
	return fault.InvalidInput("Schedule [%s] has no %s in [%s]", text, what, part)
}

func (s *Schedule) parseDay(text string) (err error) {
	if strings.EqualFold(text, "L") {
		s.lastDay = true
		return nil
	}
	s.days, s.anyDay, err = field(text, 1, 31, nil, 0)
	return err
}

func (s *Schedule) parseWeekday(kind, text string) (err error) {
	if day, nth, ok := strings.Cut(text, "#"); ok {
		if s.nth, err = strconv.Atoi(nth); err != nil || s.nth < 1 || s.nth > 5 {
			return fault.InvalidInput("no number")
		}
		text = day
	} else if day, ok := strings.CutSuffix(strings.ToUpper(text), "L"); ok && day != "" {
		s.nth, text = lastOfMonth, day
	}
	low, high, first := 0, 7, 0
	if kind == Quartz {
		low, high, first = 1, 7, 1
	}
	set, anyDay, err := field(text, low, high, weekdayNames, first)
	if err != nil {
		return err
	}
	s.anyWeekday = anyDay
	if kind == Quartz {
		set >>= 1
	}
	s.weekdays = (set | set>>7) & 127 // Sunday may be 7
	return nil
}

// lastOfMonth is the nth that means the last weekday of its month.
const lastOfMonth = 6

func (s *Schedule) parseYears(text string) error {
	if text == "*" || text == "?" {
		return nil
	}
	s.years = map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		span, step, hasStep := strings.Cut(part, "/")
		every := 1
		if hasStep {
			n, err := strconv.Atoi(step)
			if err != nil || n < 1 {
				return fault.InvalidInput("no step")
			}
			every = n
		}
		from, to, isRange := strings.Cut(span, "-")
		first, err := strconv.Atoi(from)
		if span == "*" {
			first, err = firstYear, nil
		}
		last := first
		if isRange && err == nil {
			last, err = strconv.Atoi(to)
		} else if hasStep {
			last = lastYear
		}
		if err != nil || first < firstYear || last > lastYear || first > last {
			return fault.InvalidInput("no year")
		}
		for y := first; y <= last; y += every {
			s.years[y] = true
		}
	}
	return nil
}

const (
	firstYear = 1970
	lastYear  = 2199
)

// field reads one field: numbers, names, ranges and steps. open says that it takes all there are.
func field(text string, low, high int, names []string, first int) (set uint64, open bool, err error) {
	for part := range strings.SplitSeq(text, ",") {
		span, step, hasStep := strings.Cut(part, "/")
		every := 1
		if hasStep {
			if every, err = strconv.Atoi(step); err != nil || every < 1 {
				return 0, false, fault.InvalidInput("no step")
			}
		}
		from, to := low, high
		switch span {
		case "*", "?":
			open = open || !hasStep
		default:
			a, b, isRange := strings.Cut(span, "-")
			if from, err = value(a, names, first); err != nil {
				return 0, false, err
			}
			switch {
			case isRange:
				if to, err = value(b, names, first); err != nil {
					return 0, false, err
				}
			case !hasStep:
				to = from
			}
		}
		if from < low || to > high || from > to {
			return 0, false, fault.InvalidInput("out of range")
		}
		for n := from; n <= to; n += every {
			set |= 1 << n
		}
	}
	return set, open, nil
}

func value(text string, names []string, first int) (int, error) {
	for i, name := range names {
		if strings.EqualFold(name, text) {
			return i + first, nil
		}
	}
	return strconv.Atoi(text)
}

// Next returns the first time of the schedule after a time; zero: there is none.
func (s *Schedule) Next(after time.Time) time.Time {
	at := after.UTC().Truncate(time.Second).Add(time.Second)
	day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	clock := at.Sub(day)
	for day.Year() <= lastYear {
		if s.months>>int(day.Month())&1 == 0 {
			day, clock = time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC), 0
			continue
		}
		if s.onDay(day) {
			if t, ok := s.inDay(clock); ok {
				return day.Add(t)
			}
		}
		day, clock = day.AddDate(0, 0, 1), 0
	}
	return time.Time{}
}

// onDay reports whether a day is meant. Where both a day of the month and a weekday are given one
// of them is enough, as cron has it.
func (s *Schedule) onDay(day time.Time) bool {
	if s.years != nil && !s.years[day.Year()] {
		return false
	}
	last := day.AddDate(0, 0, 1).Month() != day.Month()
	ofMonth := s.days>>day.Day()&1 == 1 || s.lastDay && last
	ofWeek := s.weekdays>>int(day.Weekday())&1 == 1
	switch {
	case s.nth == lastOfMonth:
		ofWeek = ofWeek && day.AddDate(0, 0, 7).Month() != day.Month()
	case s.nth > 0:
		ofWeek = ofWeek && (day.Day()-1)/7+1 == s.nth
	}
	switch {
	case s.anyDay:
		return ofWeek
	case s.anyWeekday:
		return ofMonth
	}
	return ofMonth || ofWeek
}

// inDay returns the first time of a day at or after another.
func (s *Schedule) inDay(from time.Duration) (time.Duration, bool) {
	h, m, sec := int(from/time.Hour), int(from/time.Minute)%60, int(from/time.Second)%60
	for hour := next(s.hours, h); hour < 24; hour = next(s.hours, hour+1) {
		if hour > h {
			m, sec = 0, 0
		}
		for minute := next(s.minutes, m); minute < 60; minute = next(s.minutes, minute+1) {
			if hour > h || minute > m {
				sec = 0
			}
			if second := next(s.seconds, sec); second < 60 {
				return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second, true
			}
			sec = 0
		}
		m, sec = 0, 0
	}
	return 0, false
}

// next returns the first member of a set at or after a number; 64: there is none.
func next(set uint64, from int) int {
	if from > 63 {
		return 64
	}
	return min(64, from+bits.TrailingZeros64(set>>from))
}
