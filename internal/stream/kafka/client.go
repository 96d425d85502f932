package kafka

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/secret"
)

// cluster is how the brokers of one stream are reached: the settings, ready for use. Each reader
// has a client of its own, because a broker answers the requests of a connection one after the
// other, and holds a fetch that it has nothing for.
type cluster struct {
	*settings
	tls          *tls.Config // nil: in the clear
	mechanism    sasl.Mechanism
	check        func(netip.AddrPort) error
	clock        clock.Clock
	log          *slog.Logger
	decompressor kgo.Decompressor
	// refused is the last error of a connection that could not be made, of all clients.
	refused lastError
}

func newCluster(s *settings, access *ingest.Access, log *slog.Logger) (*cluster, error) {
	c := &cluster{settings: s, clock: clock.System(), log: log, decompressor: kgo.DefaultDecompressor()}
	var env secret.Environment
	if access != nil {
		c.check, env = access.CheckAddress, access.Getenv
		if access.Clock != nil {
			c.clock = access.Clock
		}
	}
	var err error
	switch s.protocol {
	case "SSL", "SASL_SSL":
		if c.tls, err = s.tls.config(); err != nil {
			return nil, err
		}
	}
	switch s.protocol {
	case "SASL_PLAINTEXT", "SASL_SSL":
		transport := &http.Transport{DialContext: c.dialTCP, DisableKeepAlives: true}
		around := surroundings{env: env, clock: c.clock, http: &http.Client{Transport: transport, Timeout: requestTimeout}}
		if c.mechanism, err = s.login.open(around); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// client returns a new client, which the caller closes.
func (c *cluster) client() (*kgo.Client, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(c.servers...),
		kgo.Dialer(c.dial),
		kgo.ClientID("henge"),
		kgo.SoftwareNameAndVersion("henge", "1"),
		kgo.DisableClientMetrics(),
		kgo.WithLogger(logger{c.log}),
		kgo.WithHooks(&c.refused),
		kgo.RequestTimeoutOverhead(min(max(c.request, time.Second), 15*time.Minute)),
		kgo.RetryBackoffFn(pause),
		kgo.RequestRetries(attempts),
		kgo.MetadataMinAge(leastPause),
		kgo.BrokerMaxReadBytes(max(2*c.fetchMax, 2*c.partitionMax, 128<<20)),
	}
	if c.clientID != "" {
		options = append(options, kgo.ClientID(c.clientID))
	}
	if c.idle > 0 {
		options = append(options, kgo.ConnIdleTimeout(max(c.idle, time.Second)))
	}
	if c.mechanism != nil {
		options = append(options, kgo.SASL(c.mechanism))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, invalid("bootstrap.servers", "a client can't be made of the properties").WithCause(err)
	}
	return client, nil
}

// pause is how long the next attempt waits after some that failed.
func pause(failed int) time.Duration {
	return min(mostPause, leastPause<<min(max(failed, 0), 10))
}

// dial connects to a broker.
func (c *cluster) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.connect)
	defer cancel()
	conn, err := c.dialTCP(ctx, network, address)
	if err != nil || c.tls == nil {
		return conn, err
	}
	config := c.tls.Clone()
	if config.ServerName, _, err = net.SplitHostPort(address); err != nil {
		_ = conn.Close() // it is of no use
		return nil, err
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // it is of no use
		return nil, &handshakeError{err}
	}
	return secured, nil
}

// dialTCP connects. Addresses are checked when names have been resolved, as for other input.
func (c *cluster) dialTCP(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{}
	if c.check != nil {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return c.check(netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
		}
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		if c.receiveBuffer > 0 {
			err = tcp.SetReadBuffer(c.receiveBuffer)
		}
		if c.sendBuffer > 0 && err == nil {
			err = tcp.SetWriteBuffer(c.sendBuffer)
		}
		if err != nil {
			_ = conn.Close() // it is of no use
			return nil, err
		}
	}
	return conn, nil
}

// lastError keeps why the last connection could not be made. It is safe for use by many goroutines.
type lastError struct {
	mu  sync.Mutex
	err error
}

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (l *lastError) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	l.mu.Lock()
	l.err = err
	l.mu.Unlock()
}

func (l *lastError) get() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// logger passes what the client says on for who looks for it: what matters of it is in errors.
type logger struct{ log *slog.Logger }

func (l logger) Level() kgo.LogLevel {
	if l.log != nil && l.log.Enabled(context.Background(), slog.LevelDebug) {
		return kgo.LogLevelInfo
	}
	return kgo.LogLevelNone
}

func (l logger) Log(_ kgo.LogLevel, message string, pairs ...any) {
	l.log.Debug("Kafka client: "+message, pairs...)
}
