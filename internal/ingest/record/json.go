package record

import (
	"github.com/valyala/fastjson"

	"github.com/hengedb/henge/internal/expr"
)

// AppendParsed appends v as compact JSON. Members keep their order, and numbers are formatted as in
// other JSON values. (The printer of fastjson escapes strings as Go does, which is not valid JSON.)
func AppendParsed(dst []byte, v *fastjson.Value) []byte {
	switch v.Type() {
	case fastjson.TypeObject:
		dst = append(dst, '{')
		first := true
		v.GetObject().Visit(func(key []byte, member *fastjson.Value) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = AppendJSONString(dst, key)
			dst = append(dst, ':')
			dst = AppendParsed(dst, member)
		})
		return append(dst, '}')
	case fastjson.TypeArray:
		dst = append(dst, '[')
		for i, e := range v.GetArray() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendParsed(dst, e)
		}
		return append(dst, ']')
	case fastjson.TypeString:
		return AppendJSONString(dst, v.GetStringBytes())
	case fastjson.TypeNumber:
		at := len(dst)
		dst = v.MarshalTo(dst)
		return expr.AppendJSONNumber(dst[:at], string(dst[at:]))
	default:
		return v.MarshalTo(dst)
	}
}

// AppendParsedText appends v converted to a string, like AppendText.
func AppendParsedText(dst []byte, v *fastjson.Value) []byte {
	switch v.Type() {
	case fastjson.TypeString:
		return append(dst, v.GetStringBytes()...)
	case fastjson.TypeObject:
		dst = append(dst, '{')
		first := true
		v.GetObject().Visit(func(key []byte, member *fastjson.Value) {
			if !first {
				dst = append(dst, ", "...)
			}
			first = false
			dst = AppendParsedText(append(append(dst, key...), '='), member)
		})
		return append(dst, '}')
	case fastjson.TypeArray:
		dst = append(dst, '[')
		for i, e := range v.GetArray() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = AppendParsedText(dst, e)
		}
		return append(dst, ']')
	}
	return AppendParsed(dst, v)
}

const hexDigits = "0123456789abcdef"

// AppendJSONString appends s in quotes, and escapes only what JSON requires.
func AppendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range s {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
