package chrono

import (
	"math"
	"strings"
)

// Parse reads the text of an instant, in the zone unless the text has a zone or offset of its own.
// It returns false if the whole text does not fit the pattern, a field is out of range, or the zone
// skips the local time.
//
// As in Joda-Time the fields are set one after the other, the largest first, on 1970-01-01T00:00
// (year 2000 if the largest is a month or a day), so a text may repeat itself or leave things out.
func (p *Pattern) Parse(s string, zone *Zone) (ms int64, ok bool) {
	b := parsedFields{zone: zone}
	i := 0
	for k := range p.elements {
		if i = p.elements[k].parse(s, i, &b); i < 0 {
			return 0, false
		}
	}
	if i != len(s) {
		return 0, false
	}
	return b.instant()
}

// fieldKind is a field of a local time, in the order in which fields are set.
type fieldKind uint8

const (
	fieldEra fieldKind = iota
	fieldCentury
	fieldYear
	fieldYearOfEra
	fieldWeekYear
	fieldMonth
	fieldWeek
	fieldDayOfYear
	fieldDayOfMonth
	fieldDayOfWeek
	fieldHalfDay
	fieldHour
	fieldClockHour
	fieldHalfHour
	fieldClockHalfHour
	fieldMinute
	fieldSecond
	fieldMilli
)

var letterFields = map[byte]fieldKind{'C': fieldCentury, 'y': fieldYear, 'Y': fieldYearOfEra, 'x': fieldWeekYear, 'w': fieldWeek,
	'e': fieldDayOfWeek, 'D': fieldDayOfYear, 'M': fieldMonth, 'd': fieldDayOfMonth, 'h': fieldClockHalfHour, 'K': fieldHalfHour,
	'H': fieldHour, 'k': fieldClockHour, 'm': fieldMinute, 's': fieldSecond}

// rank orders kinds as Joda-Time does: by the range of the field, then by its length; fields of one
// rank keep the order of the text.
func (k fieldKind) rank() int {
	switch k {
	case fieldYearOfEra, fieldWeekYear:
		return int(fieldYear)
	case fieldClockHour:
		return int(fieldHour)
	case fieldClockHalfHour:
		return int(fieldHalfHour)
	default:
		return int(k)
	}
}

type parsedField struct {
	kind  fieldKind
	value int64
}

// parsedFields collects what a text says.
type parsedFields struct {
	fields    [20]parsedField
	n         int
	zone      *Zone
	offset    int64
	hasOffset bool
}

func (b *parsedFields) save(kind fieldKind, value int64) {
	if b.n == len(b.fields) {
		// More fields than kinds: the text repeats itself. Let the last one win, as it would anyway for
		// all but the strangest patterns.
		b.n--
	}
	// Keep them sorted; equal ranks in the order they came.
	i := b.n
	for i > 0 && b.fields[i-1].kind.rank() > kind.rank() {
		b.fields[i] = b.fields[i-1]
		i--
	}
	b.fields[i] = parsedField{kind: kind, value: value}
	b.n++
}

// instant puts the fields together.
func (b *parsedFields) instant() (int64, bool) {
	if b.n > 0 && b.fields[0].kind >= fieldMonth && b.fields[0].kind <= fieldDayOfWeek {
		b.save(fieldYear, 2000)
	}
	var local int64
	// The first pass starts every field from the beginning of the one before. The second finds out
	// what contradicts a later field.
	for pass := range 2 {
		for i, f := range b.fields[:b.n] {
			var ok bool
			if local, ok = f.kind.set(local, f.value); !ok {
				return 0, false
			}
			if pass == 0 || i == b.n-1 {
				local = f.kind.floor(local)
			}
		}
	}
	if b.hasOffset {
		return local - b.offset, true
	}
	return b.zone.ToUTC(local)
}

// parse reads the element at s[i:] and returns its end, or -1.
func (e *element) parse(s string, i int, b *parsedFields) int {
	switch e.letter {
	case 0:
		end := i + len(e.literal)
		if end > len(s) || !strings.EqualFold(s[i:end], e.literal) {
			return -1
		}
		return end
	case 'G':
		return parseName(s, i, eraNames[:], eraValues[:], fieldEra, b)
	case 'a':
		return parseName(s, i, halfDayNames[:], nil, fieldHalfDay, b)
	case 'E':
		return parseText(s, i, dayNames[:], fieldDayOfWeek, b)
	case 'M':
		if e.width >= 3 {
			return parseText(s, i, monthNames[:], fieldMonth, b)
		}
		return e.parseNumber(s, i, b)
	case 'S':
		millis, end := scanFraction(s[:min(len(s), i+e.most)], i, Second)
		if end == i {
			return -1
		}
		b.save(fieldMilli, millis)
		return end
	case 'z':
		return parseZoneName(s, i, b)
	case 'Z':
		if e.width >= 3 {
			return parseZoneID(s, i, b)
		}
		offset, end := scanOffset(s, i)
		if end == i {
			return -1
		}
		b.offset, b.hasOffset = offset, true
		return end
	default:
		if e.twoDigits {
			return e.parseTwoDigits(s, i, b)
		}
		return e.parseNumber(s, i, b)
	}
}

