package pgtype

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Parse parses the text of a value of a type. For reg types it accepts only numbers; the catalog
// resolves names.
func Parse(t OID, text string, zone *time.Location) (any, error) {
	if e := ElementOf(t); e != 0 && t != Int2Vector && t != OIDVector {
		return parseArray(t, e, text, zone)
	}
	trimmed := strings.TrimSpace(text)
	switch t {
	case Bool:
		switch s := strings.ToLower(trimmed); {
		case s != "" && (strings.HasPrefix("true", s) || strings.HasPrefix("yes", s)) || s == "on" || s == "1":
			return true, nil
		case s != "" && (strings.HasPrefix("false", s) || strings.HasPrefix("no", s)) || s == "off" || s == "of" || s == "0":
			return false, nil
		}
		return nil, invalid(t, text)
	case Int2, Int4, Int8:
		bits := map[OID]int{Int2: 16, Int4: 32, Int8: 64}[t]
		n, err := strconv.ParseInt(trimmed, 10, bits)
		if err != nil {
			if errors.Is(err, strconv.ErrRange) {
				return nil, outOfRange(t, text)
			}
			return nil, invalid(t, text)
		}
		return n, nil
	case Float4, Float8:
		bits := 64
		if t == Float4 {
			bits = 32
		}
		f, err := strconv.ParseFloat(trimmed, bits)
		if err != nil {
			if errors.Is(err, strconv.ErrRange) {
				return nil, outOfRange(t, text)
			}
			return nil, invalid(t, text)
		}
		return f, nil
	case NumericT:
		return parseNumeric(text, trimmed)
	case Bytea:
		return parseBytes(text)
	case DateType, TimestampT, Timestamptz:
		return parseTime(t, trimmed, zone)
	case IntervalT:
		return ParseInterval(trimmed)
	case UUID:
		b, err := hex.DecodeString(strings.ReplaceAll(strings.Trim(trimmed, "{}"), "-", ""))
		if err != nil || len(b) != 16 {
			return nil, invalid(t, text)
		}
		s := hex.EncodeToString(b)
		return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:], nil
	case JSON, JSONB:
		if !json.Valid([]byte(text)) {
			return nil, invalid(t, text)
		}
		return text, nil
	case Int2Vector, OIDVector:
		a := &Array{Elem: ElementOf(t)}
		for f := range strings.FieldsSeq(text) {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return nil, invalid(t, text)
			}
			a.Items = append(a.Items, n)
		}
		return a, nil
	case Char:
		if text == "" {
			return "", nil
		}
		return text[:1], nil
	}
	if t.IsOID() {
		if trimmed == "-" {
			return int64(0), nil
		}
		n, err := strconv.ParseInt(trimmed, 10, 64)
		if err != nil || n < math.MinInt32 || n > math.MaxUint32 {
			return nil, invalid(t, text)
		}
		return int64(uint32(n)), nil
	}
	return text, nil
}

var numericForm = regexp.MustCompile(`^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?$`)

func parseNumeric(text, trimmed string) (any, error) {
	if strings.EqualFold(trimmed, "nan") {
		return Numeric("NaN"), nil
	}
	m := numericForm.FindStringSubmatch(trimmed)
	if m == nil || m[2] == "" && m[3] == "" {
		return nil, invalid(NumericT, text)
	}
	whole, part := m[2], m[3]
	if m[4] != "" {
		e, _ := strconv.Atoi(m[4])
		if e > 1000 || e < -1000 {
			return nil, outOfRange(NumericT, text)
		}
		for ; e > 0; e-- {
			if part == "" {
				part = "0"
			}
			whole, part = whole+part[:1], part[1:]
		}
		for ; e < 0; e++ {
			if whole == "" {
				whole = "0"
			}
			whole, part = whole[:len(whole)-1], whole[len(whole)-1:]+part
		}
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	out := whole
	if part != "" {
		out += "." + part
	}
	if m[1] == "-" && strings.Trim(out, "0.") != "" {
		out = "-" + out
	}
	return Numeric(out), nil
}

func parseBytes(text string) (any, error) {
	if rest, ok := strings.CutPrefix(text, `\x`); ok {
		b, err := hex.DecodeString(strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\r\n", r) {
				return -1
			}
			return r
		}, rest))
		if err != nil {
			return nil, &ValueError{"invalid hexadecimal data in bytea", "22023"}
		}
		return b, nil
	}
	var out []byte
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\\':
			out = append(out, text[i])
		case i+1 < len(text) && text[i+1] == '\\':
			out = append(out, '\\')
			i++
		default:
			if i+3 >= len(text) {
				return nil, invalid(Bytea, text)
			}
			n, err := strconv.ParseUint(text[i+1:i+4], 8, 8)
			if err != nil {
				return nil, invalid(Bytea, text)
			}
			out = append(out, byte(n))
			i += 3
		}
	}
	return out, nil
}

