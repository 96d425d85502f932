package chrono

// The ISO 8601 grammar of Joda-Time's ISODateTimeFormat, read by hand:
//
//	date     = year ["-" month ["-" day]] | weekyear "-W" week ["-" weekday] | year "-" dayofyear
//	           the longest alternative that matches
//	year     = [sign] 1..9 digits, the others as many digits as their letters say, or fewer
//	time     = hour [fraction | ":" minute [fraction | ":" second [fraction]]]
//	fraction = ("." | ",") 1..9 digits
//	offset   = "Z" | sign hh [[":"] mm [[":"] ss [[.|,] S..]]]

// parseISO reads date ["T" [time] [offset]], where with blank set a blank stands for the T too.
func parseISO(s string, zone *Zone, blank bool) (ms int64, ok bool) {
	days, i, ok := scanDate(s)
	if !ok {
		return 0, false
	}
	if i == len(s) {
		return localInstant(days*Day, zone)
	}
	if c := s[i]; c != 'T' && c != 't' && !(blank && c == ' ') {
		return 0, false
	}
	i++
	millisOfDay, i, ok := scanTime(s, i)
	if !ok {
		return 0, false
	}
	local := days*Day + millisOfDay
	if i == len(s) {
		return localInstant(local, zone)
	}
	offset, i := scanOffset(s, i)
	if i != len(s) {
		return 0, false
	}
	return local - offset, true
}

// localInstant is the instant of a local time that must exist.
func localInstant(local int64, zone *Zone) (int64, bool) {
	return zone.ToUTC(local)
}

// maxParsedYear bounds the years of texts, so that sums with them stay far from overflow.
const maxParsedYear = 292_000_000

// scanNumber reads up to most digits at i and returns their value and end; end == i says there are
// none.
func scanNumber(s string, i, most int) (v int64, end int) {
	for end = i; end < len(s) && end-i < most && isDigit(s[end]); end++ {
		v = v*10 + int64(s[end]-'0')
	}
	return v, end
}

// scanYear reads a year with an optional sign.
func scanYear(s string, i int) (year int64, end int) {
	start := i
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	year, end = scanNumber(s, i, 9)
	if end == i {
		return 0, start
	}
	if s[start] == '-' {
		year = -year
	}
	return year, end
}

// scanDate reads a date in the form of which most of the text fits, and returns its day and where
// it ends.
func scanDate(s string) (days int64, end int, ok bool) {
	year, i := scanYear(s, 0)
	if i == 0 || year > maxParsedYear || year < -maxParsedYear {
		return 0, 0, false
	}
	if i+1 >= len(s) || s[i] != '-' {
		return daysFromCivil(year, 1, 1), i, true
	}
	if s[i+1] == 'W' || s[i+1] == 'w' {
		return scanWeekDate(s, year, i)
	}
	first, monthEnd := scanNumber(s, i+1, 2)
	if monthEnd == i+1 {
		return daysFromCivil(year, 1, 1), i, true
	}
	day, dayEnd := int64(1), monthEnd
	if monthEnd+1 < len(s) && s[monthEnd] == '-' && isDigit(s[monthEnd+1]) {
		day, dayEnd = scanNumber(s, monthEnd+1, 2)
	}
	if dayOfYear, ordinalEnd := scanNumber(s, i+1, 3); ordinalEnd > dayEnd {
		if dayOfYear < 1 || dayOfYear > int64(daysInYear(year)) {
			return 0, 0, false
		}
		return daysFromCivil(year, 1, 1) + dayOfYear - 1, ordinalEnd, true
	}
	if first < 1 || first > 12 || day < 1 || day > int64(daysInMonth(year, int(first))) {
		return 0, 0, false
	}
	return daysFromCivil(year, int(first), int(day)), dayEnd, true
}

// scanWeekDate reads "-Www[-e]" at i.
func scanWeekDate(s string, weekYear int64, i int) (days int64, end int, ok bool) {
	week, end := scanNumber(s, i+2, 2)
	if end == i+2 {
		return daysFromCivil(weekYear, 1, 1), i, true // "2000-W": the date ends after the year, and the rest will not fit
	}
	day := int64(1)
	if end+1 < len(s) && s[end] == '-' && isDigit(s[end+1]) {
		day, end = scanNumber(s, end+1, 1)
	}
	if week < 1 || week > int64(weeksInWeekYear(weekYear)) || day < 1 || day > 7 {
		return 0, 0, false
	}
	return weekOneDays(weekYear) + (week-1)*7 + day - 1, end, true
}

// scanTime reads a time of day, which may be missing altogether.
func scanTime(s string, i int) (millisOfDay int64, end int, ok bool) {
	unit, limit := Hour, int64(24)
	for {
		v, next := scanNumber(s, i, 2)
		if next == i {
			if unit != Hour {
				i-- // a colon that belongs to nothing: leave it, nothing else will take it
			}
			return millisOfDay, i, true
		}
		if v >= limit {
			return 0, 0, false
		}
		millisOfDay += v * unit
		i = next
		if i < len(s) && (s[i] == '.' || s[i] == ',') {
			fraction, end := scanFraction(s, i+1, unit)
			if end > i+1 && end-i-1 <= 9 {
				return millisOfDay + fraction, end, true
			}
			return millisOfDay, i, true
		}
		if unit == Second || i >= len(s) || s[i] != ':' {
			return millisOfDay, i, true
		}
		i++
		unit, limit = unit/60, 60
	}
}

// scanFraction reads the digits at i as a fraction of unit, cut off to milliseconds.
func scanFraction(s string, i int, unit int64) (millis int64, end int) {
	n := unit * 10
	for end = i; end < len(s) && isDigit(s[end]); end++ {
		n /= 10
		millis += int64(s[end]-'0') * n
	}
	return millis / 10, end
}

// scanOffset reads an offset at i. The returned end is i if there is none, and less than len(s) if
// it is malformed behind its start.
func scanOffset(s string, i int) (offset int64, end int) {
	if i >= len(s) {
		return 0, i
	}
	switch s[i] {
	case 'Z', 'z':
		return 0, i + 1
	case '+', '-':
	default:
		return 0, i
	}
	negative := s[i] == '-'
	h := digits(s, i+1, 2)
	if h < 0 || h > 23 {
		return 0, i
	}
	offset = int64(h) * Hour
	end = i + 3
	colons := end < len(s) && s[end] == ':'
	for _, unit := range [...]int64{Minute, Second} {
		at := end
		if colons {
			if at >= len(s) || s[at] != ':' {
				break
			}
			at++
		}
		if !colons && (at >= len(s) || !isDigit(s[at])) {
			break
		}
		v := digits(s, at, 2)
		if v < 0 || v > 59 {
			return 0, i
		}
		offset += int64(v) * unit
		end = at + 2
		if unit == Second {
			if colons && end < len(s) && (s[end] == '.' || s[end] == ',') {
				end++
			} else if colons {
				break
			}
			start := end
			for weight := int64(100); weight > 0 && end < len(s) && isDigit(s[end]); weight /= 10 {
				offset += int64(s[end]-'0') * weight
				end++
			}
			if colons && end == start {
				return 0, i
			}
		}
	}
	if negative {
		offset = -offset
	}
	return offset, end
}
