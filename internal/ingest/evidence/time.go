package evidence

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
)

// numberTime is a way to write a time as a whole number.
type numberTime struct {
	format string
	fits   func(n int64) bool
}

// Numbers are read as times between 1990 and 2100, in a unit that can't be confused with another
// numeric format of times.
const (
	earliestSecond, latestSecond = 631_152_000, 4_102_444_800
)

func inUnit(perSecond int64) func(int64) bool {
	return func(n int64) bool { return n >= earliestSecond*perSecond && n < latestSecond*perSecond }
}

// asPattern reads the digits of a number by a pattern, of times in the same years.
func asPattern(pattern string) func(int64) bool {
	p, err := chrono.CompilePattern(pattern)
	return func(n int64) bool {
		text := strconv.FormatInt(n, 10)
		if err != nil || len(text) != len(pattern) {
			return false
		}
		ms, ok := p.Parse(text, nil)
		return ok && ms >= -5_364_662_400_000 && ms < latestSecond*1000 // 1800
	}
}

// numberTimes are the ways, the more telling ones first. The numbers of yyyyMMddHH from 1990 on are
// seconds of 2033 on, too: that all of many are hours by accident is not likely.
var numberTimes = []numberTime{
	{"yyyyMMddHHmmssSSS", asPattern("yyyyMMddHHmmssSSS")},
	{"yyyyMMddHHmmss", asPattern("yyyyMMddHHmmss")},
	{"yyyyMMddHHmm", asPattern("yyyyMMddHHmm")},
	{"yyyyMMddHH", asPattern("yyyyMMddHH")},
	{"yyyyMMdd", asPattern("yyyyMMdd")},
	{"posix", inUnit(1)},
	{"millis", inUnit(1000)},
	{"micro", inUnit(1_000_000)},
	{"nano", inUnit(1_000_000_000)},
	{"yyyy", asPattern("yyyy")},
}

// textTimes are tried in this order on text that is not in ISO 8601: where month and day can't be
// told apart, the American order is guessed. Patterns with four digits of the year go before those
// with two, which stand for 1946 to 2045.
var textTimes = []string{
	"yyyy/MM/dd HH:mm:ss", "yyyy/MM/dd HH:mm", "yyyy/MM/dd", "MM/dd/yyyy HH:mm:ss", "MM/dd/yyyy HH:mm", "MM/dd/yyyy hh:mm:ss a", "MM/dd/yyyy hh:mm a",
	"MM/dd/yyyy", "dd/MM/yyyy HH:mm:ss", "dd/MM/yyyy HH:mm", "dd/MM/yyyy hh:mm:ss a", "dd/MM/yyyy hh:mm a", "dd/MM/yyyy",
	"MM-dd-yyyy HH:mm:ss", "MM-dd-yyyy HH:mm", "MM-dd-yyyy", "dd-MM-yyyy HH:mm:ss", "dd-MM-yyyy HH:mm", "dd-MM-yyyy",
	"dd.MM.yyyy HH:mm:ss", "dd.MM.yyyy HH:mm", "dd.MM.yyyy",
	"dd/MMM/yyyy:HH:mm:ss Z", "EEE, dd MMM yyyy HH:mm:ss Z", "EEE MMM dd HH:mm:ss yyyy", "EEE MMM dd HH:mm:ss z yyyy",
	"dd-MMM-yyyy HH:mm:ss", "dd-MMM-yyyy", "dd MMM yyyy", "MMM dd, yyyy hh:mm:ss a", "MMM dd, yyyy", "MMM dd yyyy",
	"MM/dd/yyyy HH:mm:ss.SSS", "dd/MM/yyyy HH:mm:ss.SSS",
	"MM/dd/yy HH:mm:ss", "MM/dd/yy HH:mm", "MM/dd/yy hh:mm:ss a", "MM/dd/yy hh:mm a", "MM/dd/yy",
	"dd/MM/yy HH:mm:ss", "dd/MM/yy HH:mm", "dd/MM/yy", "dd.MM.yy HH:mm:ss", "dd.MM.yy HH:mm", "dd.MM.yy",
	"dd-MMM-yy HH:mm:ss", "dd-MMM-yy hh.mm.ss a", "dd-MMM-yy", "dd MMM yy", "yy-MM-dd", "MM-dd-yy", "dd-MM-yy", "yy/MM/dd",
}

var TextPatterns = func() (out []*chrono.Pattern) {
	for _, text := range textTimes {
		p, err := chrono.CompilePattern(text)
		if err != nil {
			panic("a time pattern of this file is invalid: " + text)
		}
		out = append(out, p)
	}
	return out
}()