// timeForms are the texts of points in time that are read, each also with a zone behind it.
var timeForms = []string{
	"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02", "20060102",
	"2006/01/02 15:04:05", "2006/01/02", "Jan 2, 2006", "January 2, 2006",
}

var zoneForms = []string{"", "Z07:00", "Z07", "-07:00", "-07", "-0700", " Z07:00", " -07:00", " -07", " -0700", " MST"}

func parseTime(t OID, text string, zone *time.Location) (any, error) {
	if zone == nil {
		zone = time.UTC
	}
	switch strings.ToLower(text) {
	case "infinity":
		return PositiveInfinity, nil
	case "-infinity":
		return NegativeInfinity, nil
	case "epoch":
		if t == DateType {
			return Date(0), nil
		}
		return Timestamp(0), nil
	}
	bc := false
	if rest, ok := strings.CutSuffix(text, " BC"); ok {
		text, bc = rest, true
	}
	at := time.UTC
	if t == Timestamptz {
		at = zone
	}
	for _, form := range timeForms {
		for _, z := range zoneForms {
			x, err := time.ParseInLocation(form+z, text, at)
			if err != nil {
				continue
			}
			if z == " MST" {
				name := text[strings.LastIndexByte(text, ' ')+1:]
				named, err := time.LoadLocation(name)
				if err != nil {
					continue
				}
				x = time.Date(x.Year(), x.Month(), x.Day(), x.Hour(), x.Minute(), x.Second(), x.Nanosecond(), named)
			}
			if bc {
				x = x.AddDate(1-2*x.Year(), 0, 0)
			}
			if t != Timestamptz { // the zone is not looked at
				x = time.Date(x.Year(), x.Month(), x.Day(), x.Hour(), x.Minute(), x.Second(), x.Nanosecond(), time.UTC)
			}
			if t == DateType {
				return Date(floorDiv(x.Unix(), 86400)), nil
			}
			return Timestamp(x.UnixMicro()), nil
		}
	}
	return nil, &ValueError{invalid(t, text).Error(), "22007"}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

var intervalUnits = map[string]Interval{
	"year": {Months: 12}, "y": {Months: 12}, "yr": {Months: 12}, "mon": {Months: 1}, "month": {Months: 1}, "week": {Days: 7}, "w": {Days: 7},
	"day": {Days: 1}, "d": {Days: 1}, "hour": {Micros: 3600e6}, "h": {Micros: 3600e6}, "hr": {Micros: 3600e6}, "minute": {Micros: 60e6},
	"min": {Micros: 60e6}, "m": {Micros: 60e6}, "second": {Micros: 1e6}, "sec": {Micros: 1e6}, "s": {Micros: 1e6},
	"millisecond": {Micros: 1000}, "ms": {Micros: 1000}, "microsecond": {Micros: 1}, "us": {Micros: 1}, "decade": {Months: 120},
	"century": {Months: 1200}, "quarter": {Months: 3},
}

var intervalPart = regexp.MustCompile(`^([+-]?[0-9]*\.?[0-9]+)\s*([a-z]+)?\s*`)
var intervalClock = regexp.MustCompile(`^([+-]?)([0-9]+):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?\s*`)
var isoForm = regexp.MustCompile(`^(-?)p(?:(\d+)y)?(?:(\d+)m)?(?:(\d+)w)?(?:(\d+)d)?(?:t(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?)?$`)

// ParseInterval parses the text of an interval.
func ParseInterval(text string) (any, error) {
	rest := strings.ToLower(strings.TrimSpace(text))
	bad := &ValueError{invalid(IntervalT, text).Error(), "22007"}
	var out Interval
	if m := isoForm.FindStringSubmatch(rest); m != nil && len(rest) > 1 {
		n := func(i int) int32 { v, _ := strconv.ParseInt(m[i], 10, 32); return int32(v) }
		s, _ := strconv.ParseFloat(m[8], 64)
		out = Interval{n(2)*12 + n(3), n(4)*7 + n(5), int64(n(6))*3600e6 + int64(n(7))*60e6 + int64(math.Round(s*1e6))}
		if m[1] != "" {
			out = Interval{-out.Months, -out.Days, -out.Micros}
		}
		return out, nil
	}
	if rest == "" {
		return nil, bad
	}
	for rest != "" {
		if ago, ok := strings.CutPrefix(rest, "ago"); ok && ago == "" {
			return Interval{-out.Months, -out.Days, -out.Micros}, nil
		}
		if m := intervalClock.FindStringSubmatch(rest); m != nil {
			h, err := strconv.ParseInt(m[2], 10, 32)
			if err != nil {
				return nil, bad
			}
			mm, _ := strconv.Atoi(m[3])
			ss, _ := strconv.Atoi(m[4])
			us, _ := strconv.Atoi((m[5] + "000000")[:6])
			v := h*3600e6 + int64(mm)*60e6 + int64(ss)*1e6 + int64(us)
			if m[1] == "-" {
				v = -v
			}
			out.Micros += v
			rest = rest[len(m[0]):]
			continue
		}
		m := intervalPart.FindStringSubmatch(rest)
		if m == nil {
			return nil, bad
		}
		unit := m[2]
		if unit == "" {
			unit = "second"
		}
		u, ok := intervalUnits[unit]
		if !ok {
			u, ok = intervalUnits[strings.TrimSuffix(unit, "s")]
		}
		if unit == "centuries" {
			u, ok = intervalUnits["century"], true
		}
		f, err := strconv.ParseFloat(m[1], 64)
		if !ok || err != nil || math.Abs(f) > 1e9 {
			return nil, bad
		}
		out.Months += int32(f * float64(u.Months))
		days := f * float64(u.Days)
		out.Days += int32(days)
		out.Micros += int64(math.Round(f*float64(u.Micros) + (days-math.Trunc(days))*86400e6))
		rest = rest[len(m[0]):]
	}
	return out, nil
}

// maxArrayDepth bounds the dimensions of arrays, as PostgreSQL does.
const maxArrayDepth = 6

func parseArray(t, elem OID, text string, zone *time.Location) (any, error) {
	bad := &ValueError{"malformed array literal: " + strconv.Quote(text), "22P02"}
	rest := strings.TrimSpace(text)
	if strings.HasPrefix(rest, "[") {
		_, after, ok := strings.Cut(rest, "=")
		if !ok {
			return nil, bad
		}
		rest = strings.TrimSpace(after)
	}
	var read func(depth int) (*Array, error)
	read = func(depth int) (*Array, error) {
		if !strings.HasPrefix(rest, "{") || depth > maxArrayDepth {
			return nil, bad
		}
		rest = rest[1:]
		a := &Array{Elem: elem, Lower: 1}
		for {
			rest = strings.TrimLeft(rest, " \t\r\n")
			switch {
			case rest == "":
				return nil, bad
			case rest[0] == '}':
				rest = rest[1:]
				return a, nil
			case rest[0] == '{':
				inner, err := read(depth + 1)
				if err != nil {
					return nil, err
				}
				a.Items = append(a.Items, inner)
			default:
				word, quoted, ok := arrayWord(&rest)
				if !ok {
					return nil, bad
				}
				if !quoted && strings.EqualFold(word, "null") {
					a.Items = append(a.Items, nil)
					break
				}
				v, err := Parse(elem, word, zone)
				if err != nil {
					return nil, err
				}
				a.Items = append(a.Items, v)
			}
			rest = strings.TrimLeft(rest, " \t\r\n")
			if strings.HasPrefix(rest, ",") {
				rest = rest[1:]
			} else if !strings.HasPrefix(rest, "}") {
				return nil, bad
			}
		}
	}
	a, err := read(1)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(rest) != "" {
		return nil, bad
	}
	return a, nil
}

// arrayWord cuts one element off rest.
func arrayWord(rest *string) (word string, quoted, ok bool) {
	var b strings.Builder
	s := *rest
	i := 0
	inQuotes := false
	for ; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
			quoted = true
		case c == '"':
			inQuotes = !inQuotes
			quoted = true
		case !inQuotes && (c == ',' || c == '}'):
			*rest = s[i:]
			word = b.String()
			if !quoted {
				word = strings.TrimSpace(word)
			}
			return word, quoted, word != "" || quoted
		case !inQuotes && c == '{':
			return "", false, false
		default:
			b.WriteByte(c)
		}
	}
	return "", false, false
}

