package javatext

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/vector"
)

// Format formats as java.util.Formatter does in English. A format that does not fit its
// arguments is no error: the result is the format followed by the arguments.
func Format(format string, args []any) string {
	if len(args) == 0 {
		return format
	}
	f := formatter{args: args}
	if out, ok := f.run(format); ok {
		return out
	}
	var b strings.Builder
	b.WriteString(format)
	for _, a := range args {
		b.WriteString("; ")
		b.WriteString(plainText(a))
	}
	return b.String()
}

// plainText is how %s shows a value.
func plainText(v any) string {
	switch x := v.(type) {
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return vector.DoubleText(x)
	case string:
		return x
	}
	return "null"
}

// maxFormatWidth bounds the width and precision of a directive.
const maxFormatWidth = 10_000

type formatter struct {
	args []any
	next int // index of the next argument for directives that name none
	last int
	out  strings.Builder
}

// directive is %[index$][flags][width][.precision]conversion.
type directive struct {
	flags      string
	width      int
	precision  int // -1: none
	conversion byte
	upper      bool
}

func (d *directive) has(flag byte) bool { return strings.IndexByte(d.flags, flag) >= 0 }

func (f *formatter) run(format string) (string, bool) {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			f.out.WriteByte(format[i])
			continue
		}
		end, ok := f.directive(format, i+1)
		if !ok {
			return "", false
		}
		i = end
	}
	return f.out.String(), true
}

// directive writes the directive that starts at i, after the percent sign, and returns the position
// of its last character.
func (f *formatter) directive(s string, i int) (int, bool) {
	d := directive{precision: -1}
	index := -1
	if n, after := number(s, i); after < len(s) && after > i && s[after] == '$' {
		index, i = n-1, after+1
	} else if i < len(s) && s[i] == '<' {
		index, i = f.last, i+1
	}
	start := i
	for i < len(s) && strings.IndexByte("-#+ 0,(", s[i]) >= 0 {
		i++
	}
	d.flags = s[start:i]
	d.width, i = number(s, i)
	if i < len(s) && s[i] == '.' {
		n, after := number(s, i+1)
		if after == i+1 {
			return 0, false
		}
		d.precision, i = n, after
	}
	if i >= len(s) || d.width > maxFormatWidth || d.precision > maxFormatWidth || d.has('-') && (d.width == 0 || d.has('0')) ||
		d.has('0') && d.width == 0 {
		return 0, false
	}
	d.conversion = s[i]
	if strings.IndexByte("BHSCXEGAT", d.conversion) >= 0 {
		d.upper = true
		d.conversion |= 0x20
	}
	switch d.conversion {
	case '%':
		f.pad(&d, "%")
		return i, true
	case 'n':
		f.out.WriteByte('\n')
		return i, d.flags == "" && d.width == 0
	}
	if index < 0 {
		index = f.next
		f.next++
	}
	if index >= len(f.args) {
		return 0, false
	}
	f.last = index
	if d.conversion == 't' {
		if i++; i >= len(s) {
			return 0, false
		}
		return i, f.time(&d, s[i], f.args[index])
	}
	return i, f.write(&d, f.args[index])
}

// number reads decimal digits.
func number(s string, i int) (n, after int) {
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9' && n < 1<<20; i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n, i
}

func (f *formatter) pad(d *directive, text string) {
	if d.upper {
		text = ToUpper(text)
	}
	fill := strings.Repeat(" ", max(0, d.width-utf8.RuneCountInString(text)))
	if d.has('-') {
		f.out.WriteString(text + fill)
	} else {
		f.out.WriteString(fill + text)
	}
}

