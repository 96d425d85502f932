package chrono

import "math"

// Lengths in milliseconds.
const (
	Second int64 = 1000
	Minute       = 60 * Second
	Hour         = 60 * Minute
	Day          = 24 * Hour
	Week         = 7 * Day
)

// MinInstant and MaxInstant bound the instants that data may have: half the range of an int64, so
// that sums never overflow.
const (
	MinInstant int64 = math.MinInt64 / 2
	MaxInstant int64 = math.MaxInt64 / 2
)

// maxYears is beyond the difference of any two years that an int64 of milliseconds can hold.
const maxYears = 600_000_000

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// floorMod is a - floorDiv(a, b)*b, which is never negative for b > 0.
func floorMod(a, b int64) int64 {
	r := a % b
	if r < 0 {
		r += b
	}
	return r
}

func satAdd(a, b int64) int64 {
	c := a + b
	if (c > a) == (b > 0) || b == 0 {
		return c
	}
	if b > 0 {
		return math.MaxInt64
	}
	return math.MinInt64
}

func satSub(a, b int64) int64 {
	if b == math.MinInt64 {
		return satAdd(satAdd(a, math.MaxInt64), 1)
	}
	return satAdd(a, -b)
}

func satMul(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	c := a * b
	if c/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64) {
		return c
	}
	if (a > 0) == (b > 0) {
		return math.MaxInt64
	}
	return math.MinInt64
}

// daysFromCivil counts the days from 1970-01-01 to a date of the proleptic Gregorian calendar
// (Howard Hinnant, "chrono-compatible low-level date algorithms"). The month may be 1..12 only; the
// day is not checked.
func daysFromCivil(year int64, month, day int) int64 {
	if month <= 2 {
		year--
	}
	era := floorDiv(year, 400)
	yearOfEra := year - era*400
	shifted := int64(month+9) % 12 // March is 0, so that the leap day comes last
	dayOfYear := (153*shifted+2)/5 + int64(day) - 1
	dayOfEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear
	return era*146097 + dayOfEra - 719468
}

// civilFromDays is the inverse of daysFromCivil.
func civilFromDays(days int64) (year int64, month, day int) {
	days += 719468
	era := floorDiv(days, 146097)
	dayOfEra := days - era*146097
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*dayOfYear + 2) / 153
	day = int(dayOfYear-(153*shifted+2)/5) + 1
	month = int(shifted) + 3
	year = yearOfEra + era*400
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

func isLeap(year int64) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func daysInMonth(year int64, month int) int {
	switch month {
	case 2:
		if isLeap(year) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	default:
		return 31
	}
}

func daysInYear(year int64) int {
	if isLeap(year) {
		return 366
	}
	return 365
}

// weekday returns 1 for Monday .. 7 for Sunday.
func weekday(days int64) int { return int(floorMod(days+3, 7)) + 1 }

// weekOneDays is the day on which week 1 of an ISO week-year starts: the Monday of the week with
// January 4.
func weekOneDays(weekYear int64) int64 {
	fourth := daysFromCivil(weekYear, 1, 4)
	return fourth - int64(weekday(fourth)-1)
}

// isoWeek returns the ISO week-year and week of a day.
func isoWeek(days int64) (weekYear int64, week int) {
	// The week belongs to the year of its Thursday.
	thursday := days + 4 - int64(weekday(days))
	weekYear, _, _ = civilFromDays(thursday)
	return weekYear, int((thursday-daysFromCivil(weekYear, 1, 1))/7) + 1
}

// weeksInWeekYear is 52 or 53.
func weeksInWeekYear(weekYear int64) int {
	return int((weekOneDays(weekYear+1) - weekOneDays(weekYear)) / 7)
}

// split cuts a local time into its day and the milliseconds of that day.
func split(local int64) (days, millisOfDay int64) {
	days = floorDiv(local, Day)
	return days, local - days*Day
}

// join is the inverse of split; the result saturates. The day in which time begins is counted back
// from its end: its start is out of range, and days before it must not come to lie after it.
func join(days, millisOfDay int64) int64 {
	if days < 0 {
		return satAdd(satMul(days+1, Day), millisOfDay-Day)
	}
	return satAdd(satMul(days, Day), millisOfDay)
}

// addMonthsLocal shifts a local time by months, forcing the day to the last one of a shorter month.
func addMonthsLocal(local, months int64) int64 {
	if months == 0 {
		return local
	}
	if months > 12*maxYears || months < -12*maxYears {
		return saturated(months)
	}
	days, rest := split(local)
	year, month, day := civilFromDays(days)
	total := year*12 + int64(month-1) + months
	year, month = floorDiv(total, 12), int(floorMod(total, 12))+1
	return join(daysFromCivil(year, month, min(day, daysInMonth(year, month))), rest)
}

func saturated(sign int64) int64 {
	if sign < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}
