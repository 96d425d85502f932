package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

const host = "broker1:8082"

// answer is what an endpoint that fails with err answers.
func answer(t *testing.T, e *Errors, err error) (*http.Response, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	e.Handle(func(http.ResponseWriter, *http.Request) error { return err }).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/service/v2/sql", nil))
	resp := w.Result()
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%v in %s", err, w.Body.Bytes())
	}
	if resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("Content-Type %q", resp.Header.Get("Content-Type"))
	}
	return resp, body
}

// Every kind of failure, with the status and all members of the body (spec/sql.md, sections 2.1 and
// 2.2).
func TestEveryCategory(t *testing.T) {
	const druid = "org.apache.druid."
	legacy := func(class, code string) map[string]any {
		return map[string]any{"host": host, "errorClass": class, "legacyErrorCode": code}
	}
	for _, tc := range []struct {
		err      error
		status   int
		error    string
		class    string
		code     string
		persona  string
		category string
		message  string
		context  map[string]any
		// access is a member of 403 answers only.
		access bool
	}{
		{fault.InvalidInput("m [%d]", 1), 400, "Plan validation failed", "org.apache.calcite.tools.ValidationException", "invalidInput", "USER", "INVALID_INPUT", "m [1]", nil, false},
		{fault.SQLParse(fault.Span{Line: 1, Column: 2, EndLine: 1, EndColumn: 3}, "m"), 400, "SQL parse failed", "org.apache.calcite.sql.parser.SqlParseException", "invalidInput", "USER", "INVALID_INPUT", "m",
			map[string]any{"sourceType": "sql", "line": "1", "column": "2", "endLine": "1", "endColumn": "3"}, false},
		{fault.InvalidSQL(fault.Span{Line: 1, Column: 8, EndLine: 1, EndColumn: 11}, "m"), 400, "Plan validation failed", "org.apache.calcite.tools.ValidationException", "invalidInput", "USER", "INVALID_INPUT",
			"m (line [1], column [8])", map[string]any{"sourceType": "sql", "line": "1", "column": "8", "endLine": "1", "endColumn": "11"}, false},
		{fault.Malformed("m"), 400, "Json parse failed", druid + "query.BadJsonQueryException", "invalidInput", "USER", "INVALID_INPUT", "m", nil, false},
		{UnsupportedMedia("m"), 415, "Unsupported operation", druid + "query.QueryUnsupportedException", "invalidInput", "USER", "INVALID_INPUT", "m", nil, false},
		{fault.BadContext("m"), 400, "Query context parse failed", druid + "query.BadQueryContextException", "legacyQueryException", "OPERATOR", "INVALID_INPUT", "m",
			legacy(druid+"query.BadQueryContextException", "Query context parse failed"), false},
		{fault.ResourceLimit("m"), 400, "Resource limit exceeded", druid + "query.ResourceLimitExceededException", "legacyQueryException", "OPERATOR", "INVALID_INPUT", "m",
			legacy(druid+"query.ResourceLimitExceededException", "Resource limit exceeded"), false},
		{&fault.Error{Persona: fault.User, Category: fault.CategoryUnauthorized, Code: "general", Message: "m"}, 401, "Unauthorized request", druid + "server.security.ForbiddenException", "general", "USER", "UNAUTHORIZED", "m", nil, false},
		{fault.Forbidden("m"), 403, "Unauthorized request", druid + "server.security.ForbiddenException", "forbidden", "USER", "FORBIDDEN", "m", nil, true},
		{fault.NotFound("m"), 404, "druidException", druid + "error.DruidException", "notFound", "USER", "NOT_FOUND", "m", nil, false},
		{fault.Conflict("m"), 409, "druidException", druid + "error.DruidException", "conflict", "USER", "CONFLICT", "m", nil, false},
		{fault.Capacity("m"), 429, "Query capacity exceeded", druid + "query.QueryCapacityExceededException", "legacyQueryException", "OPERATOR", "CAPACITY_EXCEEDED", "m",
			legacy(druid+"query.QueryCapacityExceededException", "Query capacity exceeded"), false},
		{fault.Canceled("m"), 500, "Query cancelled", druid + "query.QueryInterruptedException", "legacyQueryException", "OPERATOR", "CANCELED", "m",
			legacy(druid+"query.QueryInterruptedException", "Query cancelled"), false},
		{fault.Runtime("m"), 500, "Unknown exception", druid + "error.DruidException", "general", "OPERATOR", "RUNTIME_FAILURE", "m", nil, false},
		{fault.Defensive("m"), 500, "Unknown exception", druid + "error.DruidException", "internalServerError", "DEVELOPER", "DEFENSIVE", "m", nil, false},
		{&fault.Error{Category: fault.CategoryUncategorized, Code: "general", Message: "m"}, 500, "Unknown exception", druid + "error.DruidException", "general", "", "UNCATEGORIZED", "m", nil, false},
		{fault.Unsupported("m"), 501, "Unsupported operation", druid + "query.QueryUnsupportedException", "unsupported", "USER", "UNSUPPORTED", "m", nil, false},
		{fault.Unavailable("m"), 503, "Unknown exception", druid + "error.DruidException", "general", "OPERATOR", "SERVICE_UNAVAILABLE", "m", nil, false},
		{fault.Timeout("m"), 504, "Query timeout", druid + "query.QueryTimeoutException", "legacyQueryException", "OPERATOR", "TIMEOUT", "m",
			legacy(druid+"query.QueryTimeoutException", "Query timeout"), false},
		{context.DeadlineExceeded, 504, "Query timeout", druid + "query.QueryTimeoutException", "legacyQueryException", "OPERATOR", "TIMEOUT",
			"Query did not complete within configured timeout period. You can increase query timeout or tune the performance of query.",
			legacy(druid+"query.QueryTimeoutException", "Query timeout"), false},
		{fmt.Errorf("reading: %w", context.Canceled), 500, "Query cancelled", druid + "query.QueryInterruptedException", "legacyQueryException", "OPERATOR", "CANCELED", "Query is canceled",
			legacy(druid+"query.QueryInterruptedException", "Query cancelled"), false},
		{fmt.Errorf("loading segment [x]: %w", fault.NotFound("m").WithCause(errors.New("secret"))), 404, "druidException", druid + "error.DruidException", "notFound", "USER", "NOT_FOUND", "m", nil, false},
		{errors.New("secret"), 500, "Unknown exception", druid + "error.DruidException", "internalServerError", "DEVELOPER", "DEFENSIVE", "The server met an unexpected error; its log says more", nil, false},
	} {
		resp, got := answer(t, &Errors{Host: host}, tc.err)
		want := map[string]any{
			"error": tc.error, "errorClass": tc.class, "host": host, "errorCode": tc.code, "persona": tc.persona, "category": tc.category,
			"errorMessage": tc.message, "context": tc.context,
		}
		if tc.context == nil {
			want["context"] = map[string]any{}
		}
		if tc.access {
			want["Access-Check-Result"] = "Unauthorized"
		}
		if resp.StatusCode != tc.status || Status(tc.err) != tc.status {
			t.Errorf("%v: status %d, want %d", tc.err, resp.StatusCode, tc.status)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: %s", tc.err, diff)
		}
		if got := resp.Header.Get("WWW-Authenticate"); (got != "") != (tc.status == 401) {
			t.Errorf("%v: WWW-Authenticate %q", tc.err, got)
		}
	}
}

