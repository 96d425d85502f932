package clients

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/errors"
)

// exchange is a recorded one.
type exchange struct {
	Name, Note string
	Vars       map[string]any
	Request    struct {
		Method, Path string
		Headers      map[string]string
		Body         json.RawMessage
		BodyText     *string
		Shortened    any
	}
	Response struct {
		Status    int
		Headers   map[string]string
		Body      json.RawMessage
		Truncated bool
	}
}

// families are those of the recordings that are exchanges of HTTP with paths of the document.
var families = []string{
	"avatica", "compaction", "config", "explain", "metadata", "native", "native-sketches", "rules", "sampler", "setup", "sql", "sql-task",
	"statements", "stream-faults", "streaming", "supervisors", "tables", "tasks",
}

// lenient are requests that are wrong on purpose and were answered all the same: a document that
// allowed them would say nothing.
var lenient = map[string]string{
	"metadata/060-datasource-g_hours-loadstatus-flag-text.json": "a flag that is neither true nor false",
	"metadata/134-datasource-nosuch-loadstatus-flag-text.json":  "likewise",
	"sql/047-format-upper-case.json":                            "a format in other letters",
	"sql/048-format-mixed-case.json":                            "likewise",
	"supervisors/151-history-count-text.json":                   "a count that is no number",
	"supervisors/178-handoff-numeric-text.json":                 "numbers as texts",
	"supervisors/169-reset-offsets-no-body.json":                "no body, and no media type",
}

// beyond tells whether a path is below one that is passed on, which OpenAPI has no words for: a
// parameter with slashes in it.
func beyond(path string) bool {
	if rest, ok := strings.CutPrefix(path, "/service/worker/v1/chat/"); ok {
		return strings.Count(rest, "/") > 1
	}
	return strings.Count(path, "/") > 2 && strings.HasPrefix(path, "/proxy/")
}

// Every recorded exchange is as the API document says: the request, where it was answered, and the
// answer. Left out are pages of HTML and answers without JSON, which are accidents of Druid.
func TestRecordedExchangesFitTheDocument(t *testing.T) {
	golden, document := os.Getenv("HENGE_GOLDEN"), os.Getenv("HENGE_OPENAPI")
	if golden == "" || document == "" {
		t.Skip("HENGE_GOLDEN and HENGE_OPENAPI name no recordings and no document: test/outside has them")
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if valid, problems := v.ValidateDocument(); !valid {
		t.Fatalf("the document is not one of OpenAPI 3.1: %s", told(problems))
	}
	requests, answers := 0, 0
	for _, family := range families {
		files, _ := filepath.Glob(filepath.Join(golden, family, "*.json"))
		for _, file := range files {
			e, ok := load(t, file)
			if !ok {
				continue
			}
			what := family + "/" + filepath.Base(file) + ": " + e.Request.Method + " " + e.Request.Path
			r := e.request()
			_, wrong := lenient[family+"/"+filepath.Base(file)]
			if !wrong && e.Response.Status < 300 && e.Request.Shortened == nil {
				requests++
				if ok, problems := v.ValidateHttpRequest(r); !ok {
					t.Errorf("%s: request: %s", what, told(problems))
				}
			}
			if len(e.Response.Body) > 0 && !e.Response.Truncated && e.Response.Status != http.StatusMethodNotAllowed {
				answers++
				r = e.request()
				if ok, problems := v.ValidateHttpResponse(r, e.response(r)); !ok {
					t.Errorf("%s: answer %d %.200s: %s", what, e.Response.Status, e.Response.Body, told(problems))
				}
			}
		}
	}
	t.Logf("[%d] requests and [%d] answers", requests, answers)
	if requests < 800 || answers < 1000 {
		t.Error("that is fewer than there are")
	}
}

func told(problems []*errors.ValidationError) string {
	var out []string
	for _, p := range problems {
		text := p.Message + ": " + p.Reason
		for _, s := range p.SchemaValidationErrors {
			text += "; " + s.Reason + " at " + s.FieldPath
		}
		out = append(out, text)
	}
	return strings.Join(out, " | ")
}

func load(t *testing.T, file string) (*exchange, bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var e exchange
	if err := json.Unmarshal(text, &e); err != nil || e.Request.Method == "" {
		return nil, false
	}
	for name, value := range e.Vars {
		if s, ok := value.(string); ok {
			e.Request.Path = strings.ReplaceAll(e.Request.Path, "{{"+name+"}}", s)
		}
	}
	return &e, !strings.Contains(e.Request.Path, "{{") && !beyond(e.Request.Path)
}

func (e *exchange) request() *http.Request {
	body := []byte(e.Request.Body)
	if e.Request.BodyText != nil {
		body = []byte(*e.Request.BodyText)
	}
	r := httptest.NewRequest(e.Request.Method, "http://localhost"+strings.ReplaceAll(e.Request.Path, " ", "%20"), bytes.NewReader(body))
	for name, value := range e.Request.Headers {
		r.Header.Set(name, value)
	}
	if len(body) == 0 {
		r.Header.Del("Content-Type")
		r.Body = http.NoBody
	} else if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func (e *exchange) response(r *http.Request) *http.Response {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	body := io.NopCloser(bytes.NewReader(slices.Clone(e.Response.Body)))
	return &http.Response{StatusCode: e.Response.Status, Header: h, Body: body, Request: r}
}
