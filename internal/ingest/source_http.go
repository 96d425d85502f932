package ingest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/secret"
)

const (
	httpAttempts   = 5                      // tries of a request or of continuing a broken body
	httpFirstPause = 500 * time.Millisecond // doubles from try to try
	httpRedirects  = 5
	httpStall      = 60 * time.Second // without an answer's head
)

// HTTP is objects of web servers.
type HTTP struct {
	URIs         []*url.URL
	User         string
	SystemFields []string

	password password
	headers  map[string]string
}

type httpWire struct {
	Type         string            `json:"type"`
	URIs         wire.StringList   `json:"uris"`
	User         string            `json:"httpAuthenticationUsername,omitempty"`
	Password     *password         `json:"httpAuthenticationPassword,omitempty"`
	Headers      map[string]string `json:"requestHeaders,omitempty"`
	SystemFields []string          `json:"systemFields,omitempty"`
}

// httpSchemes are those that can be read at all; fewer of them may be allowed.
var httpSchemes = []string{"http", "https"}

func parseHTTP(text json.RawMessage) (Source, error) {
	var w httpWire
	if err := wire.Decode("inputSource", text, &w); err != nil {
		return nil, err
	}
	if len(w.URIs) == 0 {
		return nil, wire.Invalid("inputSource", "an http source needs 'uris'")
	}
	s := &HTTP{User: w.User, headers: w.Headers, SystemFields: w.SystemFields}
	if w.Password != nil {
		s.password = *w.Password
	}
	for _, text := range w.URIs {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return nil, wire.Invalid("inputSource", "'%s' is not an absolute URI", text)
		}
		if !slices.Contains(httpSchemes, strings.ToLower(u.Scheme)) {
			return nil, wire.Invalid("inputSource", "Only [%s] protocols are allowed", strings.Join(httpSchemes, ", "))
		}
		s.URIs = append(s.URIs, u)
	}
	for name, value := range w.Headers {
		if name == "" || strings.ContainsAny(name, " :\r\n\x00") || strings.ContainsAny(value, "\r\n\x00") {
			return nil, wire.Invalid("inputSource", "request header '%s' has a name or value that headers can't have", name)
		}
	}
	return s, nil
}

// Type returns "http".
func (s *HTTP) Type() string { return "http" }

// MarshalJSON returns the JSON form with the password and the values of headers hidden.
func (s *HTTP) MarshalJSON() ([]byte, error) {
	w := httpWire{Type: "http", User: s.User, SystemFields: s.SystemFields}
	for _, u := range s.URIs {
		w.URIs = append(w.URIs, secret.URL(u))
	}
	if s.password != (password{}) {
		w.Password = &s.password
	}
	for name := range s.headers {
		if w.Headers == nil {
			w.Headers = map[string]string{}
		}
		w.Headers[name] = "********"
	}
	return jsontext.Marshal(w)
}

func (*HTTP) source() {}

func (s *HTTP) systemFields() []string { return s.SystemFields }

// List checks the URIs against the allowed hosts and schemes and returns one entity for each. It
// sends no requests.
func (s *HTTP) List(_ context.Context, access *Access) ([]Entity, error) {
	protocols := httpProtocols(access)
	for name := range s.headers {
		if access != nil && access.HTTPHeaders != nil && !slices.ContainsFunc(access.HTTPHeaders, func(h string) bool { return strings.EqualFold(h, name) }) {
			return nil, fault.Forbidden("Request header [%s] is not among the headers that ingestion may send", name)
		}
	}
	password, err := s.password.resolve(access)
	if err != nil {
		return nil, err
	}
	client := httpClient(access.web(), protocols)
	out := make([]Entity, 0, len(s.URIs))
	for _, u := range s.URIs {
		if !slices.Contains(protocols, strings.ToLower(u.Scheme)) {
			return nil, fault.InvalidInput("Only protocols [%s] are allowed; [%s] is not", strings.Join(protocols, ", "), secret.URL(u))
		}
		if err := access.checkHost(u); err != nil {
			return nil, err
		}
		out = append(out, &httpEntity{source: s, url: u, secret: password, client: client, access: access})
	}
	return out, nil
}

// httpProtocols are the schemes that are allowed.
func httpProtocols(access *Access) []string {
	if access != nil && access.HTTPProtocols != nil {
		return access.HTTPProtocols
	}
	return httpSchemes
}

// guardedDialer asks CheckAddress at the moment of dialing, when names are resolved: a redirect or
// a changing DNS answer can't get around it.
func guardedDialer(access *Access) *net.Dialer {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if access != nil && access.CheckAddress != nil {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return access.CheckAddress(netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()))
		}
	}
	return dialer
}

// httpClient returns a client that reaches what access allows only.
func httpClient(access *Access, protocols []string) *http.Client {
	dialer := guardedDialer(access)
	return &http.Client{
		Transport: &http.Transport{
			DialContext:           dialer.DialContext,
			ResponseHeaderTimeout: httpStall,
			TLSHandshakeTimeout:   10 * time.Second,
			TLSClientConfig:       &tls.Config{RootCAs: access.roots(), MinVersion: tls.VersionTLS12},
			DisableCompression:    true, // a file that is gzip is seen as such by its content
			MaxIdleConnsPerHost:   4,
			IdleConnTimeout:       30 * time.Second,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > httpRedirects {
				return fmt.Errorf("more than %d redirects", httpRedirects)
			}
			if !slices.Contains(protocols, r.URL.Scheme) {
				return fault.Forbidden("Input [%s] redirects to protocol [%s], which is not allowed", secret.URL(via[0].URL), r.URL.Scheme)
			}
			if err := access.checkHost(r.URL); err != nil {
				return err
			}
			if r.URL.Host != via[0].URL.Host { // headers may be secrets, which are meant for the first host
				kept := http.Header{}
				for _, name := range []string{"Range", "If-Match", "Accept-Encoding"} {
					if v := r.Header.Get(name); v != "" {
						kept.Set(name, v)
					}
				}
				r.Header = kept
			}
			return nil
		},
	}
}

