package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/keystore"
	"github.com/hengedb/henge/internal/secret"
)

// client speaks the HTTP interface, as any other client would.
type client struct {
	base string
	// local says that the answers come from this process, which has no server.
	local bool
	http  *http.Client
	// plain sends requests without any credentials.
	plain *http.Client
	// keyed says that an API key of a file is sent.
	keyed bool
	// user is who the client logs in as; "": nobody.
	user string
	// ask, if not nil, is called once for a user and a password when the server wants them.
	ask func() (user string, password secret.Text, err error)
}

const defaultServer = "http://localhost:8888"

func newClient(base string) *client {
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	base = strings.TrimRight(base, "/")
	return &client{base: base, http: &http.Client{Transport: newTransport(base, http.DefaultTransport)}, plain: http.DefaultClient}
}

// do sends a request with a JSON body (nil: none) and returns the body of a 2xx answer, which the
// caller closes.
func (c *client) do(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	resp, err := c.send(ctx, method, path, body)
	if err == nil && resp.StatusCode == http.StatusUnauthorized && c.ask != nil {
		_ = resp.Body.Close() // it says nothing more
		user, password, err := c.ask()
		if err != nil {
			return nil, err
		}
		c.ask = nil
		c.logIn(user, password)
		resp, err = c.send(ctx, method, path, body)
		if err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	if err := c.refusal(resp, method, path); err != nil {
		return nil, err
	}
	f := readFault(resp)
	if resp.StatusCode == http.StatusNotFound && isUnknownPath(f) {
		path, _, _ = strings.Cut(path, "?")
		return nil, fault.NotFound("The server at %[2]s has no [%[1]s]; is it a Router? Set its address with --server (the default port is 8888)",
			path, c.base)
	}
	return nil, f
}

// isUnknownPath reports whether an answer 404 is about the path and not about what the request
// names: its body is empty, a page for browsers, or the sentence of Henge or of Go's servers.
func isUnknownPath(f *fault.Error) bool {
	const silent = "The server answered 404 Not Found"
	return f.Message == silent || f.Message == silent+": 404 page not found" || strings.HasPrefix(f.Message, "There is nothing at [")
}

func (c *client) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encoding the request: %w", err)
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &noServerError{c.base, err}
	}
	return resp, nil
}

// errNoServer is the cause of errors of servers that do not respond, or no longer do.
var errNoServer = errors.New("no server responds")

// noServerError is the failure of a connection.
type noServerError struct {
	base  string
	cause error
}

func (e *noServerError) Error() string {
	return fmt.Sprintf("no server responds at %s (%v); start one with `henge server`, or set its address with "+
		"--server", e.base, reasonOf(e.cause))
}

func (e *noServerError) Unwrap() []error { return []error{errNoServer, e.cause} }

// isRefused reports whether a connection was refused, so that nothing was sent.
func isRefused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// isAway reports whether a server may answer later: it can't be reached, or it starts or stops.
func isAway(err error) bool {
	f := fault.Find(err)
	return errors.Is(err, errNoServer) || f != nil && (f.Category == fault.CategoryServiceUnavailable || f.Category == fault.CategoryTimeout)
}

// reasonOf gives the system's words of an error without names that the message has already.
func reasonOf(err error) error {
	var path *os.PathError
	var call *os.SyscallError
	var address *net.OpError
	if why := tlsReason(err); why != "" {
		return errors.New(why)
	}
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &call):
		return call.Err
	case errors.As(err, &address):
		return address.Err
	}
	return err
}

// tlsReason says what is wrong with a connection over TLS, and what helps; "": nothing.
func tlsReason(err error) string {
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var verification *tls.CertificateVerificationError
	switch {
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"), errors.As(err, &record):
		return "the port uses plain HTTP, not HTTPS"
	case errors.As(err, &verification):
		return keystore.Why(verification.Err) + "; set the authority of the server with --cacert FILE"
	case errors.As(err, &alert):
		return keystore.Why(alert)
	}
	return ""
}

// readFault makes a fault of an error answer.
func readFault(resp *http.Response) *fault.Error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what could be read of an error is all there is
	type body struct {
		ErrorMessage string            `json:"errorMessage"`
		Category     fault.Category    `json:"category"`
		Code         string            `json:"errorCode"`
		Context      map[string]string `json:"context"`
	}
	var b body
	if json.Unmarshal(text, &b) != nil || b.ErrorMessage == "" {
		var wrapped struct {
			Error json.RawMessage `json:"error"`
		}
		if json.Unmarshal(text, &wrapped) == nil {
			if json.Unmarshal(wrapped.Error, &b) != nil { // it is the message, or nothing that is known
				_ = json.Unmarshal(wrapped.Error, &b.ErrorMessage)
			}
		}
	}
	if b.ErrorMessage == "" {
		if resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusBadGateway || resp.StatusCode == http.StatusGatewayTimeout {
			b.Category = fault.CategoryServiceUnavailable
		}
		b.ErrorMessage = "The server answered " + resp.Status
		if said := strings.TrimSpace(string(text)); said != "" && !strings.HasPrefix(said, "<") { // no page for browsers
			b.ErrorMessage += ": " + said
		}
	}
	if instead := b.Context["suggestion"]; !strings.Contains(b.ErrorMessage, instead) {
		b.ErrorMessage += "\nWrite instead: " + instead
	}
	return &fault.Error{Persona: fault.User, Category: b.Category, Code: b.Code, Message: b.ErrorMessage, Context: b.Context}
}

// call sends a request and decodes the answer into out (nil: it is thrown away).
func (c *client) call(ctx context.Context, method, path string, body, out any) error {
	answer, err := c.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer answer.Close()
	if out == nil {
		_, err := io.Copy(io.Discard, answer)
		return err
	}
	dec := json.NewDecoder(answer)
	dec.UseNumber()
	if err := dec.Decode(out); err != nil {
		if ctx.Err() == nil && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)) {
			return &noServerError{c.base, err}
		}
		return fmt.Errorf("the response of %s %s cannot be read: %w", method, path, err)
	}
	return nil
}
