package edge

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// Body is the error object of responses: the union of the members that old and new clients read.
type Body struct {
	Error        string            `json:"error"`
	ErrorClass   string            `json:"errorClass,omitempty"`
	Host         string            `json:"host,omitempty"`
	ErrorCode    string            `json:"errorCode"`
	Persona      fault.Persona     `json:"persona"`
	Category     fault.Category    `json:"category"`
	ErrorMessage string            `json:"errorMessage"`
	Context      map[string]string `json:"context"`
	// Access is "Unauthorized" in 403 responses, the only member that older tools read.
	Access string `json:"Access-Check-Result,omitempty"`
}

var statusOf = map[fault.Category]int{
	fault.CategoryDefensive:          http.StatusInternalServerError,
	fault.CategoryInvalidInput:       http.StatusBadRequest,
	fault.CategoryUnauthorized:       http.StatusUnauthorized,
	fault.CategoryForbidden:          http.StatusForbidden,
	fault.CategoryNotFound:           http.StatusNotFound,
	fault.CategoryConflict:           http.StatusConflict,
	fault.CategoryCapacityExceeded:   http.StatusTooManyRequests,
	fault.CategoryCanceled:           http.StatusInternalServerError,
	fault.CategoryRuntimeFailure:     http.StatusInternalServerError,
	fault.CategoryServiceUnavailable: http.StatusServiceUnavailable,
	fault.CategoryTimeout:            http.StatusGatewayTimeout,
	fault.CategoryUnsupported:        http.StatusNotImplemented,
	fault.CategoryUncategorized:      http.StatusInternalServerError,
}

// legacyOf is the legacy class of categories whose errors name none.
var legacyOf = map[fault.Category]fault.Legacy{
	fault.CategoryInvalidInput:       fault.LegacyValidation,
	fault.CategoryUnauthorized:       fault.LegacyUnauthorized,
	fault.CategoryForbidden:          fault.LegacyUnauthorized,
	fault.CategoryNotFound:           "druidException",
	fault.CategoryConflict:           "druidException",
	fault.CategoryCapacityExceeded:   fault.LegacyCapacity,
	fault.CategoryCanceled:           fault.LegacyCancelled,
	fault.CategoryTimeout:            fault.LegacyTimeout,
	fault.CategoryUnsupported:        fault.LegacyUnsupported,
	fault.CategoryServiceUnavailable: fault.LegacyUnknown,
}

// classOf is the errorClass that goes with a legacy class; clients print it, and one dies without
// it.
var classOf = map[fault.Legacy]string{
	fault.LegacyParse:         "org.apache.calcite.sql.parser.SqlParseException",
	fault.LegacyValidation:    "org.apache.calcite.tools.ValidationException",
	fault.LegacyUnsupported:   "org.apache.druid.query.QueryUnsupportedException",
	fault.LegacyUnsupportedQ:  "org.apache.druid.query.QueryUnsupportedException",
	fault.LegacyJSON:          "org.apache.druid.query.BadJsonQueryException",
	fault.LegacyContext:       "org.apache.druid.query.BadQueryContextException",
	fault.LegacyResourceLimit: "org.apache.druid.query.ResourceLimitExceededException",
	fault.LegacyUnauthorized:  "org.apache.druid.server.security.ForbiddenException",
	fault.LegacyCapacity:      "org.apache.druid.query.QueryCapacityExceededException",
	fault.LegacyCancelled:     "org.apache.druid.query.QueryInterruptedException",
	fault.LegacyInterrupted:   "org.apache.druid.query.QueryInterruptedException",
	fault.LegacyTimeout:       "org.apache.druid.query.QueryTimeoutException",
}

const defaultClass = "org.apache.druid.error.DruidException"

// withStatus marks a failure whose status its category does not say.
type withStatus struct {
	fault  *fault.Error
	status int
}

// Error returns the message.
func (e withStatus) Error() string { return e.fault.Error() }

// Unwrap returns the fault.
func (e withStatus) Unwrap() error { return e.fault }

// UnsupportedMedia returns the error for a request body with an unsupported media type.
func UnsupportedMedia(format string, args ...any) error {
	return withStatus{fault: fault.InvalidInput(format, args...).WithLegacy(fault.LegacyUnsupported), status: http.StatusUnsupportedMediaType}
}

// TooLarge returns the error for a request body that exceeds the limit of its endpoint: 413.
func TooLarge(format string, args ...any) error {
	return withStatus{fault: fault.InvalidInput(format, args...), status: http.StatusRequestEntityTooLarge}
}

