// Package fault defines the error type that users see: the persona it addresses, the category of
// the failure, and a sentence that says what to do about it.
//
// The central type is Error. Code that detects a failure calls one of the constructors
// (InvalidInput, InvalidSQL, NotFound, ...); callers only wrap errors with fmt.Errorf("loading
// segment [%s]: %w", ...). The edge (package api/edge) finds the first Error in the chain and is
// the only place that turns it into a status and a body.
//
// Messages are sentences that remain complete without their values; a value follows its noun in
// brackets. They never contain row contents or secrets.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
)

// Persona is the intended reader of a message.
type Persona string

// The personas of Druid.
const (
	User      Persona = "USER"
	Admin     Persona = "ADMIN"
	Operator  Persona = "OPERATOR"
	Developer Persona = "DEVELOPER"
)

// Category is the kind of a failure. It determines the HTTP status (docs/sql.md).
type Category string

// The categories of Druid.
const (
	CategoryDefensive          Category = "DEFENSIVE"
	CategoryInvalidInput       Category = "INVALID_INPUT"
	CategoryUnauthorized       Category = "UNAUTHORIZED"
	CategoryForbidden          Category = "FORBIDDEN"
	CategoryNotFound           Category = "NOT_FOUND"
	CategoryConflict           Category = "CONFLICT"
	CategoryCapacityExceeded   Category = "CAPACITY_EXCEEDED"
	CategoryCanceled           Category = "CANCELED"
	CategoryRuntimeFailure     Category = "RUNTIME_FAILURE"
	CategoryServiceUnavailable Category = "SERVICE_UNAVAILABLE"
	CategoryTimeout            Category = "TIMEOUT"
	CategoryUnsupported        Category = "UNSUPPORTED"
	CategoryUncategorized      Category = "UNCATEGORIZED"
)

// Legacy is the old class name of an error, for clients of releases before 27 (the member "error"
// of a body).
type Legacy string

// The legacy classes that docs/sql.md describes.
const (
	LegacyNone          Legacy = ""
	LegacyParse         Legacy = "SQL parse failed"
	LegacyValidation    Legacy = "Plan validation failed"
	LegacyUnsupported   Legacy = "Unsupported operation"
	LegacyUnsupportedQ  Legacy = "Unsupported query"
	LegacyJSON          Legacy = "Json parse failed"
	LegacyContext       Legacy = "Query context parse failed"
	LegacyResourceLimit Legacy = "Resource limit exceeded"
	LegacyUnauthorized  Legacy = "Unauthorized request"
	LegacyCapacity      Legacy = "Query capacity exceeded"
	LegacyCancelled     Legacy = "Query cancelled"
	LegacyInterrupted   Legacy = "Query interrupted"
	LegacyTimeout       Legacy = "Query timeout"
	LegacyUnknown       Legacy = "Unknown exception"
)

// Error is a failure that a user may see. It is immutable after it is returned: With* methods copy
// it.
type Error struct {
	Persona  Persona
	Category Category
	// Code is the machine-readable errorCode of the body: "invalidInput", "general", "notFound", a
	// fault code of the multi-stage engine, ...
	Code string
	// Legacy is the class for old clients; empty: it is derived from the category.
	Legacy Legacy
	// Class overrides the errorClass derived from the category; it is almost always empty.
	Class   string
	Message string
	// Context contains facts besides the message (line, column, endLine, endColumn, sourceType, ...).
	// In JSON the values are strings.
	Context map[string]string

	cause error
}

// Error returns the message, followed by the private cause, for logs.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

// Unwrap returns the private cause, which is never sent to a client.
func (e *Error) Unwrap() error { return e.cause }

// With returns a copy whose context also contains key.
func (e *Error) With(key, value string) *Error {
	c := *e
	c.Context = make(map[string]string, len(e.Context)+1)
	maps.Copy(c.Context, e.Context)
	c.Context[key] = value
	return &c
}

// WithCause returns a copy that contains err for the log.
func (e *Error) WithCause(err error) *Error {
	c := *e
	c.cause = err
	return &c
}

