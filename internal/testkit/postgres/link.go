package postgres

import (
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Link is the way to a PostgreSQL, which can be cut.
type Link struct {
	// URL is that of the store, through the link.
	URL string

	to string
	mu struct {
		sync.Mutex
		cut   bool
		conns map[net.Conn]bool
	}
}

// socket is the name of a server's socket in its directory.
const socket = ".s.PGSQL.5432"

// NewLink returns a link to the store at a URL that URL has returned.
func NewLink(t testing.TB, store string) *Link {
	t.Helper()
	at, err := url.Parse(store)
	if err != nil {
		t.Fatal(err)
	}
	values := at.Query()
	dir, err := os.MkdirTemp("", "henge-pglink-") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{to: filepath.Join(values.Get("host"), socket)}
	l.mu.conns = map[net.Conn]bool{}
	values.Set("host", dir)
	at.RawQuery = values.Encode()
	l.URL = at.String()
	listener, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { l.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close() // nobody comes any more
		l.Cut()
		serving.Wait()
		_ = os.RemoveAll(dir)
	})
	return l
}

func (l *Link) serve(client net.Conn) {
	if l.isCut() { // the store is spared those who try again and again
		_ = client.Close()
		return
	}
	server, err := net.Dial("unix", l.to)
	if err != nil {
		_ = client.Close()
		return
	}
	if !l.hold(client, server) {
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // whatever ends one way ends both
			l.drop(client, server)
		})
	}
	both.Wait()
}

// hold keeps connections until they are dropped; false: the link is cut.
func (l *Link) hold(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		if l.mu.cut {
			_ = c.Close()
			continue
		}
		l.mu.conns[c] = true
	}
	return !l.mu.cut
}

func (l *Link) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.cut
}

func (l *Link) drop(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(l.mu.conns, c)
	}
}

// Cut breaks all connections, and each that is tried from now on.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.cut = true
	for c := range l.mu.conns {
		_ = c.Close()
		delete(l.mu.conns, c)
	}
}

// Mend lets connections through again.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.cut = false
}