// Decode decodes a binary value.
func Decode(t OID, b []byte) (any, error) {
	bad := &ValueError{"incorrect binary data format for type " + t.Name(), "22P03"}
	wide := func(n int) bool { return len(b) == n }
	switch t {
	case Bool:
		if !wide(1) {
			return nil, bad
		}
		return b[0] != 0, nil
	case Int2:
		if !wide(2) {
			return nil, bad
		}
		return int64(int16(binary.BigEndian.Uint16(b))), nil
	case Int4:
		if !wide(4) {
			return nil, bad
		}
		return int64(int32(binary.BigEndian.Uint32(b))), nil
	case Int8:
		if !wide(8) {
			return nil, bad
		}
		return int64(binary.BigEndian.Uint64(b)), nil
	case Float4:
		if !wide(4) {
			return nil, bad
		}
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b))), nil
	case Float8:
		if !wide(8) {
			return nil, bad
		}
		return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
	case TimestampT, Timestamptz:
		if !wide(8) {
			return nil, bad
		}
		v := Timestamp(binary.BigEndian.Uint64(b))
		if v != PositiveInfinity && v != NegativeInfinity {
			if v > PositiveInfinity-epoch {
				return nil, &ValueError{"timestamp out of range", "22008"}
			}
			v += epoch
		}
		return v, nil
	case DateType:
		if !wide(4) {
			return nil, bad
		}
		return Date(int64(int32(binary.BigEndian.Uint32(b))) + epoch/86400_000_000), nil
	case IntervalT:
		if !wide(16) {
			return nil, bad
		}
		return Interval{int32(binary.BigEndian.Uint32(b[12:])), int32(binary.BigEndian.Uint32(b[8:])), int64(binary.BigEndian.Uint64(b))}, nil
	case NumericT:
		return decodeNumeric(b, bad)
	case Bytea:
		return append([]byte{}, b...), nil
	case JSONB:
		if len(b) == 0 || b[0] != 1 {
			return nil, bad
		}
		return Parse(JSON, string(b[1:]), nil)
	case UUID:
		if !wide(16) {
			return nil, bad
		}
		return Parse(UUID, hex.EncodeToString(b), nil)
	}
	if t.IsOID() {
		if !wide(4) {
			return nil, bad
		}
		return int64(binary.BigEndian.Uint32(b)), nil
	}
	if e := ElementOf(t); e != 0 {
		return decodeArray(e, b, bad)
	}
	if !t.textInBinary() {
		return nil, &ValueError{"no binary input function available for type " + t.Name(), "42883"}
	}
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return nil, &ValueError{"invalid byte sequence for encoding \"UTF8\"", "22021"}
	}
	return string(b), nil
}

