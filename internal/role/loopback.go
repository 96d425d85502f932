package role

import (
	"errors"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// loopback is what ports are bound to without service.host: both addresses of the loopback
// interface. Clients that are given localhost may take either, and some try only one: Node 17 to 19
// takes ::1 where the machine names that first.
const loopback = "127.0.0.1"

// freePortTries is how often a port that is free on both addresses is looked for.
const freePortTries = 16

// listenLoopback listens on both addresses of the loopback interface, or on that of IPv4 where the
// machine has no IPv6.
func listenLoopback(port int64) (net.Listener, error) {
	for try := 1; ; try++ {
		four, err := net.Listen("tcp4", net.JoinHostPort(loopback, strconv.FormatInt(port, 10)))
		if err != nil {
			return nil, err
		}
		taken := four.Addr().(*net.TCPAddr).Port
		six, err := net.Listen("tcp6", net.JoinHostPort("::1", strconv.Itoa(taken)))
		switch {
		case err == nil:
			return &bothLoopbacks{Listener: four, six: six, arrived: make(chan arrival), closed: make(chan struct{})}, nil
		case errors.Is(err, syscall.EADDRINUSE) && port == 0 && try < freePortTries:
			_ = four.Close() // another port may be free on both
		case errors.Is(err, syscall.EADDRINUSE):
			return nil, errors.Join(err, four.Close())
		default: // no IPv6 here
			return four, nil
		}
	}
}

// bothLoopbacks is one listener of two addresses with the same port. Addr is that of IPv4.
type bothLoopbacks struct {
	net.Listener
	six net.Listener

	begin, end sync.Once
	arrived    chan arrival
	closed     chan struct{}
}

// arrival is what Accept of one address returned.
type arrival struct {
	conn net.Conn
	err  error
}

// Accept implements net.Listener.
func (b *bothLoopbacks) Accept() (net.Conn, error) {
	b.begin.Do(func() {
		go b.forward(b.Listener)
		go b.forward(b.six)
	})
	select {
	case a := <-b.arrived:
		return a.conn, a.err
	case <-b.closed:
		return nil, net.ErrClosed
	}
}

// forward hands over the connections of one address until Close.
func (b *bothLoopbacks) forward(l net.Listener) {
	for {
		conn, err := l.Accept()
		select {
		case b.arrived <- arrival{conn, err}:
		case <-b.closed:
			if conn != nil {
				_ = conn.Close() // nobody will answer it
			}
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// Close implements net.Listener.
func (b *bothLoopbacks) Close() (err error) {
	b.end.Do(func() {
		close(b.closed)
		err = errors.Join(b.Listener.Close(), b.six.Close())
	})
	return err
}
