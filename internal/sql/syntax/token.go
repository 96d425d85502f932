package syntax

import (
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// tokenKind is the lexical class of a token. Words of every kind are tokWord; their keyword tells
// them apart.
type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokWord
	tokQuotedName        // "x"
	tokUnicodeQuotedName // U&"x"
	tokInteger           // 12
	tokDecimal           // 1.2
	tokApprox            // 1e2
	tokString            // 'x'
	tokPrefixedString    // _UTF8'x' and N'x'
	tokUnicodeString     // U&'x'
	tokBinaryString      // X'0A'
	tokOpenQuote         // a quote that is never closed
	tokBad               // a character no token starts with
	tokLeftParen
	tokRightParen
	tokLeftBracket
	tokRightBracket
	tokLeftBrace
	tokRightBrace
	tokComma
	tokDot
	tokSemicolon
	tokColon
	tokDoubleColon
	tokQuestion
	tokPlus
	tokMinus
	tokStar
	tokSlash
	tokPercent
	tokConcat
	tokEqual
	tokNotEqual // <>
	tokBangEqual
	tokLess
	tokLessEqual
	tokGreater
	tokGreaterEqual
	tokArrow // =>
	tokCaret
	tokPipe
	tokenKindCount
)

// tokenImage is how a kind is named among the acceptable options of an error: literals in quotes,
// classes in angle brackets.
var tokenImage = [tokenKindCount]string{
	tokEOF:               "<EOF>",
	tokWord:              "<IDENTIFIER>",
	tokQuotedName:        "<QUOTED_IDENTIFIER>",
	tokUnicodeQuotedName: "<UNICODE_QUOTED_IDENTIFIER>",
	tokInteger:           "<UNSIGNED_INTEGER_LITERAL>",
	tokDecimal:           "<DECIMAL_NUMERIC_LITERAL>",
	tokApprox:            "<APPROX_NUMERIC_LITERAL>",
	tokString:            "<QUOTED_STRING>",
	tokPrefixedString:    "<PREFIXED_STRING_LITERAL>",
	tokUnicodeString:     "<UNICODE_STRING_LITERAL>",
	tokBinaryString:      "<BINARY_STRING_LITERAL>",
	tokLeftParen:         `"("`,
	tokRightParen:        `")"`,
	tokLeftBracket:       `"["`,
	tokRightBracket:      `"]"`,
	tokLeftBrace:         `"{"`,
	tokRightBrace:        `"}"`,
	tokComma:             `","`,
	tokDot:               `"."`,
	tokSemicolon:         `";"`,
	tokColon:             `":"`,
	tokDoubleColon:       `"::"`,
	tokQuestion:          `"?"`,
	tokPlus:              `"+"`,
	tokMinus:             `"-"`,
	tokStar:              `"*"`,
	tokSlash:             `"/"`,
	tokPercent:           `"%"`,
	tokConcat:            `"||"`,
	tokEqual:             `"="`,
	tokNotEqual:          `"<>"`,
	tokBangEqual:         `"!="`,
	tokLess:              `"<"`,
	tokLessEqual:         `"<="`,
	tokGreater:           `">"`,
	tokGreaterEqual:      `">="`,
	tokArrow:             `"=>"`,
	tokCaret:             `"^"`,
	tokPipe:              `"|"`,
}

// token is one lexical unit: its bytes in the text and its place in lines and columns, the end
// inclusive.
type token struct {
	kind                       tokenKind
	keyword                    keyword
	start, end                 uint32 // bytes, end exclusive
	line, col, endLine, endCol int32
}

func (t *token) span() fault.Span {
	return fault.Span{Line: t.line, Column: t.col, EndLine: t.endLine, EndColumn: t.endCol}
}

// isName reports whether t can be an identifier.
func (t *token) isName() bool {
	return t.kind == tokWord && !t.keyword.isReserved() || t.kind == tokQuotedName || t.kind == tokUnicodeQuotedName
}

// is reports whether t is the keyword k, unquoted.
func (t *token) is(k keyword) bool { return t.keyword == k && t.kind == tokWord }

// escapeToken writes a piece of the text the way error messages show it: quotes and backslashes
// behind a backslash, everything outside printable ASCII as \u and four hexadecimal digits.
func escapeToken(s string) string {
	var b strings.Builder
	for _, r := range s {
		appendEscaped(&b, r)
	}
	return b.String()
}

func appendEscaped(b *strings.Builder, r rune) {
	switch r {
	case '\b':
		b.WriteString(`\b`)
	case '\t':
		b.WriteString(`\t`)
	case '\n':
		b.WriteString(`\n`)
	case '\f':
		b.WriteString(`\f`)
	case '\r':
		b.WriteString(`\r`)
	case '"':
		b.WriteString(`\"`)
	case '\'':
		b.WriteString(`\'`)
	case '\\':
		b.WriteString(`\\`)
	default:
		switch {
		case 0x20 <= r && r <= 0x7e:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			appendUnit(b, 0xd800+r>>10)
			appendUnit(b, 0xdc00+r&0x3ff)
		default:
			appendUnit(b, r)
		}
	}
}

func appendUnit(b *strings.Builder, u rune) {
	const digits = "0123456789abcdef"
	b.WriteString(`\u`)
	for shift := 12; shift >= 0; shift -= 4 {
		b.WriteByte(digits[u>>shift&0xf])
	}
}
