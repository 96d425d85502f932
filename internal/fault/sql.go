package fault

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Span is a place in a SQL text: 1-based lines and columns (columns count characters), the end
// inclusive. The zero value is no place.
type Span struct {
	Line, Column, EndLine, EndColumn int32
}

// IsZero reports whether s is no place.
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

// Placed returns err with the place of what failed in its context, if it is an Error without one:
// the fact is known deep below the place. The message stays.
func Placed(err error, place Span) error {
	if place.IsZero() {
		return err
	}
	if f, ok := errors.AsType[*Error](err); ok && f.Context["line"] == "" {
		return f.at(place)
	}
	return err
}

// SQLParse is for a statement that does not parse. The message is taken as it is: parser messages
// place their position themselves.
func SQLParse(at Span, format string, args ...any) *Error {
	e := InvalidInput(format, args...)
	e.Legacy = LegacyParse
	return e.at(at)
}

// maxShownText is how many bytes of a text of the statement stand in a message.
const maxShownText = 4 << 10

// InvalidSQL is for a statement that parses but means nothing: unknown names, wrong types,
// misplaced aggregates. The place, if there is one, is appended to the message as " (line [L],
// column [C])". Texts of the statement that stand in the message are cut where they are very long.
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

// UnsupportedSQL is for a construct that is understood and not yet run. It says so with its place: 501.
func UnsupportedSQL(at Span, format string, args ...any) *Error {
	return Unsupported("%s", fmt.Sprintf(format, plain(args)...)+at.suffix()).at(at)
}

func (s Span) suffix() string {
	if s.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (line [%d], column [%d])", s.Line, s.Column)
}
