package edge

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// settings are those of a test: the chain has the authenticator "in", the authorizer is "z".
type settings map[string]string

func (s settings) Text(key string) string { return s[key] }
func (s settings) Bool(key string) bool   { return s[key] == "true" }
func (s settings) Int(string) int64       { return 0 }
func (s settings) IsSet(key string) bool  { return s[key] != "" }
func (s settings) List(key string) []string {
	if s[key] == "" {
		return nil
	}
	return strings.Split(s[key], ",")
}

// byName knows everybody whose password is "sesame", and grants what the name says: reader, writer,
// admin, nobody.
type byName struct{}

func (byName) Authenticate(_ context.Context, r *auth.Request) (*auth.Identity, error) {
	user, password, ok := (&http.Request{Header: r.Header}).BasicAuth()
	switch {
	case !ok:
		return nil, nil
	case password != "sesame":
		return nil, fault.Unauthorized("User authentication failed.")
	}
	return &auth.Identity{Name: user, Authorizer: "z"}, nil
}

func (byName) Challenge() string { return "Basic" }

func (byName) Decide(_ context.Context, id *auth.Identity, need auth.Need) (auth.Grant, error) {
	switch id.Name {
	case "loading":
		return auth.Grant{}, fault.Unavailable("Roles are not loaded yet")
	case "admin":
		return auth.Grant{Allowed: true}, nil
	case "reader":
		return auth.Grant{Allowed: need.Action == auth.Read}, nil
	case "writer":
		return auth.Grant{Allowed: need.Action == auth.Write}, nil
	case "of_wiki":
		return auth.Grant{Allowed: need.Resource == auth.Resource{Name: "wiki", Kind: auth.Datasource}}, nil
	}
	return auth.Grant{}, nil
}

// gated returns a port with a gate, and a few routes of the table of endpoints.
func gated(t *testing.T, change ...string) http.Handler {
	t.Helper()
	set := settings{"service.auth.authenticatorChain": "in", "service.auth.authenticator.in.type": "byName",
		"service.auth.authorizers": "z", "service.auth.authorizer.z.type": "byName", "service.escalator.type": "noop"}
	for _, c := range change {
		key, value, _ := strings.Cut(c, "=")
		set[key] = value
	}
	known := auth.BuiltIn()
	known.Authenticators["byName"] = func(auth.Part) (auth.Authenticator, error) { return byName{}, nil }
	known.Authorizers["byName"] = func(auth.Part) (auth.Authorizer, error) { return byName{}, nil }
	s, err := auth.Open(set, known)
	if err != nil {
		t.Fatal(err)
	}
	mux := NewMux(&Errors{Host: "localhost:1", Log: slog.New(slog.DiscardHandler)})
	mux.Gate = &Gate{Security: s, Errors: mux.Errors, Methods: set.List("service.server.http.allowedHttpMethods")}
	says := func(text string) Handler {
		return func(w http.ResponseWriter, _ *http.Request) error { WriteText(w, http.StatusOK, text); return nil }
	}
	mux.On("GET /status/health", says("well"))
	mux.On("GET /status", says("status"))
	mux.On("GET /status/properties", says("properties"))
	mux.On("GET /proxy/enabled", says("enabled"))
	mux.On("GET /service/coordinator/v1/datasources/{dataSource}", says("datasource"))
	mux.On("POST /service/coordinator/v1/datasources/{dataSource}", says("datasource"))
	mux.On("/service-ext/basic-security/authentication/db/{name}/{rest...}", says("users"))
	mux.On("DELETE /service/indexer/v1/pendingSegments/{dataSource}", says("deleted"))
	// Handlers that decide by themselves, well or badly.
	mux.On("GET /service/v2/datasources", func(w http.ResponseWriter, r *http.Request) error {
		a := auth.Of(r.Context())
		list := []string{}
		for _, name := range []string{"wiki", "other"} {
			if a.May(r.Context(), auth.Reads(auth.Datasource, name)) {
				list = append(list, name)
			}
		}
		WriteJSON(w, http.StatusOK, list)
		return nil
	})
	mux.On("POST /service/v2/sql", func(_ http.ResponseWriter, r *http.Request) error {
		return auth.Of(r.Context()).Check(r.Context(), auth.Reads(auth.Datasource, "wiki"))
	})
	mux.On("GET /service/indexer/v1/tasks", says("secret"))
	mux.On("GET /service/indexer/v1/waitingTasks", func(http.ResponseWriter, *http.Request) error { return nil })
	mux.On("GET /service/indexer/v1/runningTasks", func(w http.ResponseWriter, _ *http.Request) error {
		for range 3 { // an answer that streams
			_, _ = io.WriteString(w, "secret")
			_ = http.NewResponseController(w).Flush()
		}
		return nil
	})
	mux.On("GET /service/indexer/v1/task/{id}", func(http.ResponseWriter, *http.Request) error { return fault.NotFound("No task") })
	mux.On("GET /no/row", says("secret"))
	return mux.Handler([]string{"druid"}, fakeclock.New(time.Unix(0, 0)), nil)
}

