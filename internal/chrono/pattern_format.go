package chrono

import "strings"

// Format returns the text of an instant in a zone.
func (p *Pattern) Format(ms int64, zone *Zone) string { return string(p.Append(nil, ms, zone)) }

// Append appends the text of Format to dst.
func (p *Pattern) Append(dst []byte, ms int64, zone *Zone) []byte {
	return p.AppendOffset(dst, ms, zone.OffsetAt(ms), zone)
}

// AppendOffset is Append for callers that know the offset at ms already, from an OffsetCursor.
func (p *Pattern) AppendOffset(dst []byte, ms, offset int64, zone *Zone) []byte {
	days, rest := split(satAdd(ms, offset))
	year, month, day := civilFromDays(days)
	names := p.names
	if names == nil {
		names = english
	}
	for i := range p.elements {
		e := &p.elements[i]
		switch e.letter {
		case 0:
			dst = append(dst, e.literal...)
		case 'G':
			dst = append(dst, names.eras[second(year > 0)]...)
		case 'C':
			dst = appendPadded(dst, abs(year)/100, e.width)
		case 'y':
			dst = e.appendYear(dst, year)
		case 'Y':
			dst = e.appendYear(dst, abs(year))
		case 'x':
			weekYear, _ := isoWeek(days)
			dst = e.appendYear(dst, weekYear)
		case 'w':
			_, week := isoWeek(days)
			dst = appendPadded(dst, int64(week), e.width)
		case 'e':
			dst = appendPadded(dst, int64(weekday(days)), e.width)
		case 'E':
			if e.width >= 4 {
				dst = append(dst, names.days[weekday(days)-1]...)
			} else {
				dst = append(dst, names.shortDays[weekday(days)-1]...)
			}
		case 'D':
			dst = appendPadded(dst, days-daysFromCivil(year, 1, 1)+1, e.width)
		case 'M':
			switch {
			case e.width >= 4:
				dst = append(dst, names.months[month-1]...)
			case e.width == 3:
				dst = append(dst, names.shortMonths[month-1]...)
			default:
				dst = appendPadded(dst, int64(month), e.width)
			}
		case 'd':
			dst = appendPadded(dst, int64(day), e.width)
		case 'z':
			dst = appendZoneName(dst, ms, offset, zone, e.width >= 4)
		case 'Z':
			if e.width >= 3 {
				dst = append(dst, zone.Name()...)
			} else {
				dst = appendOffsetFields(dst, offset, e.width == 2, 2, 2)
			}
		case 'a':
			dst = append(dst, names.halves[second(rest >= 12*Hour)]...)
		default:
			dst = e.appendClock(dst, rest)
		}
	}
	return dst
}

// second is the place of the second of two names if the condition holds, else that of the first.
func second(condition bool) int {
	if condition {
		return 1
	}
	return 0
}

// appendClock prints the letters of the time of day.
func (e *element) appendClock(dst []byte, millisOfDay int64) []byte {
	hour := millisOfDay / Hour
	switch e.letter {
	case 'h':
		hour = (hour+11)%12 + 1
	case 'K':
		hour %= 12
	case 'k':
		hour = (hour+23)%24 + 1
	case 'm':
		hour = millisOfDay / Minute % 60
	case 's':
		hour = millisOfDay / Second % 60
	case 'S':
		return appendFraction(dst, millisOfDay%Second, e.width)
	}
	return appendPadded(dst, hour, e.width)
}

// appendFraction prints milliseconds as width digits after the point.
func appendFraction(dst []byte, millis int64, width int) []byte {
	digits := [...]byte{'0' + byte(millis/100), '0' + byte(millis/10%10), '0' + byte(millis%10)}
	for i := range width {
		if i < len(digits) {
			dst = append(dst, digits[i])
		} else {
			dst = append(dst, '0')
		}
	}
	return dst
}

func (e *element) appendYear(dst []byte, year int64) []byte {
	if e.twoDigits {
		return appendPadded(dst, abs(year)%100, 2)
	}
	return appendYear(dst, year, e.width)
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// longZoneNames are the English names behind abbreviations. An abbreviation that means something
// else elsewhere has its offset behind it.
var longZoneNames = map[string]string{
	"UTC": "Coordinated Universal Time", "GMT": "Greenwich Mean Time", "WET": "Western European Standard Time",
	"WEST": "Western European Summer Time", "CET": "Central European Standard Time", "CEST": "Central European Summer Time",
	"EET": "Eastern European Standard Time", "EEST": "Eastern European Summer Time", "MSK": "Moscow Standard Time",
	"BST": "British Summer Time", "IST+01:00": "Irish Standard Time",
	"EST": "Eastern Standard Time", "EDT": "Eastern Daylight Time", "CST-06:00": "Central Standard Time", "CDT-05:00": "Central Daylight Time",
	"MST": "Mountain Standard Time", "MDT": "Mountain Daylight Time", "PST-08:00": "Pacific Standard Time", "PDT": "Pacific Daylight Time",
	"AKST": "Alaska Standard Time", "AKDT": "Alaska Daylight Time", "HST": "Hawaii-Aleutian Standard Time", "AST": "Atlantic Standard Time",
	"ADT": "Atlantic Daylight Time", "NST": "Newfoundland Standard Time", "NDT": "Newfoundland Daylight Time",
	"CST-05:00": "Cuba Standard Time", "CDT-04:00": "Cuba Daylight Time", "SST": "Samoa Standard Time", "ChST": "Chamorro Standard Time",
	"IST+02:00": "Israel Standard Time", "IDT": "Israel Daylight Time", "PKT": "Pakistan Standard Time", "IST+05:30": "India Standard Time",
	"WIB": "Western Indonesia Time", "WITA": "Central Indonesia Time", "WIT": "Eastern Indonesia Time", "CST+08:00": "China Standard Time",
	"HKT": "Hong Kong Standard Time", "PST+08:00": "Philippine Standard Time", "JST": "Japan Standard Time", "KST": "Korean Standard Time",
	"AWST": "Australian Western Standard Time", "ACST": "Australian Central Standard Time", "ACDT": "Australian Central Daylight Time",
	"AEST": "Australian Eastern Standard Time", "AEDT": "Australian Eastern Daylight Time", "NZST": "New Zealand Standard Time",
	"NZDT": "New Zealand Daylight Time", "WAT": "West Africa Standard Time", "CAT": "Central Africa Time", "EAT": "East Africa Time",
	"SAST": "South Africa Standard Time",
}

// appendZoneName prints the abbreviation or the long name of the zone, or its offset where there is
// no such name.
func appendZoneName(dst []byte, ms, offset int64, zone *Zone, long bool) []byte {
	if name := zone.ownName(ms, long); name != "" {
		return append(dst, name...)
	}
	name := zone.abbreviation(ms)
	if long {
		if known, ok := longZoneNames[string(appendOffset([]byte(name), offset))]; ok {
			return append(dst, known...)
		}
		name = longZoneNames[name]
	}
	if name == "" || strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-") {
		return appendOffset(dst, offset)
	}
	return append(dst, name...)
}
