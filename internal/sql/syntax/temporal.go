package syntax

var temporalFormat = [...]string{Date: "yyyy-MM-dd", Time: "HH:mm:ss", Timestamp: "yyyy-MM-dd HH:mm:ss"}

func temporalKind(word keyword) TemporalKind {
	switch word {
	case kwDate:
		return Date
	case kwTime:
		return Time
	}
	return Timestamp
}

// validTemporal reports whether text has the form of a literal of that kind and is in the calendar.
// A TIMESTAMP may be a date alone, and a time may have a fraction of a second.
func validTemporal(kind TemporalKind, text string) bool {
	switch kind {
	case Date:
		rest, ok := cutDate(text)
		return ok && rest == ""
	case Time:
		return validTime(text)
	}
	rest, ok := cutDate(text)
	return ok && (rest == "" || rest[0] == ' ' && validTime(rest[1:]))
}

// cutDate cuts year, month and day off the start of text.
func cutDate(text string) (rest string, ok bool) {
	year, text, ok1 := cutNumber(text, 4, '-')
	month, text, ok2 := cutNumber(text, 2, '-')
	day, text, ok3 := cutNumber(text, 2, 0)
	if !ok1 || !ok2 || !ok3 || year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return "", false
	}
	// The days the Gregorian calendar skipped when it began.
	if year == 1582 && month == 10 && day > 4 && day < 15 {
		return "", false
	}
	return text, true
}

// validTime reads hours, minutes and seconds with an optional fraction.
func validTime(text string) bool {
	hour, text, ok1 := cutNumber(text, 2, ':')
	minute, text, ok2 := cutNumber(text, 2, ':')
	second, text, ok3 := cutNumber(text, 2, 0)
	if !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || second > 59 {
		return false
	}
	if text == "" {
		return true
	}
	if text[0] != '.' {
		return false
	}
	for _, c := range []byte(text[1:]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// cutNumber cuts one to width digits and the separator behind them, if any is asked for, off the
// start of text.
func cutNumber(text string, width int, separator byte) (n int, rest string, ok bool) {
	i := 0
	for i < len(text) && i < width && '0' <= text[i] && text[i] <= '9' {
		n = n*10 + int(text[i]-'0')
		i++
	}
	if i == 0 {
		return 0, "", false
	}
	if separator == 0 {
		return n, text[i:], true
	}
	if i == len(text) || text[i] != separator {
		return 0, "", false
	}
	return n, text[i+1:], true
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		// Until 1582 every fourth year was a leap year.
		if year%4 == 0 && (year <= 1582 || year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}