// ReadTime parses text with a pattern of textTimes. A pattern also accepts fewer digits than
// letters, but 1/2/24 is not a time in the year 24.
func ReadTime(p *chrono.Pattern, text string) bool {
	ms, ok := p.Parse(text, nil)
	return ok && ms >= earliestText
}

// earliestText is the year 1000 in milliseconds: text of earlier years is not taken for a time.
const earliestText = -30_610_224_000_000

// Watch detects whether all values of a column are times, and in which format.
type Watch struct {
	Given   bool // the user said that they are
	Started bool
	iso     bool
	texts   uint64 // textTimes that every value is
	numbers uint64 // numberTimes
	ratio   bool   // every value is a number of seconds, some of them with a fraction
	tried   int64
	// Other is the value that ruled out the last format.
	Other Finding
	// Fine are times with a higher precision than milliseconds.
	Fine Finding
	// format, if set, is the format that the user named. unfit are the values that are not times in
	// this format.
	Format *TimeFormat
	Unfit  Finding
}

func (w *Watch) start() {
	if !w.Started {
		w.Started, w.iso, w.ratio = true, true, true
		w.texts, w.numbers = 1<<len(textTimes)-1, 1<<len(numberTimes)-1
	}
}

func (w *Watch) Alive() bool { return w.iso || w.ratio || w.texts|w.numbers != 0 }

// Text adds a string.
func (w *Watch) Text(s *Position, raw []byte) {
	w.start()
	if w.Format != nil {
		w.check(s, raw)
	}
	if !w.Alive() {
		return
	}
	w.tried++
	w.ratio = false
	text := string(raw)
	if w.iso {
		least := len("2000-01-01")
		if w.Given {
			least = len("2000")
		}
		_, ok := chrono.ParseTimestamp(text, nil)
		if w.iso = ok && len(text) >= least; w.iso && finerThanMillis(text) {
			w.Fine.Add(s, raw)
		}
	}
	for i, p := range TextPatterns {
		if w.texts&(1<<i) != 0 {
			if !ReadTime(p, text) {
				w.texts &^= 1 << i
			}
		}
	}
	if w.numbers != 0 {
		if n, ok := record.ParseInteger(raw); ok {
			w.keep(n)
		} else {
			w.numbers = 0
		}
	}
	w.died(s, raw)
}

func (w *Watch) died(s *Position, raw []byte) {
	if !w.Alive() {
		w.Other.Add(s, raw)
	}
}

func (w *Watch) keep(n int64) {
	for i, t := range numberTimes {
		if w.numbers&(1<<i) != 0 && !t.fits(n) {
			w.numbers &^= 1 << i
		}
	}
}

// finerThanMillis reports whether a fraction has digits behind the third that are not 0.
func finerThanMillis(text string) bool {
	_, fraction, ok := strings.Cut(text, ".")
	if !ok {
		return false
	}
	for i := 0; i < len(fraction) && fraction[i] >= '0' && fraction[i] <= '9'; i++ {
		if i > 2 && fraction[i] != '0' {
			return true
		}
	}
	return false
}

// Number adds a number, which may be an integer or not.
func (w *Watch) Number(s *Position, raw []byte, c Class) {
	w.start()
	if w.Format != nil {
		w.check(s, raw)
	}
	if !w.Alive() {
		return
	}
	w.tried++
	w.iso, w.texts = false, 0
	f, err := strconv.ParseFloat(string(raw), 64)
	w.ratio = w.ratio && err == nil && f >= earliestSecond && f < latestSecond
	n, ok := record.ParseInteger(raw)
	if !ok && c == Whole {
		n, ok = int64(f), true
	}
	if ok {
		w.keep(n)
		if n%1000 != 0 && n > latestSecond*1000 {
			w.Fine.Add(s, raw)
		}
	} else {
		w.numbers = 0
		if w.ratio && finerThanMillis(string(raw)) {
			w.Fine.Add(s, raw)
		}
	}
	w.died(s, raw)
}

// TimeFormat is a format of times that has a name or a pattern.
type TimeFormat struct {
	Name    string
	pattern *chrono.Pattern
	unit    float64 // milliseconds of a number; 0: it is text
}

// timeNamesOf are other words for the ways to write times as numbers.
var timeWords = map[string]string{
	"iso": "iso", "iso8601": "iso", "millis": "millis", "milliseconds": "millis", "ms": "millis", "posix": "posix", "seconds": "posix", "unix": "posix", "s": "posix",
	"micro": "micro", "micros": "micro", "microseconds": "micro", "us": "micro", "nano": "nano", "nanos": "nano", "nanoseconds": "nano", "ns": "nano",
}