// textInBinary reports whether values in binary are their texts.
func (t OID) textInBinary() bool {
	const xml, cstring = 142, 2275
	return t.IsText() || t == 0 || t == JSON || t == xml || t == cstring
}

func decodeNumeric(b []byte, bad error) (any, error) {
	if len(b) < 8 {
		return nil, bad
	}
	n := int(binary.BigEndian.Uint16(b))
	weight := int(int16(binary.BigEndian.Uint16(b[2:])))
	sign := binary.BigEndian.Uint16(b[4:])
	scale := int(binary.BigEndian.Uint16(b[6:]))
	if len(b) != 8+2*n || scale > 16383 || weight > 4000 || weight < -4000 {
		return nil, bad
	}
	if sign == 0xC000 {
		return Numeric("NaN"), nil
	}
	digit := func(i int) string {
		d := 0
		if i >= 0 && i < n {
			d = int(binary.BigEndian.Uint16(b[8+2*i:]))
		}
		s := "0000" + strconv.Itoa(d)
		return s[len(s)-4:]
	}
	var whole, part strings.Builder
	for i := 0; i <= weight; i++ {
		whole.WriteString(digit(i))
	}
	for i := weight + 1; part.Len() < scale; i++ {
		part.WriteString(digit(i))
	}
	text := strings.TrimLeft(whole.String(), "0")
	if text == "" {
		text = "0"
	}
	if scale > 0 {
		text += "." + part.String()[:scale]
	}
	if sign == 0x4000 {
		text = "-" + text
	}
	return Numeric(text), nil
}