func TestGate(t *testing.T) {
	const unauthorized = `"error":"Unauthorized request"`
	const refused = `{"Access-Check-Result":"Unauthorized"}`
	for _, test := range []struct {
		user, method, path string
		status             int
		body               string // in it
	}{
		{"", "GET", "/status/health", 200, "well"}, {"x:bad", "GET", "/status/health", 200, "well"},
		{"", "GET", "/status", 401, unauthorized}, {"reader:bad", "GET", "/status", 401, "User authentication failed."},
		{"nobody", "GET", "/status", 403, refused}, {"reader", "GET", "/status", 200, "status"}, {"writer", "GET", "/status", 403, refused},
		{"reader", "HEAD", "/status", 200, ""}, {"loading", "GET", "/status", 503, "not loaded"},
		{"nobody", "GET", "/proxy/enabled", 200, "enabled"}, {"", "GET", "/proxy/enabled", 401, unauthorized},
		{"of_wiki", "GET", "/service/coordinator/v1/datasources/wiki", 200, "datasource"},
		{"of_wiki", "GET", "/druid/coordinator/v1/datasources/wiki", 200, "datasource"},
		{"of_wiki", "GET", "/druid/coordinator/v1/datasources/wik%69", 200, "datasource"},
		{"of_wiki", "GET", "/service/coordinator/v1/datasources/wikipedia", 403, refused},
		{"reader", "POST", "/service/coordinator/v1/datasources/wiki", 403, refused},
		{"writer", "POST", "/service/coordinator/v1/datasources/wiki", 200, "datasource"},
		{"reader", "DELETE", "/service/indexer/v1/pendingSegments/wiki", 403, refused},
		{"writer", "DELETE", "/service/indexer/v1/pendingSegments/wiki", 403, refused},
		{"admin", "DELETE", "/service/indexer/v1/pendingSegments/wiki", 200, "deleted"},
		{"nobody", "GET", "/service-ext/basic-security/authentication/db/a/users", 403, "Access-Check-Result: Unauthorized"},
		{"of_wiki", "GET", "/service/v2/datasources", 200, `["wiki"]`}, {"nobody", "GET", "/service/v2/datasources", 200, `[]`},
		{"nobody", "POST", "/service/v2/sql", 403, `"Access-Check-Result":"Unauthorized"`}, {"of_wiki", "POST", "/service/v2/sql", 200, ""},
		// Answers without a decision are withheld; failures are not.
		{"admin", "GET", "/service/indexer/v1/tasks", 403, ""}, {"admin", "GET", "/service/indexer/v1/waitingTasks", 403, ""},
		{"admin", "GET", "/service/indexer/v1/runningTasks", 403, ""}, {"admin", "GET", "/service/indexer/v1/task/x", 404, "No task"},
		{"admin", "GET", "/no/row", 403, refused},
		{"", "GET", "/no/path", 401, unauthorized}, {"admin", "GET", "/no/path", 404, ""}, {"admin", "POST", "/status", 405, ""},
		{"", "TRACE", "/status", 405, ""}, {"admin", "PATCH", "/status", 405, ""}, {"", "OPTIONS", "/status", 405, ""},
	} {
		w := ask(gated(t), test.user, test.method, test.path)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.body) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s %s as %q: got %d %s, want %d %s", test.method, test.path, test.user, w.Code, w.Body, test.status, test.body)
		}
		if w.Code == 401 && w.Header().Get("WWW-Authenticate") != "Basic" {
			t.Errorf("%s %s as %q: got challenge %q", test.method, test.path, test.user, w.Header().Get("WWW-Authenticate"))
		}
		if strings.Contains(w.Body.String(), "null") {
			t.Errorf("%s %s as %q: a null in %s", test.method, test.path, test.user, w.Body)
		}
	}
}

