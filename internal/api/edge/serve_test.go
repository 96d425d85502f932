package edge

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// long is more than any buffer on the way, and does not compress well.
var long = func() []byte {
	out := make([]byte, 400<<10)
	x := uint32(1)
	for i := range out {
		x = x*1664525 + 1013904223
		out[i] = ' ' + byte(x>>24)%90
	}
	return out
}()

// serve starts a port with some endpoints.
func serve(t *testing.T, seen func(context.Context, Exchange), aliases ...string) *httptest.Server {
	t.Helper()
	mux := NewMux(&Errors{Host: host})
	mux.On("GET /service/v2/echo/{id}", func(w http.ResponseWriter, r *http.Request) error {
		d := DialectOf(r.Context())
		d.SetHeader(w.Header(), "SQL-Query-Id", r.PathValue("id"))
		WriteText(w, http.StatusOK, d.Name+" "+r.URL.Path)
		return nil
	})
	mux.On("POST /service-ext/x", func(w http.ResponseWriter, r *http.Request) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		WriteText(w, http.StatusCreated, string(body))
		return nil
	})
	mux.On("PUT /service-ext/x", func(http.ResponseWriter, *http.Request) error { return nil })
	mux.On("GET /long", func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "application/json")
		_, err := w.Write(long)
		return err
	})
	cut := func(end func() error) Handler {
		return func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Type", "text/plain")
			if _, err := w.Write(long); err != nil {
				return err
			}
			return end()
		}
	}
	mux.On("GET /cut/abort", cut(func() error { panic(http.ErrAbortHandler) }))
	mux.On("GET /cut/panic", cut(func() error { panic("lost") }))
	mux.On("GET /cut/error", cut(func() error { return fault.Runtime("The disk is gone") }))
	mux.On("GET /panic", func(http.ResponseWriter, *http.Request) error { panic("lost") })
	s := httptest.NewServer(mux.Handler(aliases, clock.System(), seen))
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s
}

func get(t *testing.T, method, url string, header ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, body
}

