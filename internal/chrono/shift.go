package chrono

import (
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Unit is a unit of EXTRACT, TIMESTAMPADD, FLOOR .. TO and DATE_TRUNC.
type Unit uint8

// The units, from fine to coarse, then those that only EXTRACT knows.
const (
	UnitInvalid Unit = iota
	UnitMicrosecond
	UnitMillisecond
	UnitSecond
	UnitMinute
	UnitHour
	UnitDay
	UnitWeek
	UnitMonth
	UnitQuarter
	UnitYear
	UnitDecade
	UnitCentury
	UnitMillennium
	UnitEpoch
	UnitDOW
	UnitISODOW
	UnitDOY
	UnitISOYear
	UnitNanosecond
)

var unitNames = [...]string{"", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR",
	"DECADE", "CENTURY", "MILLENNIUM", "EPOCH", "DOW", "ISODOW", "DOY", "ISOYEAR", "NANOSECOND"}

// String returns the name in upper case.
func (u Unit) String() string {
	if int(u) < len(unitNames) {
		return unitNames[u]
	}
	return ""
}

// ParseUnit reads the name of a unit in any case, and false for any other word.
func ParseUnit(name string) (Unit, bool) {
	for u := UnitMicrosecond; int(u) < len(unitNames); u++ {
		if strings.EqualFold(name, unitNames[u]) {
			return u, true
		}
	}
	return UnitInvalid, false
}

// millis is the length of the units that have one.
func (u Unit) millis() int64 {
	switch u {
	case UnitMillisecond:
		return 1
	case UnitSecond:
		return Second
	case UnitMinute:
		return Minute
	case UnitHour:
		return Hour
	case UnitDay:
		return Day
	case UnitWeek:
		return Week
	default:
		return 0
	}
}

// months is the number of months of the units that are made of them.
func (u Unit) months() int64 {
	switch u {
	case UnitMonth:
		return 1
	case UnitQuarter:
		return 3
	case UnitYear:
		return 12
	case UnitDecade:
		return 120
	case UnitCentury:
		return 1200
	case UnitMillennium:
		return 12000
	default:
		return 0
	}
}

// Period returns the period of one unit, for FLOOR(t TO unit) and DATE_TRUNC; false for units
// without one. A microsecond is cut to a millisecond, the finest that an instant has.
func (u Unit) Period() (Period, bool) {
	switch u {
	case UnitMicrosecond, UnitMillisecond:
		return Period{Millis: 1}, true
	case UnitSecond:
		return Period{Seconds: 1}, true
	case UnitMinute:
		return Period{Minutes: 1}, true
	case UnitHour:
		return Period{Hours: 1}, true
	case UnitDay:
		return Period{Days: 1}, true
	case UnitWeek:
		return Period{Weeks: 1}, true
	case UnitMonth:
		return Period{Months: 1}, true
	case UnitQuarter:
		return Period{Months: 3}, true
	case UnitYear:
		return Period{Years: 1}, true
	case UnitDecade:
		return Period{Years: 10}, true
	case UnitCentury:
		return Period{Years: 100}, true
	case UnitMillennium:
		return Period{Years: 1000}, true
	default:
		return Period{}, false
	}
}

// TimestampAdd is TIMESTAMPADD(unit, n, ts): units up to weeks are exact milliseconds, a day
// 86,400,000 of them whatever the zone does; months and longer move the local time and force the
// day to the last of a shorter month. The result saturates; the error is an InvalidInput fault for
// units that can't be added.
func TimestampAdd(u Unit, n, ms int64, zone *Zone) (int64, error) {
	if length := u.millis(); length > 0 {
		return satAdd(ms, satMul(n, length)), nil
	}
	if months := u.months(); months > 0 {
		return zone.addMonths(ms, satMul(n, months)), nil
	}
	return 0, fault.InvalidInput("Unit [%s] can't be added to a timestamp", u)
}

// AddMonths is ts + INTERVAL 'n' MONTH in a zone.
func AddMonths(ms, n int64, zone *Zone) int64 { return zone.addMonths(ms, n) }

// TimestampDiff is TIMESTAMPDIFF(unit, from, to): how many whole units, toward zero.
func TimestampDiff(u Unit, from, to int64, zone *Zone) (int64, error) {
	if length := u.millis(); length > 0 {
		return satSub(to, from) / length, nil
	}
	if months := u.months(); months > 0 {
		return MonthsBetween(from, to, zone) / months, nil
	}
	return 0, fault.InvalidInput("Unit [%s] can't measure the difference of timestamps", u)
}

// MonthsBetween returns how many whole months lie between two instants by local time, toward zero:
// the largest n for which from plus n months is not after to. The last day of a month completes it,
// so January 31 to February 28 is one month.
func MonthsBetween(from, to int64, zone *Zone) int64 {
	if to < from {
		return -MonthsBetween(to, from, zone)
	}
	fromDays, fromRest := split(zone.ToLocal(from))
	toDays, toRest := split(zone.ToLocal(to))
	fy, fm, fd := civilFromDays(fromDays)
	ty, tm, td := civilFromDays(toDays)
	n := (ty-fy)*12 + int64(tm-fm)
	if td == daysInMonth(ty, tm) && fd > td {
		fd = td
	}
	if td < fd || td == fd && toRest < fromRest {
		n--
	}
	return n
}
