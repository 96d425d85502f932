package ingest

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// numberTime is a way to write a time as a whole number.
type numberTime struct {
	format string
	fits   func(n int64) bool
}

// Numbers are taken for times from 1990 to 2100, in a unit that no other way to write times as
// numbers can be mistaken for.
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
// told apart, the American order is guessed.
var textTimes = []string{
	"yyyy/MM/dd HH:mm:ss", "yyyy/MM/dd HH:mm", "yyyy/MM/dd", "MM/dd/yyyy HH:mm:ss", "MM/dd/yyyy HH:mm", "MM/dd/yyyy hh:mm:ss a", "MM/dd/yyyy hh:mm a",
	"MM/dd/yyyy", "dd/MM/yyyy HH:mm:ss", "dd/MM/yyyy HH:mm", "dd/MM/yyyy hh:mm:ss a", "dd/MM/yyyy hh:mm a", "dd/MM/yyyy",
	"MM-dd-yyyy HH:mm:ss", "MM-dd-yyyy HH:mm", "MM-dd-yyyy", "dd-MM-yyyy HH:mm:ss", "dd-MM-yyyy HH:mm", "dd-MM-yyyy",
	"dd.MM.yyyy HH:mm:ss", "dd.MM.yyyy HH:mm", "dd.MM.yyyy",
	"dd/MMM/yyyy:HH:mm:ss Z", "EEE, dd MMM yyyy HH:mm:ss Z", "EEE MMM dd HH:mm:ss yyyy", "dd-MMM-yyyy", "dd MMM yyyy",
}

var textPatterns = func() (out []*chrono.Pattern) {
	for _, text := range textTimes {
		p, err := chrono.CompilePattern(text)
		if err != nil {
			panic("a time pattern of this file is none: " + text)
		}
		out = append(out, p)
	}
	return out
}()

// timeWatch sees whether the values of a column are times, and in which way all of them are.
type timeWatch struct {
	given   bool // the user said that they are
	started bool
	iso     bool
	texts   uint64 // textTimes that every value is
	numbers uint64 // numberTimes
	ratio   bool   // every value is a number of seconds, some of them with a fraction
	tried   int64
	// other is the value at which no way was left.
	other Finding
	// fine are times with more digits than milliseconds have.
	fine Finding
	// format, when set, is the way that the user named; unfit are the values that are no times by it.
	format *timeFormat
	unfit  Finding
}

func (w *timeWatch) start() {
	if !w.started {
		w.started, w.iso, w.ratio = true, true, true
		w.texts, w.numbers = 1<<len(textTimes)-1, 1<<len(numberTimes)-1
	}
}

func (w *timeWatch) alive() bool { return w.iso || w.ratio || w.texts|w.numbers != 0 }

// text sees a text.
func (w *timeWatch) text(s *Surveyor, raw []byte) {
	w.start()
	if w.format != nil {
		w.check(s, raw)
	}
	if !w.alive() {
		return
	}
	w.tried++
	w.ratio = false
	text := string(raw)
	if w.iso {
		least := len("2000-01-01")
		if w.given {
			least = len("2000")
		}
		_, ok := chrono.ParseTimestamp(text, nil)
		if w.iso = ok && len(text) >= least; w.iso && finerThanMillis(text) {
			w.fine.add(s, raw)
		}
	}
	for i, p := range textPatterns {
		if w.texts&(1<<i) != 0 {
			if _, ok := p.Parse(text, nil); !ok {
				w.texts &^= 1 << i
			}
		}
	}
	if w.numbers != 0 {
		if n, ok := parseInteger(raw); ok {
			w.keep(n)
		} else {
			w.numbers = 0
		}
	}
	w.died(s, raw)
}

func (w *timeWatch) died(s *Surveyor, raw []byte) {
	if !w.alive() {
		w.other.add(s, raw)
	}
}

func (w *timeWatch) keep(n int64) {
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

// number sees a number, which is a whole one or not.
func (w *timeWatch) number(s *Surveyor, raw []byte, c class) {
	w.start()
	if w.format != nil {
		w.check(s, raw)
	}
	if !w.alive() {
		return
	}
	w.tried++
	w.iso, w.texts = false, 0
	f, err := strconv.ParseFloat(string(raw), 64)
	w.ratio = w.ratio && err == nil && f >= earliestSecond && f < latestSecond
	n, ok := parseInteger(raw)
	if !ok && c == classWhole {
		n, ok = int64(f), true
	}
	if ok {
		w.keep(n)
		if n%1000 != 0 && n > latestSecond*1000 {
			w.fine.add(s, raw)
		}
	} else {
		w.numbers = 0
		if w.ratio && finerThanMillis(string(raw)) {
			w.fine.add(s, raw)
		}
	}
	w.died(s, raw)
}

// timeFormat is a way to write times that has a name or a pattern.
type timeFormat struct {
	name    string
	pattern *chrono.Pattern
	unit    float64 // milliseconds of a number; 0: it is text
}

// timeNamesOf are other words for the ways to write times as numbers.
var timeWords = map[string]string{
	"iso": "iso", "iso8601": "iso", "millis": "millis", "milliseconds": "millis", "ms": "millis", "posix": "posix", "seconds": "posix", "unix": "posix", "s": "posix",
	"micro": "micro", "micros": "micro", "microseconds": "micro", "us": "micro", "nano": "nano", "nanos": "nano", "nanoseconds": "nano", "ns": "nano",
}

func parseTimeFormat(text string) (*timeFormat, error) {
	if name, ok := timeWords[strings.ToLower(text)]; ok && text != "s" {
		unit := map[string]float64{"millis": 1, "posix": 1000, "micro": 1e-3, "nano": 1e-6}[name]
		return &timeFormat{name: name, unit: unit}, nil
	}
	p, err := chrono.CompilePattern(text)
	if err != nil {
		return nil, fault.InvalidInput("Time format [%s] is neither iso, millis, posix (seconds), micro, nano nor a pattern such as yyyy-MM-dd HH:mm:ss", text)
	}
	return &timeFormat{name: text, pattern: p}, nil
}

// reads reports whether text is a time in this way.
func (f *timeFormat) reads(text string) bool {
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

func (w *timeWatch) check(s *Surveyor, raw []byte) {
	if !w.format.reads(string(raw)) {
		w.unfit.add(s, raw)
	}
}

// way returns how every value is a time, and the other way that they may be meant; "" where there
// is none.
func (w *timeWatch) way(named bool) (format, other string) {
	if w.tried == 0 || !w.alive() {
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
		if w.numbers&(1<<i) != 0 && (t.format != "yyyy" || w.given) {
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

// swapped returns the pattern with day and month in the other order, if all values are times by it,
// too.
func (w *timeWatch) swapped(name string) string {
	if !strings.HasPrefix(name, "MM") {
		return ""
	}
	other := "dd" + name[2:3] + "MM" + name[5:]
	if i := slices.Index(textTimes, other); i >= 0 && w.texts&(1<<i) != 0 {
		return other
	}
	return ""
}

// TimeSQL returns the expression of SQL that makes a time of a column of a type.
func TimeSQL(column, sqlType, format string) string {
	name := `"` + strings.ReplaceAll(column, `"`, `""`) + `"`
	text, number := name, name
	switch sqlType {
	case typeText:
		number = "CAST(" + name + " AS BIGINT)"
	case typeLong:
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
