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

	to, dir  string
	listener net.Listener
	serving  sync.WaitGroup
	mu       struct {
		sync.Mutex
		cut   bool
		conns map[net.Conn]bool
	}
}

// socket is the name of a server's socket in its directory.
const socket = ".s.PGSQL.5432"

// NewLink returns a link to the store at a URL that URL has returned, until the test ends.
func NewLink(t testing.TB, store string) *Link {
	t.Helper()
	l, err := OpenLink(store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// OpenLink is NewLink for one who closes it.
func OpenLink(store string) (*Link, error) {
	at, err := url.Parse(store)
	if err != nil {
		return nil, err
	}
	values := at.Query()
	dir, err := os.MkdirTemp("", "henge-pglink-") // a socket's path must be short
	if err != nil {
		return nil, err
	}
	l := &Link{dir: dir, to: filepath.Join(values.Get("host"), socket)}
	l.mu.conns = map[net.Conn]bool{}
	values.Set("host", dir)
	at.RawQuery = values.Encode()
	l.URL = at.String()
	if l.listener, err = net.Listen("unix", filepath.Join(dir, socket)); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	l.serving.Go(func() {
		for {
			conn, err := l.listener.Accept()
			if err != nil {
				return
			}
			l.serving.Go(func() { l.serve(conn) })
		}
	})
	return l, nil
}

// Close ends the link and its connections.
func (l *Link) Close() {
	_ = l.listener.Close() // nobody comes any more
	l.Cut()
	l.serving.Wait()
	_ = os.RemoveAll(l.dir)
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
