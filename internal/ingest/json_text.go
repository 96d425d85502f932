package ingest

import (
	"github.com/valyala/fastjson"

	"github.com/hengedb/henge/internal/expr"
)

// appendJSON appends v as compact JSON with its members in their order and its numbers as JSON
// values show them. (fastjson's own printer escapes strings as Go does, which is no JSON.)
func appendJSON(dst []byte, v *fastjson.Value) []byte {
	switch v.Type() {
	case fastjson.TypeObject:
		dst = append(dst, '{')
		first := true
		v.GetObject().Visit(func(key []byte, member *fastjson.Value) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendJSONString(dst, key)
			dst = append(dst, ':')
			dst = appendJSON(dst, member)
		})
		return append(dst, '}')
	case fastjson.TypeArray:
		dst = append(dst, '[')
		for i, e := range v.GetArray() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, e)
		}
		return append(dst, ']')
	case fastjson.TypeString:
		return appendJSONString(dst, v.GetStringBytes())
	case fastjson.TypeNumber:
		at := len(dst)
		dst = v.MarshalTo(dst)
		return expr.AppendJSONNumber(dst[:at], string(dst[at:]))
	default:
		return v.MarshalTo(dst)
	}
}

// appendText appends v as it becomes a string, as AppendText does.
func appendText(dst []byte, v *fastjson.Value) []byte {
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
			dst = appendText(append(append(dst, key...), '='), member)
		})
		return append(dst, '}')
	case fastjson.TypeArray:
		dst = append(dst, '[')
		for i, e := range v.GetArray() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendText(dst, e)
		}
		return append(dst, ']')
	}
	return appendJSON(dst, v)
}

const hexDigits = "0123456789abcdef"

// appendJSONString appends s in quotes, escaping only what JSON demands.
func appendJSONString(dst, s []byte) []byte {
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
