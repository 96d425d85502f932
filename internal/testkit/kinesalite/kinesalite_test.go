package kinesalite

import (
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	Stop()
	os.Exit(code)
}

// A client that goes away in the middle of a request does not end the server for the others.
func TestClientsThatGoAway(t *testing.T) {
	endpoint := Endpoint(t)
	for range 20 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		response, err := http.Get(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