// Status returns the HTTP status of an error.
func Status(err error) int {
	if marked, ok := errors.AsType[withStatus](err); ok {
		return marked.status
	}
	if s, ok := statusOf[fault.Classify(err).Category]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// Errors writes error bodies in the configured form.
type Errors struct {
	// Host is host:port of the process, a member of every body.
	Host string
	// Modern omits the members for old clients, ModernAlias only in responses under an alias.
	Modern, ModernAlias bool
	// Forbidden, if not nil, is called for each request without a required permission, and Unknown for
	// each request with invalid credentials.
	Forbidden, Unknown func()
	Log                *slog.Logger
}

// under returns what writes the bodies of answers to requests of a dialect.
func (e *Errors) under(d Dialect) *Errors {
	if e.Modern || !e.ModernAlias || !d.IsAlias() {
		return e
	}
	modern := *e
	modern.Modern = true
	return &modern
}

// Body returns the body for f.
func (e *Errors) Body(f *fault.Error) Body {
	legacy := f.Legacy
	if legacy == fault.LegacyNone {
		legacy = legacyOf[f.Category]
	}
	if legacy == fault.LegacyNone {
		legacy = fault.LegacyUnknown
	}
	b := Body{
		Error: string(legacy), ErrorClass: f.Class, Host: e.Host, ErrorCode: f.Code, Persona: f.Persona, Category: f.Category,
		ErrorMessage: f.Message, Context: f.Context,
	}
	if b.Context == nil {
		b.Context = map[string]string{}
	}
	if b.ErrorClass == "" {
		b.ErrorClass = classOf[legacy]
	}
	if b.ErrorClass == "" {
		b.ErrorClass = defaultClass
	}
	if f.Code == "legacyQueryException" {
		context := map[string]string{"host": e.Host, "errorClass": b.ErrorClass, "legacyErrorCode": b.Error}
		maps.Copy(context, f.Context)
		b.Context = context
	} else if e.Modern {
		b.Error, b.ErrorClass, b.Host = "druidException", "", ""
	}
	if f.Category == fault.CategoryForbidden {
		b.Access = "Unauthorized"
	}
	return b
}

// Write writes the status and the body of err. Internal failures are logged with their cause.
func (e *Errors) Write(w http.ResponseWriter, r *http.Request, err error) {
	f := fault.Classify(err)
	status := Status(err)
	e = e.under(DialectOf(r.Context()))
	e.log(r, status, err)
	if status == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
		w.Header().Set("WWW-Authenticate", "Basic")
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		seconds := f.Context[fault.RetryAfter]
		if seconds == "" {
			seconds = "1"
		}
		w.Header().Set("Retry-After", seconds)
	}
	if status == http.StatusForbidden && auth.IsRefusal(err) {
		e.forbid(w, r, f)
		return
	}
	WriteJSON(w, status, e.Body(f))
}

// forbid answers that a permission is missing, in the forms of docs/security.md.
func (e *Errors) forbid(w http.ResponseWriter, r *http.Request, f *fault.Error) {
	if e.Forbidden != nil {
		e.Forbidden()
	}
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/service-ext/basic-security/"):
		WriteText(w, http.StatusForbidden, "Access-Check-Result: Unauthorized")
	case strings.HasPrefix(path, "/service/v2/sql"):
		WriteJSON(w, http.StatusForbidden, e.Body(f))
	default:
		WriteJSON(w, http.StatusForbidden, map[string]string{"Access-Check-Result": "Unauthorized"})
	}
}

// alert tells the operator of a mistake in the code.
func (e *Errors) alert(ctx context.Context, message string, attrs ...any) {
	if e.Log != nil {
		e.Log.ErrorContext(ctx, message, attrs...)
	}
}

// log records what an operator should see: what is wrong with the server aloud, what is a caller's
// doing for those who debug.
func (e *Errors) log(r *http.Request, status int, err error) {
	if e.Log == nil {
		return
	}
	level := slog.LevelDebug
	switch fault.Classify(err).Category {
	case fault.CategoryDefensive, fault.CategoryRuntimeFailure, fault.CategoryUncategorized:
		level = slog.LevelError
	case fault.CategoryServiceUnavailable, fault.CategoryCapacityExceeded:
		level = slog.LevelWarn
	}
	e.Log.Log(r.Context(), level, "request failed", "method", r.Method, "path", r.URL.Path, "status", status, "error", err)
}
