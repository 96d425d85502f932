package dispatch

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestTheEndOfAConnectionIsNoEndOfRows asks a server that closes the connection before it answers,
// as one does that is killed: the failure must not look like the end of the rows.
func TestTheEndOfAConnectionIsNoEndOfRows(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	d := New(Options{Client: s.Client()})
	_, _, err := d.ask(t.Context(), &Server{Name: "one", URL: s.URL}, &Request{})
	if _, ok := errors.AsType[*broken](err); !ok || errors.Is(err, io.EOF) {
		t.Errorf("the failure is [%v]", err)
	}
	if live := moved(err); errors.Is(live, io.EOF) {
		t.Errorf("the failure of live rows is [%v]", live)
	}
}