func decodeArray(elem OID, b []byte, bad error) (any, error) {
	if len(b) < 12 {
		return nil, bad
	}
	dims := int(int32(binary.BigEndian.Uint32(b)))
	given := OID(binary.BigEndian.Uint32(b[8:]))
	if dims < 0 || dims > maxArrayDepth || len(b) < 12+8*dims {
		return nil, bad
	}
	if elem == Any || elem.IsText() && given.IsText() {
		elem = given
	}
	if given != elem {
		return nil, &ValueError{"wrong element type", "42804"}
	}
	a := &Array{Elem: elem, Lower: 1}
	sizes := make([]int, dims)
	rest := b[12+8*dims:]
	for i, total := 0, 1; i < dims; i++ {
		sizes[i] = int(int32(binary.BigEndian.Uint32(b[12+8*i:])))
		if sizes[i] < 1 || sizes[i] > len(rest)/4 {
			return nil, bad
		}
		if total *= sizes[i]; total > len(rest)/4 { // an element has a length, at least
			return nil, bad
		}
	}
	var fill func(a *Array, sizes []int) error
	fill = func(a *Array, sizes []int) error {
		for range sizes[0] {
			if len(sizes) > 1 {
				inner := &Array{Elem: elem, Lower: 1}
				if len(rest) == 0 {
					return bad
				}
				if err := fill(inner, sizes[1:]); err != nil {
					return err
				}
				a.Items = append(a.Items, inner)
				continue
			}
			if len(rest) < 4 {
				return bad
			}
			n := int(int32(binary.BigEndian.Uint32(rest)))
			rest = rest[4:]
			if n == -1 {
				a.Items = append(a.Items, nil)
				continue
			}
			if n < 0 || n > len(rest) {
				return bad
			}
			v, err := Decode(elem, rest[:n])
			if err != nil {
				return err
			}
			a.Items = append(a.Items, v)
			rest = rest[n:]
		}
		return nil
	}
	if dims > 0 {
		if err := fill(a, sizes); err != nil {
			return nil, err
		}
	}
	if len(rest) > 0 {
		return nil, bad
	}
	return a, nil
}