func (e *element) parseNumber(s string, i int, b *parsedFields) int {
	negative := false
	if e.signed && i < len(s) && (s[i] == '-' || s[i] == '+') {
		negative = s[i] == '-'
		i++
	}
	v, end := scanNumber(s, i, min(e.most, 18))
	if end == i || v > math.MaxInt32 {
		return -1
	}
	if negative {
		v = -v
	}
	b.save(letterFields[e.letter], v)
	return end
}

// firstTwoDigitYear is the year that the window of two-digit years starts with.
const firstTwoDigitYear = 1946

func (e *element) parseTwoDigits(s string, i int, b *parsedFields) int {
	kind := fieldYear
	if e.letter == 'x' {
		kind = fieldWeekYear
	}
	at, negative, signed := i, false, false
	if e.lenient && i < len(s) && (s[i] == '-' || s[i] == '+') {
		negative, signed = s[i] == '-', true
		at++
	}
	most := 2
	if e.lenient {
		most = 11
	}
	v, end := scanNumber(s, at, most)
	switch {
	case end == at || v > math.MaxInt32 || !e.lenient && end-at != 2:
		return -1
	case !signed && end-at == 2:
		v += firstTwoDigitYear - firstTwoDigitYear%100
		if v < firstTwoDigitYear {
			v += 100
		}
	case negative:
		v = -v
	}
	b.save(kind, v)
	return end
}

var (
	eraNames     = [...]string{"BCE", "BC", "CE", "AD"}
	eraValues    = [...]int64{0, 0, 1, 1}
	halfDayNames = [...]string{"AM", "PM"}
)

// parseName reads one of a few names; the value is its index unless values say otherwise.
func parseName(s string, i int, names []string, values []int64, kind fieldKind, b *parsedFields) int {
	for k, name := range names {
		if end := i + len(name); end <= len(s) && strings.EqualFold(s[i:end], name) {
			v := int64(k)
			if values != nil {
				v = values[k]
			}
			b.save(kind, v)
			return end
		}
	}
	return -1
}

// parseText reads a whole name or its first three letters; values count from 1.
func parseText(s string, i int, names []string, kind fieldKind, b *parsedFields) int {
	for k, name := range names {
		for _, n := range [...]int{len(name), 3} {
			if end := i + n; end <= len(s) && strings.EqualFold(s[i:end], name[:n]) {
				b.save(kind, int64(k)+1)
				return end
			}
		}
	}
	return -1
}

// parsedZoneNames are the abbreviations that Joda-Time parses.
var parsedZoneNames = [...]struct{ name, zone string }{
	{"UTC", "UTC"}, {"GMT", "UTC"}, {"UT", "UTC"}, {"EST", "America/New_York"}, {"EDT", "America/New_York"},
	{"CST", "America/Chicago"}, {"CDT", "America/Chicago"}, {"MST", "America/Denver"}, {"MDT", "America/Denver"},
	{"PST", "America/Los_Angeles"}, {"PDT", "America/Los_Angeles"},
}

func parseZoneName(s string, i int, b *parsedFields) int {
	for _, known := range parsedZoneNames {
		if strings.HasPrefix(s[i:], known.name) {
			zone, err := LoadZone(known.zone)
			if err != nil {
				return -1
			}
			b.zone = zone
			return i + len(known.name)
		}
	}
	return -1
}

// parseZoneID reads the longest id of a zone: all that can be in one, and if there is none of that
// name, less.
func parseZoneID(s string, i int, b *parsedFields) int {
	end := i
	for end < len(s) && end-i < 40 && (isLetter(s[end]) || isDigit(s[end]) || strings.IndexByte("/_+-", s[end]) >= 0) {
		end++
	}
	for end > i {
		if isLetter(s[i]) {
			if zone, err := LoadZone(s[i:end]); err == nil && s[i:end] != "Z" {
				b.zone = zone
				return end
			}
		}
		// The next shorter id ends before the last separator.
		end = i + max(0, strings.LastIndexAny(s[i:end], "/_+-"))
	}
	return -1
}