func TestEveryCategoryHasAStatus(t *testing.T) {
	for c, want := range map[fault.Category]int{
		fault.CategoryDefensive: 500, fault.CategoryInvalidInput: 400, fault.CategoryUnauthorized: 401, fault.CategoryForbidden: 403,
		fault.CategoryNotFound: 404, fault.CategoryConflict: 409, fault.CategoryCapacityExceeded: 429, fault.CategoryCanceled: 500,
		fault.CategoryRuntimeFailure: 500, fault.CategoryServiceUnavailable: 503, fault.CategoryTimeout: 504, fault.CategoryUnsupported: 501,
		fault.CategoryUncategorized: 500,
	} {
		if got := statusOf[c]; got != want {
			t.Errorf("%s: %d, want %d", c, got, want)
		}
	}
	if len(statusOf) != 13 {
		t.Errorf("%d categories have a status", len(statusOf))
	}
}

func TestModernBodies(t *testing.T) {
	_, got := answer(t, &Errors{Host: host, Modern: true}, fault.InvalidInput("m"))
	want := map[string]any{
		"error": "druidException", "errorCode": "invalidInput", "persona": "USER", "category": "INVALID_INPUT", "errorMessage": "m", "context": map[string]any{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, got = answer(t, &Errors{Host: host, Modern: true}, fault.Timeout("m")); got["error"] != "Query timeout" || got["host"] != host {
		t.Errorf("an old-style failure: %v", got)
	}
}

// Under an alias the form may be another, also of objects within other answers.
func TestBodiesUnderAnAlias(t *testing.T) {
	for _, tc := range []struct {
		errors         Errors
		service, alias string
	}{
		{Errors{}, "Plan validation failed", "Plan validation failed"},
		{Errors{ModernAlias: true}, "Plan validation failed", "druidException"},
		{Errors{Modern: true}, "druidException", "druidException"},
	} {
		mux := NewMux(&tc.errors)
		mux.On("GET /service/refused", func(http.ResponseWriter, *http.Request) error { return fault.InvalidInput("m") })
		mux.On("GET /service/within", func(w http.ResponseWriter, r *http.Request) error {
			WriteJSON(w, http.StatusOK, ErrorsOf(r.Context()).Body(fault.InvalidInput("m")))
			return nil
		})
		h := mux.Handler([]string{"druid"}, clock.System(), nil)
		for name, want := range map[string]string{"service": tc.service, "druid": tc.alias} {
			for _, path := range []string{"/refused", "/within"} {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+name+path, nil))
				if !strings.HasPrefix(w.Body.String(), `{"error":"`+want+`"`) {
					t.Errorf("/%s%s of %+v: %s", name, path, tc.errors, w.Body)
				}
			}
		}
	}
}