// WithPanic returns a copy that contains the value and the stack of a panic for the log. It must be
// called where the panic is recovered, while its frames still exist.
func (e *Error) WithPanic(p any) *Error {
	return e.WithCause(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
}

// WithCode returns a copy with another error code.
func (e *Error) WithCode(code string) *Error {
	c := *e
	c.Code = code
	return &c
}

// WithLegacy returns a copy with another legacy class.
func (e *Error) WithLegacy(l Legacy) *Error {
	c := *e
	c.Legacy = l
	return &c
}

// Find returns the first Error in err's chain, or nil.
func Find(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}

func newError(p Persona, c Category, code, format string, args []any) *Error {
	return &Error{Persona: p, Category: c, Code: code, Message: fmt.Sprintf(format, plain(args)...)}
}

// InvalidInput returns the fault of a request with invalid content: 400.
func InvalidInput(format string, args ...any) *Error {
	return newError(User, CategoryInvalidInput, "invalidInput", format, args)
}

// Malformed returns the fault of a body that is not JSON or is JSON of the wrong shape: 400.
func Malformed(format string, args ...any) *Error {
	return InvalidInput(format, args...).WithLegacy(LegacyJSON)
}

// BadContext returns the fault of an invalid query context value: 400.
func BadContext(format string, args ...any) *Error {
	e := newError(Operator, CategoryInvalidInput, "legacyQueryException", format, args)
	e.Legacy = LegacyContext
	return e
}

// NotFound returns the fault of a named thing that does not exist: 404.
func NotFound(format string, args ...any) *Error {
	return newError(User, CategoryNotFound, "notFound", format, args)
}

// Unauthorized returns the fault of an unauthenticated caller: 401.
func Unauthorized(format string, args ...any) *Error {
	e := newError(User, CategoryUnauthorized, "general", format, args)
	e.Legacy = LegacyUnauthorized
	return e
}

// Forbidden returns the fault of a caller without the permission: 403.
func Forbidden(format string, args ...any) *Error {
	e := newError(User, CategoryForbidden, "forbidden", format, args)
	e.Legacy = LegacyUnauthorized
	return e
}

// Conflict returns the fault of a request that conflicts with the current state: 409.
func Conflict(format string, args ...any) *Error {
	return newError(User, CategoryConflict, "conflict", format, args)
}

// Unsupported returns the fault of a well-formed request for an unsupported feature: 501.
func Unsupported(format string, args ...any) *Error {
	e := newError(User, CategoryUnsupported, "unsupported", format, args)
	e.Legacy = LegacyUnsupported
	return e
}

// RetryAfter is the context key for the number of seconds after which to retry.
const RetryAfter = "retryAfter"

// Capacity returns the fault of a request that is rejected because too many requests are running:
// 429.
func Capacity(format string, args ...any) *Error {
	e := newError(Operator, CategoryCapacityExceeded, "legacyQueryException", format, args)
	e.Legacy = LegacyCapacity
	return e
}

// ResourceLimit returns the fault of a query that would exceed a limit of memory, rows or disk:
// 400.
func ResourceLimit(format string, args ...any) *Error {
	e := newError(Operator, CategoryInvalidInput, "legacyQueryException", format, args)
	e.Legacy = LegacyResourceLimit
	return e
}

// Unavailable returns the fault of a part of the system that is temporarily unreachable: 503.
func Unavailable(format string, args ...any) *Error {
	return newError(Operator, CategoryServiceUnavailable, "general", format, args)
}

// Canceled returns the fault of work that was canceled on request: 500.
func Canceled(format string, args ...any) *Error {
	e := newError(Operator, CategoryCanceled, "legacyQueryException", format, args)
	e.Legacy = LegacyCancelled
	return e
}

// Timeout returns the fault of work that exceeded its timeout: 504.
func Timeout(format string, args ...any) *Error {
	e := newError(Operator, CategoryTimeout, "legacyQueryException", format, args)
	e.Legacy = LegacyTimeout
	return e
}

// Runtime returns the fault of a failure at run time that the environment caused, not the request:
// 500.
func Runtime(format string, args ...any) *Error {
	e := newError(Operator, CategoryRuntimeFailure, "general", format, args)
	e.Legacy = LegacyUnknown
	return e
}

// Defensive returns the fault of a violated assumption of Henge's own code: 500.
func Defensive(format string, args ...any) *Error {
	e := newError(Developer, CategoryDefensive, "internalServerError", format, args)
	e.Legacy = LegacyUnknown
	return e
}
