package role

import (
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"
	"testing"
)

// A client that tries only one address of localhost is served, whichever it takes.
func TestBothLoopbacksAreListenedOn(t *testing.T) {
	if probe, err := net.Listen("tcp6", "[::1]:0"); err != nil {
		t.Skip("this machine has no IPv6")
	} else if err := probe.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := listenLoopback(0)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				served <- err
				return
			}
			_, err = io.WriteString(conn, "here")
			if err := errors.Join(err, conn.Close()); err != nil {
				t.Error(err)
			}
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	for _, host := range []string{"127.0.0.1", "::1", "127.0.0.1"} {
		conn, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(conn)
		if err := errors.Join(err, conn.Close()); err != nil || string(said) != "here" {
			t.Errorf("[%s] says %q, %v", host, said, err)
		}
	}
	if _, err := listenLoopback(int64(port)); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the port is taken twice: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	// A port that another program has on one of the addresses is not free.
	other, err := net.Listen("tcp6", net.JoinHostPort("::1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := listenLoopback(int64(port)); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port that is free on one address only: %v", err)
	}
	again, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Errorf("the address of IPv4 was not given back: %v", err)
	} else if err := again.Close(); err != nil {
		t.Error(err)
	}
}