type httpEntity struct {
	source *HTTP
	url    *url.URL
	secret secret.Text
	client *http.Client
	access *Access
}

func (e *httpEntity) Name() string   { return secret.URL(e.url) }
func (e *httpEntity) Size() int64    { return -1 }
func (e *httpEntity) Seekable() bool { return false }

func (e *httpEntity) SystemField(name string) (string, bool) {
	switch name {
	case "__file_uri":
		return secret.URL(e.url), true
	case "__file_path":
		return e.url.Path, true
	}
	return "", false
}

// Open sends the request. If the connection breaks, the body resumes with a range request as long
// as the server reports the same object.
func (e *httpEntity) Open(ctx context.Context, offset int64) (io.ReadCloser, error) {
	b := &httpBody{e: e, ctx: ctx, offset: offset}
	if err := b.connect(); err != nil {
		e.client.CloseIdleConnections()
		return nil, err
	}
	return b, nil
}

// httpBody reads one object over as many connections as it takes.
type httpBody struct {
	e      *httpEntity
	ctx    context.Context
	offset int64 // of the next byte
	etag   string
	body   io.ReadCloser
	tries  int
}

// connect asks for the object from offset on, again after a pause when the failure may pass.
func (b *httpBody) connect() error {
	for {
		err, retry := b.request()
		if err == nil || !retry || b.tries >= httpAttempts-1 {
			return err
		}
		if sleepErr := b.e.access.clock().Sleep(b.ctx, httpFirstPause<<b.tries); sleepErr != nil {
			return sleepErr
		}
		b.tries++
	}
}

func (b *httpBody) request() (err error, retry bool) {
	req, err := http.NewRequestWithContext(b.ctx, http.MethodGet, b.e.url.String(), nil)
	if err != nil {
		return fault.InvalidInput("Input [%s] can't be requested", b.e.Name()).WithCause(err), false
	}
	for name, value := range b.e.source.headers {
		req.Header.Set(name, value)
	}
	if b.e.source.User != "" {
		req.SetBasicAuth(b.e.source.User, b.e.secret.Reveal())
	}
	req.Header.Set("Accept-Encoding", "identity")
	if b.offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", b.offset))
		if b.etag != "" {
			req.Header.Set("If-Match", b.etag)
		}
	}
	resp, err := b.e.client.Do(req)
	if err != nil {
		if b.ctx.Err() != nil {
			return b.ctx.Err(), false
		}
		if refused := fault.Find(err); refused != nil {
			return refused, false
		}
		return fault.Unavailable("Input [%s] could not be read: %s", b.e.Name(), transportProblem(err)).WithCause(err), true
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusPartialContent {
		return b.accept(resp), false
	}
	_ = resp.Body.Close() // nothing of it is used
	switch {
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && b.offset > 0:
		b.body = http.NoBody
		return nil, false
	case resp.StatusCode == http.StatusPreconditionFailed:
		return b.changed(), false
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		return fault.InvalidInput("Input [%s] does not exist: its server answered [%d]", b.e.Name(), resp.StatusCode), false
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500:
		return fault.Unavailable("Input [%s] could not be read: its server answered [%d]", b.e.Name(), resp.StatusCode), true
	}
	return fault.InvalidInput("Input [%s] could not be read: its server answered [%d]", b.e.Name(), resp.StatusCode), false
}

// accept takes the body of an answer, which must continue the object that was begun.
func (b *httpBody) accept(resp *http.Response) error {
	etag := resp.Header.Get("ETag")
	if b.etag != "" && etag != "" && etag != b.etag {
		_ = resp.Body.Close() // another object's
		return b.changed()
	}
	if strings.HasPrefix(etag, `"`) { // weak tags do not promise equal bytes
		b.etag = etag
	}
	b.body = resp.Body
	if resp.StatusCode == http.StatusOK && b.offset > 0 {
		// The server has no ranges: skip what was read already.
		if _, err := io.CopyN(io.Discard, resp.Body, b.offset); err != nil {
			return fault.Unavailable("Input [%s] broke off and could not be continued", b.e.Name()).WithCause(err)
		}
	}
	return nil
}

func (b *httpBody) changed() error {
	return fault.Runtime("Input [%s] changed while it was read; run the ingestion again", b.e.Name())
}

func (b *httpBody) Read(p []byte) (int, error) {
	for {
		n, err := b.body.Read(p)
		b.offset += int64(n)
		if n > 0 {
			return n, nil
		}
		if err == nil {
			continue
		}
		if err == io.EOF {
			return 0, io.EOF
		}
		if b.ctx.Err() != nil {
			return 0, b.ctx.Err()
		}
		if b.tries >= httpAttempts-1 {
			return 0, fault.Unavailable("Input [%s] broke off after [%d] bytes", b.e.Name(), b.offset).WithCause(err)
		}
		b.tries++
		_ = b.body.Close() // it failed already
		if err := b.connect(); err != nil {
			return 0, err
		}
	}
}

func (b *httpBody) Close() error {
	err := b.body.Close()
	b.e.client.CloseIdleConnections()
	return err
}

// transportProblem is the innermost message of a connection that failed, without the URL, which may
// hold a secret.
func transportProblem(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return fault.Words(err)
}
