package pgwire

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// wireError is an error with what PostgreSQL tells beside the message.
type wireError struct {
	code, message, detail, hint string
	position                    int // in characters, from 1; 0: none
	where                       string
}

func (e *wireError) Error() string { return e.message }

func failure(code, format string, args ...any) *wireError {
	return &wireError{code: code, message: fmt.Sprintf(format, args...)}
}

func (e *wireError) withDetail(detail string) *wireError { e.detail = detail; return e }

func (e *wireError) withHint(hint string) *wireError { e.hint = hint; return e }

// states are the SQLSTATEs of the categories of faults.
var states = map[fault.Category]string{
	fault.CategoryInvalidInput: "22023", fault.CategoryUnauthorized: "28000", fault.CategoryForbidden: "42501",
	fault.CategoryNotFound: "42704",
	fault.CategoryConflict: "55006", fault.CategoryCapacityExceeded: "53300", fault.CategoryCanceled: "57014", fault.CategoryTimeout: "57014",
	fault.CategoryUnsupported: "0A000", fault.CategoryServiceUnavailable: "57P03", fault.CategoryRuntimeFailure: "58000",
	fault.CategoryDefensive: "XX000", fault.CategoryUncategorized: "XX000",
}

// explain turns any error into what a client is told. source gives the byte of the client's text
// for a line and a column of the engine's; nil: there is none. text is the client's.
func (c *session) explain(err error, text string, source func(line, column int) int) *wireError {
	if e, ok := errors.AsType[*wireError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*pg.Error](err); ok {
		return &wireError{code: e.Code, message: e.Message, position: position(text, e.At)}
	}
	if e, ok := errors.AsType[*pgtype.ValueError](err); ok {
		return &wireError{code: e.Code, message: e.Message}
	}
	f := fault.Find(err)
	if f == nil {
		f = fault.Classify(err)
	}
	if auth.IsRefusal(err) {
		return failure("42501", "permission denied")
	}
	if f.Category == fault.CategoryDefensive {
		c.server.log.ErrorContext(c.ctx, "PostgreSQL statement failed", "error", err)
	}
	out := &wireError{code: states[f.Category], message: positionInText.ReplaceAllString(f.Message, "")}
	if out.code == "" {
		out.code = "XX000"
	}
	line, _ := strconv.Atoi(f.Context["line"]) // none: 0
	column, _ := strconv.Atoi(f.Context["column"])
	if line > 0 {
		out.code = sqlState(f.Message, out.code)
		if source != nil {
			out.position = position(text, source(line, column))
		}
	}
	if errors.Is(err, context.Canceled) {
		out.code = "57014"
	}
	return out
}

// positionInText is how messages of package sql give a position, which is one in the translated
// text.
var positionInText = regexp.MustCompile(` \(line \[\d+\], column \[\d+\]\)`)

// position counts characters, from 1.
func position(text string, at int) int {
	if at < 0 || at > len(text) {
		return 0
	}
	return utf8.RuneCountInString(text[:at]) + 1
}

func (e *wireError) message3(severity string) *pgproto3.ErrorResponse {
	return &pgproto3.ErrorResponse{Severity: severity, SeverityUnlocalized: severity, Code: e.code, Message: e.message, Detail: e.detail,
		Hint: e.hint, Position: int32(e.position), Where: e.where}
}
