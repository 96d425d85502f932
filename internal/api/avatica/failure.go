package avatica

import (
	"context"
	"errors"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// Codes of failures (org.apache.calcite.avatica.AvaticaClientRuntimeException). Drivers reopen a
// connection, or prepare a statement again, when a response says that it does not exist.
const (
	codeUnknown      = -1
	codeNoConnection = 1
	codeUnauthorized = 2
)

// noConnection says that a connection is not, or no longer, here.
type noConnection struct{ id string }

func (e *noConnection) Error() string { return "connection [" + e.id + "] is not open" }

// refusal is a failure of a request that is none of a query.
type refusal struct{ text string }

func (e *refusal) Error() string { return e.text }

// The class names of such failures that drivers and users expect.
const (
	classNoConnection = "org.apache.calcite.avatica.NoSuchConnectionException"
	classState        = "ISE"
	classQuery        = "QueryInterruptedException"
	classForbidden    = "ForbiddenException"
)

// failed makes the answer of an error. What users are told of a fault is its message.
func (a *API) failed(ctx context.Context, err error) *failure {
	out := &failure{Kind: "error", Code: codeUnknown, State: "00000", Severity: "UNKNOWN", Metadata: a.metadata()}
	var missing *noConnection
	var refused *refusal
	switch {
	case errors.As(err, &missing):
		out.Code, out.Severity, out.Exceptions = codeNoConnection, "ERROR", []string{classNoConnection}
		return out
	case errors.As(err, &refused):
		text := classState + ": " + refused.text
		out.Message, out.Exceptions = &text, []string{text}
		return out
	}
	f := fault.Find(err)
	if f == nil {
		f = fault.Classify(err)
	}
	if f.Category == fault.CategoryDefensive {
		a.log.ErrorContext(ctx, "JDBC request failed", "error", err)
	}
	class := classQuery
	if f.Category == fault.CategoryUnauthorized || auth.IsRefusal(err) {
		class, out.Code, out.State, out.Severity = classForbidden, codeUnauthorized, "00002", "ERROR"
	}
	text := class + ": " + f.Message
	out.Message, out.Exceptions = &text, []string{text}
	return out
}