// ask sends a request as a user, whose password is sesame unless it says another.
func ask(h http.Handler, user, method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", nil)
	u, err := url.ParseRequestURI(path) // as a server reads the line of a request
	if err != nil {
		panic(err)
	}
	r.URL = u
	if name, password, ok := strings.Cut(user, ":"); ok {
		r.SetBasicAuth(name, password)
	} else if user != "" {
		r.SetBasicAuth(user, "sesame")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// No way to write a path makes an open pattern cover a closed endpoint, and no header makes a
// request another one.
func TestOpenPathsStayNarrow(t *testing.T) {
	h := gated(t, "service.auth.unsecuredPaths=/status/properties,/service/coordinator/v1/datasources/*")
	for path, status := range map[string]int{
		"/status/health": 200, "/status/health/": 200, "/status/properties": 200, "/service/coordinator/v1/datasources/x": 200,
		"//status/health": 400, "/status//health": 400, "/status/./health": 400, "/status/health/../": 400, "/status/health/..%2f..": 400,
		"/status/health/..%2F..%2Fstatus": 400, "/status/health/%2e%2e": 400,
		"/status/health;x=1": 400, "/status;x=/health": 400, "/status/health%3bx=1": 400,
		`/status/health\..`: 400, "/status/health/%5c..": 400, "/status%00": 400, "/status/health%0a": 400,
		"/status/properties/x": 401, "/STATUS/properties": 401, "/status/propertiesx": 401,
		"/service/coordinator/v1/datasources/../../../../status": 400,
		"/service/coordinator/v1/datasourcesx":                   401, "/status": 401, "/status/healthy": 401, "/proxy/enabled": 401,
	} {
		if w := ask(h, "", "GET", path); w.Code != status {
			t.Errorf("GET %s without credentials: got %d %s, want %d", path, w.Code, w.Body, status)
		}
	}
	for _, name := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override",
		"X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Prefix"} {
		for _, value := range []string{"GET", "OPTIONS", "/status/health"} {
			if w := ask(h, "reader", "POST", "/service/v2/sql", name, value); w.Code != 200 {
				t.Errorf("%s: %s changed a request that is allowed: %d", name, value, w.Code)
			}
			if w := ask(h, "", "GET", "/status", name, value); w.Code != 401 {
				t.Errorf("%s: %s: got %d", name, value, w.Code)
			}
			if w := ask(gated(t), "reader", "POST", "/service/coordinator/v1/datasources/wiki", name, value); w.Code != 403 {
				t.Errorf("%s: %s: got %d", name, value, w.Code)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	const listed = "service.server.http.allowedHttpMethods=OPTIONS"
	for _, test := range []struct {
		user   string
		change []string
		status int
	}{
		{"", nil, 405}, {"admin", nil, 405}, {"", []string{listed}, 401}, {"nobody", []string{listed}, 200},
		{"", []string{listed, "service.auth.allowUnauthenticatedHttpOptions=true"}, 200},
		{"", []string{"service.auth.allowUnauthenticatedHttpOptions=true"}, 405},
	} {
		w := ask(gated(t, test.change...), test.user, "OPTIONS", "/status")
		if w.Code != test.status || w.Code == 200 && w.Header().Get("Allow") != "OPTIONS, GET, HEAD" {
			t.Errorf("as %q with %v: got %d %v, want %d", test.user, test.change, w.Code, w.Header(), test.status)
		}
	}
}

func TestWithoutAGateEverybodyMayDoAll(t *testing.T) {
	mux := NewMux(&Errors{})
	mux.On("GET /service/v2/datasources", func(w http.ResponseWriter, r *http.Request) error {
		WriteJSON(w, http.StatusOK, auth.Of(r.Context()).May(r.Context(), auth.Writes(auth.Config, "security")))
		return nil
	})
	w := ask(mux.Handler(nil, fakeclock.New(time.Unix(0, 0)), nil), "", "GET", "/service/v2/datasources")
	var may bool
	if err := json.Unmarshal(w.Body.Bytes(), &may); err != nil || !may {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// FuzzAuthorizationHeader sends anything as credentials: the answer is always one of the expected
// ones, and only the right password lets a request in.
func FuzzAuthorizationHeader(f *testing.F) {
	for _, s := range []string{"", "Basic", "Basic ", "Basic YWRtaW46c2VzYW1l", "basic YWRtaW46c2VzYW1l", "Basic !!", "Basic YWRtaW4=",
		"Bearer x",
		"Negotiate YII=", "Basic " + strings.Repeat("A", 5000), "Basic YWRtaW46", "Basic OnNlc2FtZQ=="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		h := gated(t)
		w := ask(h, "", "GET", "/status", "Authorization", header)
		user, password, ok := (&http.Request{Header: http.Header{"Authorization": {header}}}).BasicAuth()
		switch w.Code {
		case 200, 503:
			if !ok || password != "sesame" || user == "" {
				t.Errorf("%q was let in", header)
			}
		case 401, 403:
		default:
			t.Errorf("%q: got %d", header, w.Code)
		}
	})
}

func BenchmarkDecision(b *testing.B) {
	a := auth.NewAccess(&auth.Identity{Name: "reader"}, byName{})
	need := auth.Reads(auth.Datasource, "wiki")
	for b.Loop() {
		if !a.May(b.Context(), need) {
			b.Fatal("refused")
		}
	}
}