// What is our fault is logged with its cause; what is the caller's only for those who debug. The
// cause never reaches the client.
func TestCausesAreLoggedAndNotSent(t *testing.T) {
	for _, tc := range []struct {
		err   error
		level string
	}{
		{errors.New("secret"), "ERROR"}, {fault.Runtime("m").WithCause(errors.New("secret")), "ERROR"},
		{fault.Unavailable("m").WithCause(errors.New("secret")), "WARN"}, {fault.InvalidInput("m").WithCause(errors.New("secret")), "DEBUG"},
		{fault.Canceled("m").WithCause(errors.New("secret")), "DEBUG"},
	} {
		var log bytes.Buffer
		_, body := answer(t, &Errors{Host: host, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, tc.err)
		if !strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), "level="+tc.level) {
			t.Errorf("%v: logged %q, want level %s", tc.err, log.String(), tc.level)
		}
		if strings.Contains(fmt.Sprint(body), "secret") {
			t.Errorf("sent %v", body)
		}
	}
}

func TestMarshalJSON(t *testing.T) {
	got, err := jsontext.Marshal(map[string]string{"a": "<&>"})
	if err != nil || string(got) != `{"a":"<&>"}` {
		t.Errorf("%s, %v", got, err)
	}
	w := httptest.NewRecorder()
	WriteJSON(w, http.StatusOK, func() {})
	if w.Code != http.StatusInternalServerError {
		t.Errorf("a value that can't be encoded: %d", w.Code)
	}
}