// set changes one field of a local time and keeps the others, moving the day to the last of a
// shorter month.
func (k fieldKind) set(local, v int64) (int64, bool) {
	days, rest := split(local)
	switch k {
	case fieldEra:
		year, _, _ := civilFromDays(days)
		if (year > 0) != (v == 1) {
			return setYear(days, rest, -year), true
		}
		return local, true
	case fieldCentury:
		year, _, _ := civilFromDays(days)
		to := v*100 + abs(year)%100
		if year < 0 {
			to = -to
		}
		return setYear(days, rest, to), v >= 0 && v <= maxParsedYear/100
	case fieldYear:
		return setYear(days, rest, v), abs(v) <= maxParsedYear
	case fieldYearOfEra:
		if year, _, _ := civilFromDays(days); year < 0 {
			v = -v
		}
		return setYear(days, rest, v), abs(v) <= maxParsedYear
	case fieldMonth, fieldDayOfYear, fieldDayOfMonth, fieldDayOfWeek, fieldWeek, fieldWeekYear:
		days, ok := k.setDay(days, v)
		return join(days, rest), ok
	}
	rest, ok := k.setClock(rest, v)
	return days*Day + rest, ok
}

func setYear(days, rest, year int64) int64 {
	if abs(year) > maxParsedYear {
		return 0 // the caller refuses it
	}
	_, month, day := civilFromDays(days)
	return join(daysFromCivil(year, month, min(day, daysInMonth(year, month))), rest)
}

// setDay sets the fields that are shorter than a year and longer than a day.
func (k fieldKind) setDay(days, v int64) (int64, bool) {
	year, month, day := civilFromDays(days)
	switch k {
	case fieldMonth:
		if v < 1 || v > 12 {
			return 0, false
		}
		month = int(v)
		return daysFromCivil(year, month, min(day, daysInMonth(year, month))), true
	case fieldDayOfYear:
		return daysFromCivil(year, 1, 1) + v - 1, v >= 1 && v <= int64(daysInYear(year))
	case fieldDayOfMonth:
		return daysFromCivil(year, month, 1) + v - 1, v >= 1 && v <= int64(daysInMonth(year, month))
	case fieldDayOfWeek:
		return days + v - int64(weekday(days)), v >= 1 && v <= 7
	case fieldWeek:
		weekYear, week := isoWeek(days)
		return days + (v-int64(week))*7, v >= 1 && v <= int64(weeksInWeekYear(weekYear))
	default:
		if abs(v) > maxParsedYear {
			return 0, false
		}
		_, week := isoWeek(days)
		return weekOneDays(v) + int64(min(week, weeksInWeekYear(v))-1)*7 + int64(weekday(days)-1), true
	}
}

// setClock sets the fields of the time of day.
func (k fieldKind) setClock(rest, v int64) (int64, bool) {
	switch k {
	case fieldHalfDay:
		return rest%(12*Hour) + v*12*Hour, v >= 0 && v < 2
	case fieldHour:
		return rest%Hour + v*Hour, v >= 0 && v < 24
	case fieldClockHour:
		return rest%Hour + v%24*Hour, v >= 1 && v <= 24
	case fieldHalfHour:
		return rest - rest%(12*Hour) + v*Hour + rest%Hour, v >= 0 && v < 12
	case fieldClockHalfHour:
		return rest - rest%(12*Hour) + v%12*Hour + rest%Hour, v >= 1 && v <= 12
	case fieldMinute:
		return rest - rest%Hour + v*Minute + rest%Minute, v >= 0 && v < 60
	case fieldSecond:
		return rest - rest%Minute + v*Second + rest%Second, v >= 0 && v < 60
	default:
		return rest - rest%Second + v, v >= 0 && v < 1000
	}
}

// floor returns the start of the field's unit around a local time.
func (k fieldKind) floor(local int64) int64 {
	days, rest := split(local)
	year, month, _ := civilFromDays(days)
	switch k {
	case fieldEra:
		if year > 0 {
			return join(daysFromCivil(1, 1, 1), 0)
		}
		return join(daysFromCivil(-1, 1, 1), 0)
	case fieldCentury:
		return join(daysFromCivil(year-year%100, 1, 1), 0)
	case fieldYear, fieldYearOfEra:
		return join(daysFromCivil(year, 1, 1), 0)
	case fieldWeekYear:
		weekYear, _ := isoWeek(days)
		return join(weekOneDays(weekYear), 0)
	case fieldMonth:
		return join(daysFromCivil(year, month, 1), 0)
	case fieldWeek:
		return join(days-int64(weekday(days)-1), 0)
	case fieldDayOfYear, fieldDayOfMonth, fieldDayOfWeek:
		return join(days, 0)
	case fieldHalfDay:
		return local - rest%(12*Hour)
	case fieldHour, fieldClockHour, fieldHalfHour, fieldClockHalfHour:
		return local - rest%Hour
	case fieldMinute:
		return local - rest%Minute
	case fieldSecond:
		return local - rest%Second
	default:
		return local
	}
}