func TestAliasesServeTheSamePaths(t *testing.T) {
	s := serve(t, nil, "druid", "other")
	for path, want := range map[string]string{
		"/service/v2/echo/a":   "service /service/v2/echo/a",
		"/druid/v2/echo/a":     "druid /service/v2/echo/a",
		"/other/v2/echo/a%2Fb": "other /service/v2/echo/a/b",
	} {
		resp, body := get(t, http.MethodGet, s.URL+path)
		if string(body) != want {
			t.Errorf("%s: %s, want %s", path, body, want)
		}
		name, _, _ := strings.Cut(want, " ")
		if got := resp.Header.Get(Dialect{Name: name}.Header("SQL-Query-Id")); got != strings.TrimPrefix(strings.Fields(want)[1], "/service/v2/echo/") {
			t.Errorf("%s: header %q in %v", path, got, resp.Header)
		}
	}
	if resp, _ := get(t, http.MethodPut, s.URL+"/druid-ext/x"); resp.StatusCode != http.StatusOK {
		t.Errorf("extension path: %d", resp.StatusCode)
	}
	for _, path := range []string{"/druidx/v2/echo/a", "/Druid/v2/echo/a", "/druid", "/x/druid/v2/echo/a"} {
		if resp, _ := get(t, http.MethodGet, s.URL+path); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	if resp, _ := get(t, http.MethodGet, serve(t, nil).URL+"/druid/v2/echo/a"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("an alias that is not configured: %d", resp.StatusCode)
	}
}

// The letters of headers are those of the interface, though HTTP does not care.
func TestHeadersKeepTheirLetters(t *testing.T) {
	raw := send(t, serve(t, nil, "druid"), "GET /druid/v2/echo/a%01b%0A HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if !bytes.Contains(raw, []byte("\r\nX-Druid-SQL-Query-Id: a b\r\n")) && !bytes.Contains(raw, []byte("\r\nX-Druid-SQL-Query-Id: a b \r\n")) {
		t.Errorf("got %q", raw)
	}
}

// A refusal always says what was wrong, but under an alias, as Druid answers there.
func TestWithoutARouteThereIsAnError(t *testing.T) {
	s := serve(t, nil, "druid")
	for _, tc := range []struct {
		method, path string
		status       int
		allow        string
		says         string
	}{
		{http.MethodGet, "/", 404, "", "There is nothing at [/]"},
		{http.MethodGet, "/nope", 404, "", "There is nothing at [/nope]"},
		{http.MethodGet, "/service-ext/y", 404, "", "Did you mean [/service-ext/x]?"},
		{http.MethodPost, "/service/v2/echo/a", 405, "GET, HEAD",
			"Method [POST] is not allowed at [/service/v2/echo/a]. Allowed are [GET, HEAD]"},
		{http.MethodGet, "/service-ext/x", 405, "POST, PUT", "Allowed are [POST, PUT]"},
		{http.MethodPatch, "/service-ext/x", 405, "POST, PUT", "Method [PATCH]"},
		{http.MethodGet, "/druid/nope", 404, "", ""},
		{http.MethodHead, "/nope", 404, "", ""},
	} {
		resp, body := get(t, tc.method, s.URL+tc.path, "Accept-Encoding", "gzip")
		var answer Body
		if tc.says != "" && json.Unmarshal(body, &answer) != nil || tc.says == "" && len(body) > 0 {
			t.Errorf("%s %s: %q", tc.method, tc.path, body)
		}
		if resp.StatusCode != tc.status || !strings.Contains(answer.ErrorMessage, tc.says) || resp.Header.Get("Allow") != tc.allow {
			t.Errorf("%s %s: %d %q, Allow %q", tc.method, tc.path, resp.StatusCode, body, resp.Header.Get("Allow"))
		}
	}
	_, body := get(t, http.MethodGet, serve(t, nil).URL+"/druid/v2/sql")
	if !strings.Contains(string(body), "service.api.aliases") {
		t.Errorf("a path of Druid without its alias: %s", body)
	}
}

func TestASlashAtTheEndMeansNothing(t *testing.T) {
	s := serve(t, nil)
	for _, path := range []string{"/service/v2/echo/a%2Fb", "/service-ext/x"} {
		wantResp, want := get(t, http.MethodGet, s.URL+path)
		resp, body := get(t, http.MethodGet, s.URL+path+"/")
		if resp.StatusCode != wantResp.StatusCode || !bytes.Equal(body, want) || resp.Header.Get("Allow") != wantResp.Header.Get("Allow") {
			t.Errorf("%s: %d %q, want %d %q", path, resp.StatusCode, body, wantResp.StatusCode, want)
		}
	}
}

func TestHeadHasNoBody(t *testing.T) {
	resp, body := get(t, http.MethodHead, serve(t, nil).URL+"/service/v2/echo/a")
	if resp.StatusCode != http.StatusOK || len(body) != 0 || resp.Header.Get("X-Service-SQL-Query-Id") != "a" {
		t.Errorf("%d %q %v", resp.StatusCode, body, resp.Header)
	}
}

func TestCompressionOnRequest(t *testing.T) {
	s := serve(t, nil)
	resp, body := get(t, http.MethodGet, s.URL+"/long", "Accept-Encoding", "gzip, zstd, br")
	if resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("Content-Encoding %q", resp.Header.Get("Content-Encoding"))
	}
	zr, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(zr); err != nil || !bytes.Equal(plain, long) {
		t.Errorf("%d bytes come back, %v", len(plain), err)
	}
	for _, accept := range []string{"identity", "zstd", "gzip;q=0"} {
		resp, body := get(t, http.MethodGet, s.URL+"/long", "Accept-Encoding", accept)
		if resp.Header.Get("Content-Encoding") != "" || !bytes.Equal(body, long) {
			t.Errorf("Accept-Encoding %s: Content-Encoding %q", accept, resp.Header.Get("Content-Encoding"))
		}
	}
}

