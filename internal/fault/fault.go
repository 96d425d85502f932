// Package fault gives the one error type a user may see: who it is for, what kind of failure it is,
// and a sentence that says what to do about it.
//
// The central type is Error. Code that knows a fact a user needs returns one of the constructors
// (InvalidInput, InvalidSQL, NotFound, ...); on the way up errors are only wrapped with
// fmt.Errorf("loading segment [%s]: %w", ...). The edge (package api/edge) finds the first Error in
// the chain and is the only place that turns it into a status and a body.
//
// Messages are sentences that survive with the values taken out; a value follows its noun in
// brackets. They never hold row contents or secrets.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
)

// Persona is the reader a message is written for.
type Persona string

// The personas of the reference system.
const (
	User      Persona = "USER"
	Admin     Persona = "ADMIN"
	Operator  Persona = "OPERATOR"
	Developer Persona = "DEVELOPER"
)

// Category is the kind of a failure. It decides the HTTP status (spec/sql.md, section 2.2).
type Category string

// The categories of the reference system.
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

// Legacy is the older one-word class of an error that clients of releases before 27 switch on (the
// member "error" of a body).
type Legacy string

// The legacy classes of spec/sql.md, section 2.2.
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

// Error is a failure a user may see. It is immutable once returned: With* methods copy.
type Error struct {
	Persona  Persona
	Category Category
	// Code is the machine-readable code of the body's errorCode: "invalidInput", "general",
	// "notFound", a fault code of the multi-stage engine, ...
	Code string
	// Legacy is the class for old clients; empty: the edge derives it from the category.
	Legacy Legacy
	// Class overrides the errorClass that the edge would derive; empty in nearly all cases.
	Class   string
	Message string
	// Context holds facts beside the message (line, column, endLine, endColumn, sourceType, ...);
	// values are text on the wire.
	Context map[string]string

	cause error
}

// Error returns the message, with the private cause behind it for logs.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

// Unwrap returns the private cause, which never reaches a client.
func (e *Error) Unwrap() error { return e.cause }

// With returns a copy whose context also holds key.
func (e *Error) With(key, value string) *Error {
	c := *e
	c.Context = make(map[string]string, len(e.Context)+1)
	maps.Copy(c.Context, e.Context)
	c.Context[key] = value
	return &c
}

// WithCause returns a copy that carries err for the log.
func (e *Error) WithCause(err error) *Error {
	c := *e
	c.cause = err
	return &c
}

// WithPanic returns a copy that carries what a panic was and the stack for the log. It is called
// where the panic is recovered, while its frames are still there.
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

// InvalidInput is for a request whose content is wrong: 400.
func InvalidInput(format string, args ...any) *Error {
	return newError(User, CategoryInvalidInput, "invalidInput", format, args)
}

// Malformed is for a body that is no JSON or JSON of the wrong shape: 400.
func Malformed(format string, args ...any) *Error {
	return InvalidInput(format, args...).WithLegacy(LegacyJSON)
}

// BadContext is for a query context value that can't be read: 400.
func BadContext(format string, args ...any) *Error {
	e := newError(Operator, CategoryInvalidInput, "legacyQueryException", format, args)
	e.Legacy = LegacyContext
	return e
}

// NotFound is for a thing that was named and does not exist: 404.
func NotFound(format string, args ...any) *Error {
	return newError(User, CategoryNotFound, "notFound", format, args)
}

// Unauthorized is for a caller whom nobody knows: 401.
func Unauthorized(format string, args ...any) *Error {
	e := newError(User, CategoryUnauthorized, "general", format, args)
	e.Legacy = LegacyUnauthorized
	return e
}

// Forbidden is for a caller without the permission: 403.
func Forbidden(format string, args ...any) *Error {
	e := newError(User, CategoryForbidden, "forbidden", format, args)
	e.Legacy = LegacyUnauthorized
	return e
}

// Conflict is for a request that contradicts the present state: 409.
func Conflict(format string, args ...any) *Error {
	return newError(User, CategoryConflict, "conflict", format, args)
}

// Unsupported is for what is well-formed but not offered: 501.
func Unsupported(format string, args ...any) *Error {
	e := newError(User, CategoryUnsupported, "unsupported", format, args)
	e.Legacy = LegacyUnsupported
	return e
}

// Capacity is for a request refused because too much runs already: 429.
func Capacity(format string, args ...any) *Error {
	e := newError(Operator, CategoryCapacityExceeded, "legacyQueryException", format, args)
	e.Legacy = LegacyCapacity
	return e
}

// ResourceLimit is for a query that would break a limit of memory, rows or disk: 400.
func ResourceLimit(format string, args ...any) *Error {
	e := newError(Operator, CategoryInvalidInput, "legacyQueryException", format, args)
	e.Legacy = LegacyResourceLimit
	return e
}

// Unavailable is for a part of the system that can't be reached now: 503.
func Unavailable(format string, args ...any) *Error {
	return newError(Operator, CategoryServiceUnavailable, "general", format, args)
}

// Canceled is for work ended on request: 500.
func Canceled(format string, args ...any) *Error {
	e := newError(Operator, CategoryCanceled, "legacyQueryException", format, args)
	e.Legacy = LegacyCancelled
	return e
}

// Timeout is for work that took longer than allowed: 504.
func Timeout(format string, args ...any) *Error {
	e := newError(Operator, CategoryTimeout, "legacyQueryException", format, args)
	e.Legacy = LegacyTimeout
	return e
}

// Runtime is for a failure while running that is the environment's, not the request's: 500.
func Runtime(format string, args ...any) *Error {
	e := newError(Operator, CategoryRuntimeFailure, "general", format, args)
	e.Legacy = LegacyUnknown
	return e
}

// Defensive is for a broken assumption of our own code: 500.
func Defensive(format string, args ...any) *Error {
	e := newError(Developer, CategoryDefensive, "internalServerError", format, args)
	e.Legacy = LegacyUnknown
	return e
}