func (f *formatter) write(d *directive, arg any) bool {
	switch d.conversion {
	case 's':
		text := plainText(arg)
		if d.precision >= 0 {
			text = UnitSlice(text, 0, d.precision)
		}
		f.pad(d, text)
		return true
	case 'b':
		f.pad(d, strconv.FormatBool(arg != nil))
		return true
	case 'c':
		n, ok := arg.(int64)
		if ok && utf8.ValidRune(rune(n)) && n == int64(rune(n)) {
			f.pad(d, string(rune(n)))
			return true
		}
		return f.null(d, arg)
	case 'd':
		n, ok := arg.(int64)
		if !ok {
			return f.null(d, arg)
		}
		magnitude := uint64(n)
		if n < 0 {
			magnitude = -magnitude
		}
		f.signed(d, n < 0, strconv.FormatUint(magnitude, 10))
		return d.precision < 0
	case 'x', 'o':
		n, ok := arg.(int64)
		if !ok {
			return f.null(d, arg)
		}
		text := strconv.FormatUint(uint64(n), map[byte]int{'x': 16, 'o': 8}[d.conversion])
		if d.has('#') {
			text = map[byte]string{'x': "0x", 'o': "0"}[d.conversion] + text
		}
		if d.has('0') {
			text = strings.Repeat("0", max(0, d.width-len(text))) + text
		}
		f.pad(d, text)
		return d.precision < 0
	case 'e', 'f', 'g', 'a':
		x, ok := arg.(float64)
		if !ok {
			return f.null(d, arg)
		}
		return f.float(d, x)
	}
	return false
}

// null writes a NULL for any conversion, and refuses an argument of the wrong type.
func (f *formatter) null(d *directive, arg any) bool {
	if arg != nil {
		return false
	}
	text := "null"
	if d.precision >= 0 {
		text = UnitSlice(text, 0, d.precision)
	}
	f.pad(&directive{flags: strings.ReplaceAll(d.flags, "0", ""), width: d.width, upper: d.upper}, text)
	return true
}

// signed writes a number given by its sign and the text of its magnitude.
func (f *formatter) signed(d *directive, negative bool, text string) {
	if d.has(',') {
		text = Grouped(text)
	}
	before, after := "", ""
	switch {
	case negative && d.has('('):
		before, after = "(", ")"
	case negative:
		before = "-"
	case d.has('+'):
		before = "+"
	case d.has(' '):
		before = " "
	}
	if d.has('0') {
		text = strings.Repeat("0", max(0, d.width-len(text)-len(before)-len(after))) + text
	}
	f.pad(d, before+text+after)
}

// Grouped puts commas between groups of three digits of the whole part.
func Grouped(s string) string {
	whole, rest := s, ""
	if i := strings.IndexByte(s, '.'); i >= 0 {
		whole, rest = s[:i], s[i:]
	}
	var b strings.Builder
	for i := range len(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(whole[i])
	}
	return b.String() + rest
}

func (f *formatter) float(d *directive, x float64) bool {
	if x-x != 0 {
		text := strings.TrimPrefix(vector.DoubleText(x), "-")
		plain := directive{flags: strings.NewReplacer("0", "", ",", "").Replace(d.flags), width: d.width, upper: d.upper}
		f.signed(&plain, x < 0, text)
		return true
	}
	precision := d.precision
	if precision < 0 {
		precision = 6
	}
	abs, text := math.Abs(x), ""
	switch d.conversion {
	case 'f':
		text = fixedText(abs, precision)
	case 'e':
		text = exponentText(abs, precision)
	case 'g':
		precision = max(precision, 1)
		if text = exponentText(abs, precision-1); abs == 0 {
			text = fixedText(0, precision-1)
		} else if exponent, _ := strconv.Atoi(text[strings.IndexByte(text, 'e')+1:]); exponent >= -4 && exponent < precision {
			text = fixedText(abs, precision-1-exponent)
		}
	default:
		text = hexFloat(abs, d.precision)
	}
	f.signed(d, math.Signbit(x), text)
	return true
}

