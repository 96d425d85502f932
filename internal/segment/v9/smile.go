package v9

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/vector"
)

// smileJSON returns a document in Smile, the binary form of JSON that nested values are kept in, as
// JSON text. The form is that of version 1.0.5 of its specification (smile-format-specification,
// FasterXML).
func smileJSON(part, document string) (string, error) {
	d := &smile{cursor: cursor{part: part, b: []byte(document)}}
	if head := string(d.take(3)); head != ":)\n" {
		return "", corrupt(part, "a nested value does not begin as such")
	}
	flags := d.byte()
	if flags>>4 != 0 {
		return "", unknown(part, "a nested value has version [%d]", flags>>4)
	}
	d.shareNames, d.shareTexts = flags&1 != 0, flags&2 != 0
	d.value(d.byte(), 0)
	if d.err != nil {
		return "", d.err
	}
	return string(d.out), nil
}

type smile struct {
	cursor
	out                    []byte
	shareNames, shareTexts bool
	names, texts           []string
}

// The tokens that end something.
const (
	smileArrayEnd  = 0xF9
	smileObjectEnd = 0xFB
	smileTextEnd   = 0xFC
)

// value appends the value that begins with a token.
func (d *smile) value(token byte, depth int) {
	if depth > maxNesting {
		d.fail("a nested value is nested deeper than [%d] levels", maxNesting)
		return
	}
	low := int(token & 0x1f)
	switch {
	case token >= 0x01 && token <= 0x1F:
		d.sharedText(low - 1)
	case token >= 0x20 && token <= 0x2A:
		d.literal(token)
	case token >= 0x40 && token <= 0x5F:
		d.text(string(d.take(low+1)), true)
	case token >= 0x60 && token <= 0x7F:
		d.text(string(d.take(low+33)), true)
	case token >= 0x80 && token <= 0x9F:
		d.text(string(d.take(low+2)), true)
	case token >= 0xA0 && token <= 0xBF:
		d.text(string(d.take(low+34)), true)
	case token >= 0xC0 && token <= 0xDF:
		d.out = strconv.AppendInt(d.out, zigzag(uint64(low)), 10)
	case token == 0xE0 || token == 0xE4:
		d.text(d.long(), false)
	case token >= 0xEC && token <= 0xEF:
		d.sharedText(int(token&3)<<8 | int(d.byte()))
	case token == 0xF8:
		d.array(depth)
	case token == 0xFA:
		d.object(depth)
	default:
		d.fail("a nested value has the token [%d]", token)
	}
}

// literal appends constants and numbers.
func (d *smile) literal(token byte) {
	switch token {
	case 0x20:
		d.out = append(d.out, `""`...)
	case 0x21:
		d.out = append(d.out, "null"...)
	case 0x22:
		d.out = append(d.out, "false"...)
	case 0x23:
		d.out = append(d.out, "true"...)
	case 0x24, 0x25:
		d.out = strconv.AppendInt(d.out, zigzag(d.vint()), 10)
	case 0x26:
		d.out = d.whole().Append(d.out, 10)
	case 0x28:
		d.number(float64(math.Float32frombits(uint32(d.sevens(5)))), 32)
	case 0x29:
		d.number(math.Float64frombits(d.sevens(10)), 64)
	case 0x2A:
		scale := zigzag(d.vint())
		d.out = d.whole().Append(d.out, 10)
		d.out = strconv.AppendInt(append(d.out, 'E'), -scale, 10)
	default:
		d.fail("a nested value has the token [%d]", token)
	}
}

// number appends a number; those that JSON has not are texts.
func (d *smile) number(x float64, bits int) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		d.out = append(vector.AppendDouble(append(d.out, '"'), x), '"')
		return
	}
	if bits == 32 {
		d.out = vector.AppendFloat(d.out, float32(x))
		return
	}
	d.out = vector.AppendDouble(d.out, x)
}

// vint reads 7 bits a byte, the highest first, and 6 of the last one, which has the highest bit
// set.
func (d *smile) vint() uint64 {
	v := uint64(0)
	for range 11 {
		b := d.byte()
		if b >= 0x80 {
			return v<<6 | uint64(b&0x3f)
		}
		v = v<<7 | uint64(b)
	}
	d.fail("a number of variable length is too long")
	return 0
}

func zigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// sevens reads n bytes of 7 bits, the highest first.
func (d *smile) sevens(n int) uint64 {
	v := uint64(0)
	for _, b := range d.take(n) {
		v = v<<7 | uint64(b&0x7f)
	}
	return v
}

// whole reads a number of any length: its bytes, as 7 bits each.
func (d *smile) whole() *big.Int {
	n := d.vint()
	if n > uint64(len(d.b)) {
		d.fail("a number of [%d] bytes has no room", n)
		return new(big.Int)
	}
	size := int(n)
	raw := d.take((size*8 + 6) / 7)
	value := new(big.Int)
	for i, b := range raw {
		bits := uint(7)
		if i == len(raw)-1 {
			bits = uint(size*8 - 7*i) // the last byte has what is left
		}
		value.Lsh(value, bits).Or(value, big.NewInt(int64(b&(1<<bits-1))))
	}
	if size > 0 && value.Bit(size*8-1) == 1 {
		value.Sub(value, new(big.Int).Lsh(big.NewInt(1), uint(size*8)))
	}
	return value
}

// long reads a text up to its end mark.
func (d *smile) long() string {
	end := bytes.IndexByte(d.b, smileTextEnd)
	if end < 0 {
		d.fail("a long text has no end")
		return ""
	}
	text := string(d.take(end))
	d.byte()
	return text
}

// text appends a text; short ones may be referred back to.
func (d *smile) text(s string, short bool) {
	if short && d.shareTexts && len(s) <= sharedBytes {
		if len(d.texts) == sharedTexts {
			d.texts = d.texts[:0]
		}
		d.texts = append(d.texts, s)
	}
	d.out = appendQuoted(d.out, s)
}

func (d *smile) sharedText(i int) {
	if i < 0 || i >= len(d.texts) {
		d.fail("a nested value refers to text [%d] of [%d]", i, len(d.texts))
		return
	}
	d.out = appendQuoted(d.out, d.texts[i])
}

func (d *smile) array(depth int) {
	d.out = append(d.out, '[')
	for first := true; d.err == nil; first = false {
		token := d.byte()
		if token == smileArrayEnd {
			break
		}
		if !first {
			d.out = append(d.out, ',')
		}
		d.value(token, depth+1)
	}
	d.out = append(d.out, ']')
}

func (d *smile) object(depth int) {
	d.out = append(d.out, '{')
	for first := true; d.err == nil; first = false {
		token := d.byte()
		if token == smileObjectEnd {
			break
		}
		if !first {
			d.out = append(d.out, ',')
		}
		d.out = append(appendQuoted(d.out, d.name(token)), ':')
		d.value(d.byte(), depth+1)
	}
	d.out = append(d.out, '}')
}

// name reads the name of a member.
func (d *smile) name(token byte) string {
	var name string
	switch {
	case token == 0x20:
		return ""
	case token >= 0x30 && token <= 0x33:
		return d.sharedName(int(token&3)<<8 | int(d.byte()))
	case token == 0x34:
		return d.long()
	case token >= 0x40 && token <= 0x7F:
		return d.sharedName(int(token & 0x3f))
	case token >= 0x80 && token <= 0xBF:
		name = string(d.take(int(token&0x3f) + 1))
	case token >= 0xC0 && token <= 0xF7:
		name = string(d.take(int(token-0xC0) + 2))
	default:
		d.fail("a nested value has the token [%d] for a name", token)
		return ""
	}
	if d.shareNames && len(name) <= sharedBytes {
		if len(d.names) == sharedNames {
			d.names = d.names[:0]
		}
		d.names = append(d.names, name)
	}
	return name
}

func (d *smile) sharedName(i int) string {
	if i >= len(d.names) {
		d.fail("a nested value refers to name [%d] of [%d]", i, len(d.names))
		return ""
	}
	return d.names[i]
}

// appendQuoted appends a JSON string.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c < ' ':
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