func ParseTimeFormat(text string) (*TimeFormat, error) {
	if name, ok := timeWords[strings.ToLower(text)]; ok && text != "s" {
		unit := map[string]float64{"millis": 1, "posix": 1000, "micro": 1e-3, "nano": 1e-6}[name]
		return &TimeFormat{Name: name, unit: unit}, nil
	}
	p, err := chrono.CompilePattern(text)
	if err != nil {
		return nil, fault.InvalidInput("Time format [%s] is neither iso, millis, posix (seconds), micro, nano nor a pattern such as yyyy-MM-dd HH:mm:ss", text)
	}
	return &TimeFormat{Name: text, pattern: p}, nil
}

// reads reports whether text is a time in this way.
func (f *TimeFormat) reads(text string) bool {
	switch {
	case f.pattern != nil:
		if whole, ok := strings.CutSuffix(text, ".0"); ok && strings.Trim(whole, "0123456789") == "" {
			text = whole // a whole number that a program wrote as a fraction
		}
		_, ok := f.pattern.Parse(text, nil)
		return ok
	case f.unit > 0:
		x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		ms := x * f.unit
		return err == nil && !math.IsNaN(ms) && ms >= float64(chrono.MinInstant) && ms < float64(chrono.MaxInstant)
	}
	_, ok := chrono.ParseTimestamp(text, nil)
	return ok
}

func (w *Watch) check(s *Position, raw []byte) {
	if !w.Format.reads(string(raw)) {
		w.Unfit.Add(s, raw)
	}
}

// Way returns the format with which every value is a time, and the other possible format; "" if
// there is none.
func (w *Watch) Way(named bool) (format, other string) {
	if w.tried == 0 || !w.Alive() {
		return "", ""
	}
	if w.iso {
		return "iso", ""
	}
	for i, name := range textTimes {
		if w.texts&(1<<i) != 0 {
			return name, w.swapped(name)
		}
	}
	if !named {
		return "", ""
	}
	for i, t := range numberTimes {
		if w.numbers&(1<<i) != 0 && (t.format != "yyyy" || w.Given) {
			if t.format == "yyyyMMddHH" {
				other = "posix"
			}
			return t.format, other
		}
	}
	if w.ratio {
		return "posix", ""
	}
	return "", ""
}

// swapped returns the pattern with the same parts in another order, if all values are times by it,
// too.
func (w *Watch) swapped(name string) string {
	for i, other := range textTimes {
		if other != name && w.texts&(1<<i) != 0 && sameParts(name, other) {
			return other
		}
	}
	return ""
}

func sameParts(a, b string) bool {
	sorted := func(s string) string {
		letters := []byte(s)
		slices.Sort(letters)
		return string(letters)
	}
	return sorted(a) == sorted(b)
}

// HasShortYear reports whether a format has a year of two digits.
func HasShortYear(format string) bool {
	return strings.Contains(format, "yy") && !strings.Contains(format, "yyyy")
}

// TimeSQL returns the SQL expression that converts a column of a type to a time.
func TimeSQL(column, sqlType, format string) string {
	name := `"` + strings.ReplaceAll(column, `"`, `""`) + `"`
	text, number := name, name
	switch sqlType {
	case TypeText:
		number = "CAST(" + name + " AS BIGINT)"
	case TypeLong:
		text = "CAST(" + name + " AS VARCHAR)"
	default:
		text = "CAST(CAST(" + name + " AS BIGINT) AS VARCHAR)"
		switch format {
		case "posix":
			return "MILLIS_TO_TIMESTAMP(CAST(ROUND(" + name + " * 1000) AS BIGINT))"
		default:
			number = "CAST(" + name + " AS BIGINT)"
		}
	}
	switch format {
	case "iso":
		return "TIME_PARSE(" + text + ")"
	case "millis":
		return "MILLIS_TO_TIMESTAMP(" + number + ")"
	case "posix":
		return "MILLIS_TO_TIMESTAMP(" + number + " * 1000)"
	case "micro":
		return "MILLIS_TO_TIMESTAMP(" + number + " / 1000)"
	case "nano":
		return "MILLIS_TO_TIMESTAMP(" + number + " / 1000000)"
	}
	return "TIME_PARSE(" + text + ", '" + strings.ReplaceAll(format, "'", "''") + "')"
}