func TestCompressedRequests(t *testing.T) {
	var body bytes.Buffer
	zw := gzip.NewWriter(&body)
	_, _ = zw.Write([]byte("hello"))
	_ = zw.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, serve(t, nil).URL+"/service-ext/x", &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Encoding", "gzip")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

// send writes a raw request and returns the raw answer up to the end of the connection.
func send(t *testing.T, s *httptest.Server, request string) []byte {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(clock.System().Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(conn)
	var broken net.Error
	if err != nil && (!errors.As(err, &broken) || broken.Timeout()) {
		t.Fatal(err) // a reset is fine: that is one way to break off
	}
	return raw
}

// lastChunk ends a chunked body that is whole.
var lastChunk = []byte("\r\n0\r\n\r\n")

// An answer that fails after its first byte must not look whole, in whatever way it failed,
// compressed or not: no last chunk, and no end of the compressed stream.
func TestFailureAfterTheFirstByteBreaksTheBody(t *testing.T) {
	s := serve(t, nil)
	for _, encoding := range []string{"identity", "gzip"} {
		for _, path := range []string{"/cut/abort", "/cut/panic", "/cut/error"} {
			raw := send(t, s, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept-Encoding: "+encoding+"\r\n\r\n")
			head, body, ok := bytes.Cut(raw, []byte("\r\n\r\n"))
			if !ok || !bytes.HasPrefix(head, []byte("HTTP/1.1 200 OK")) || !bytes.Contains(head, []byte("Transfer-Encoding: chunked")) {
				t.Fatalf("%s, %s: head %q", path, encoding, head)
			}
			if bytes.HasSuffix(raw, lastChunk) || bytes.Contains(raw, []byte("disk is gone")) {
				t.Errorf("%s, %s: the answer looks whole: %q", path, encoding, raw[len(raw)-100:])
			}
			if len(body) < 10<<10 {
				t.Errorf("%s, %s: only %d bytes came", path, encoding, len(body))
			}
			if encoding == "gzip" {
				resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
				if err != nil {
					t.Fatal(err)
				}
				chunks, _ := io.ReadAll(resp.Body)
				zr, err := gzip.NewReader(bytes.NewReader(chunks))
				if err != nil {
					t.Fatal(err)
				}
				if plain, err := io.ReadAll(zr); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%s: the compressed stream ends after %d bytes with %v", path, len(plain), err)
				}
			}
		}
	}
	whole := send(t, s, "GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if !bytes.HasSuffix(whole, lastChunk) {
		t.Errorf("a whole answer ends with %q", whole[len(whole)-20:])
	}
}

func TestPanicBeforeTheFirstByteIsAnAnswer(t *testing.T) {
	resp, body := get(t, http.MethodGet, serve(t, nil).URL+"/panic")
	if resp.StatusCode != http.StatusInternalServerError || !bytes.Contains(body, []byte(`"category":"DEFENSIVE"`)) || bytes.Contains(body, []byte("lost")) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestExchangesAreSeen(t *testing.T) {
	exchanges := make(chan Exchange, 1)
	s := serve(t, func(_ context.Context, e Exchange) { exchanges <- e }, "druid")
	for _, tc := range []struct {
		method, path string
		want         Exchange
	}{
		{http.MethodGet, "/druid/v2/echo/a?password=x", Exchange{Path: "/service/v2/echo/a", Route: "GET /service/v2/echo/{id}", Status: 200, Bytes: 24}},
		{http.MethodGet, "/nope", Exchange{Path: "/nope", Status: 404, Bytes: 222}},
		{http.MethodGet, "/panic", Exchange{Path: "/panic", Route: "GET /panic", Status: 500, Bytes: -1}},
		{http.MethodGet, "/cut/abort", Exchange{Path: "/cut/abort", Route: "GET /cut/abort", Status: 200, Bytes: int64(len(long)), Broken: true}},
	} {
		send(t, s, tc.method+" "+tc.path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		got := <-exchanges
		if got.Took < 0 || got.Took > time.Minute {
			t.Errorf("%s took %s", tc.path, got.Took)
		}
		if tc.want.Bytes < 0 && got.Bytes > 0 {
			tc.want.Bytes = got.Bytes
		}
		tc.want.Method, got.Took = tc.method, 0
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.path, diff)
		}
	}
}
