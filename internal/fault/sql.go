package fault

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Span is a range in an SQL text: lines and columns start at 1, columns count characters, and the
// end is inclusive. The zero value means that the position is unknown.
type Span struct {
	Line, Column, EndLine, EndColumn int32
}

// IsZero reports whether the position is unknown.
func (s Span) IsZero() bool { return s.Line == 0 }

// To returns the span from the start of s to the end of t.
func (s Span) To(t Span) Span {
	if s.IsZero() {
		return t
	}
	if t.IsZero() {
		return s
	}
	return Span{Line: s.Line, Column: s.Column, EndLine: t.EndLine, EndColumn: t.EndColumn}
}

func (e *Error) at(s Span) *Error {
	e = e.With("sourceType", "sql")
	if s.IsZero() {
		return e
	}
	e.Context["line"] = strconv.Itoa(int(s.Line))
	e.Context["column"] = strconv.Itoa(int(s.Column))
	e.Context["endLine"] = strconv.Itoa(int(s.EndLine))
	e.Context["endColumn"] = strconv.Itoa(int(s.EndColumn))
	return e
}

// WithPosition adds a position to the context of err if it is an Error without a position, because
// the code that detects an error often does not know the position. The message is unchanged.
func WithPosition(err error, span Span) error {
	if span.IsZero() {
		return err
	}
	if f, ok := errors.AsType[*Error](err); ok && f.Context["line"] == "" {
		return f.at(span)
	}
	return err
}

// SQLParse returns the fault of a statement with a syntax error. The message is used unchanged,
// because messages of the parser contain the position.
func SQLParse(at Span, format string, args ...any) *Error {
	e := InvalidInput(format, args...)
	e.Legacy = LegacyParse
	return e.at(at)
}

// maxShownText is how many bytes of a text of the statement stand in a message.
const maxShownText = 4 << 10

// InvalidSQL returns the fault of a statement that is syntactically valid but semantically invalid:
// unknown names, wrong types, misplaced aggregates. The position, if known, is appended to the
// message as " (line [L], column [C])". Very long excerpts of the statement in the message are
// truncated.
func InvalidSQL(at Span, format string, args ...any) *Error {
	for i, a := range args {
		if s, ok := a.(string); ok && len(s) > maxShownText {
			args = slices.Clone(args)
			args[i] = strings.ToValidUTF8(s[:maxShownText], "") + "..."
		}
	}
	e := InvalidInput("%s", fmt.Sprintf(format, plain(args)...)+at.suffix())
	e.Legacy = LegacyValidation
	return e.at(at)
}

// UnsupportedSQL returns the fault of an unsupported construct, with its position: 501.
func UnsupportedSQL(at Span, format string, args ...any) *Error {
	return Unsupported("%s", fmt.Sprintf(format, plain(args)...)+at.suffix()).at(at)
}

func (s Span) suffix() string {
	if s.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (line [%d], column [%d])", s.Line, s.Column)
}