// decimalDigits returns the shortest digits of x >= 0 and where the point is: x = 0.digits *
// 10^point.
func decimalDigits(x float64) (digits string, point int) {
	if x == 0 {
		return "", 0
	}
	s := strconv.FormatFloat(x, 'e', -1, 64)
	if s[1] != '.' { // two digits are nearer: 4.9e-324
		s = strconv.FormatFloat(x, 'e', 1, 64)
	}
	i := strings.IndexByte(s, 'e')
	exponent, _ := strconv.Atoi(s[i+1:])
	return strings.Replace(s[:i], ".", "", 1), exponent + 1
}

// roundDigits keeps n digits, rounding half up; the result may have one digit more, in front.
func roundDigits(digits string, n int) (string, bool) {
	if n >= len(digits) {
		return digits, false
	}
	if n < 0 {
		return "", false
	}
	kept := []byte(digits[:n])
	if digits[n] < '5' {
		return string(kept), false
	}
	for i := len(kept) - 1; i >= 0; i-- {
		if kept[i] < '9' {
			kept[i]++
			return string(kept), false
		}
		kept[i] = '0'
	}
	return "1" + string(kept), true
}

// fixedText writes x with a number of decimal places. Java rounds the shortest decimal text half
// up, not the binary value.
func fixedText(x float64, places int) string {
	digits, point := decimalDigits(x)
	digits, carried := roundDigits(digits, point+places)
	if carried {
		point++
	}
	whole := "0"
	if point > 0 {
		whole = digits[:min(point, len(digits))] + strings.Repeat("0", max(0, point-len(digits)))
	}
	if places == 0 {
		return whole
	}
	fraction := ""
	if point <= 0 {
		fraction = strings.Repeat("0", min(-point, places)) + digits
	} else if point < len(digits) {
		fraction = digits[point:]
	}
	return whole + "." + (fraction + strings.Repeat("0", places))[:places]
}

func exponentText(x float64, places int) string {
	digits, point := decimalDigits(x)
	if digits == "" {
		digits, point = "0", 1
	}
	digits, carried := roundDigits(digits, places+1)
	if carried {
		point++
	}
	digits += strings.Repeat("0", max(0, places+1-len(digits)))
	text := digits[:1]
	if places > 0 {
		text += "." + digits[1:places+1]
	}
	exponent := point - 1
	sign := "+"
	if exponent < 0 {
		sign, exponent = "-", -exponent
	}
	if exponent < 10 {
		sign += "0"
	}
	return text + "e" + sign + strconv.Itoa(exponent)
}

// hexFloat writes x as Java's Double.toHexString: 0x1.0p0.
func hexFloat(x float64, precision int) string {
	s := strconv.FormatFloat(x, 'x', precision, 64)
	mantissa, exponent, _ := strings.Cut(s, "p")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return mantissa + "p" + strconv.Itoa(n)
}

// timeLayouts are the conversions of dates and times that are needed; %t works on milliseconds, in
// UTC.
var timeLayouts = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'e': "2", 'H': "15", 'I': "03", 'M': "04", 'S': "05", 'L': "000", 'p': "pm",
	'B': "January", 'b': "Jan", 'h': "Jan", 'A': "Monday", 'a': "Mon", 'j': "002", 'R': "15:04", 'T': "15:04:05", 'r': "03:04:05 PM",
	'D': "01/02/06", 'F': "2006-01-02", 'k': "15", 'l': "3", 'z': "-0700", 'Z': "MST", 'c': "Mon Jan 02 15:04:05 MST 2006",
}

func (f *formatter) time(d *directive, unit byte, arg any) bool {
	ms, ok := arg.(int64)
	if !ok {
		return f.null(d, arg)
	}
	at := time.UnixMilli(ms).UTC()
	layout, known := timeLayouts[unit]
	switch {
	case unit == 's':
		f.pad(d, strconv.FormatInt(ms/1000, 10))
	case unit == 'Q':
		f.pad(d, strconv.FormatInt(ms, 10))
	case unit == 'L':
		f.pad(d, at.Format(".000")[1:])
	case known:
		f.pad(d, at.Format(layout))
	}
	return known || unit == 's' || unit == 'Q'
}
