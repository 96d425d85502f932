package role

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/keystore"
	"github.com/hengedb/henge/internal/obs"
)

// strictTransport is the header of HSTS.
const strictTransport = "max-age=63072000; includeSubDomains"

// transport is what secures connections.
type transport struct {
	server *keystore.Server // nil: no port answers HTTPS
	client *keystore.Client
	// others are clients of what is no process of the cluster, whose files are read again likewise.
	others []keystore.Reloader
}

// openTLS reads certificates and keys, so that a process whose files are wrong does not start.
func (n *Node) openTLS() error {
	set := n.settings
	if checker := set.Text("service.tls.certificateChecker"); checker != "default" {
		return fault.InvalidInput("Value [%s] of setting [service.tls.certificateChecker] is unknown; there is [default] only", checker)
	}
	if set.Bool("service.enableTlsPort") {
		o, err := serverOptions(set)
		if err != nil {
			return err
		}
		if n.tls.server, err = keystore.NewServer(o); err != nil {
			return ofSetting(err)
		}
	} else if !set.Bool("service.enablePlaintextPort") {
		return fault.InvalidInput("Settings [service.enablePlaintextPort] and [service.enableTlsPort] are both [false]: " +
			"the process could not be reached")
	}
	o, err := clientOptions(set, "service.client.https.")
	if err != nil {
		return err
	}
	n.tls.client, err = keystore.NewClient(o)
	return ofSetting(err)
}

// ofSetting makes the fault of a setting of what is wrong with a store.
func ofSetting(err error) error {
	if p, ok := errors.AsType[*keystore.Problem](err); ok {
		return fault.InvalidInput("%s", p.Error())
	}
	return err
}

// checkAlgorithm takes the names that Java has for what is done here.
func checkAlgorithm(set *config.Settings, key string) error {
	switch name := set.Text(key); name {
	case "", "PKIX", "SunX509", "NewSunX509":
		return nil
	default:
		return fault.InvalidInput("Value [%s] of setting [%s] is unknown; use PKIX, SunX509 or NewSunX509", name, key)
	}
}

// keyStore reads the settings of a key, below a prefix.
func keyStore(set *config.Settings, of string) (keystore.Store, error) {
	s := keystore.Store{
		Kind: set.Text(of + "keyStoreType"), Path: set.Text(of + "keyStorePath"), Alias: set.Text(of + "certAlias"),
		Names: keystore.Names{
			Kind: of + "keyStoreType", Path: of + "keyStorePath", Password: of + "keyStorePassword", Alias: of + "certAlias",
			KeyPassword: of + "keyManagerPassword",
		},
	}
	err := checkAlgorithm(set, of+"keyManagerFactoryAlgorithm")
	if err != nil {
		return s, err
	}
	if s.Password, err = secretOf(set, of+"keyStorePassword"); err != nil {
		return s, err
	}
	s.KeyPassword, err = secretOf(set, of+"keyManagerPassword")
	return s, err
}

// trustStore reads the settings of trusted certificates, below a prefix.
func trustStore(set *config.Settings, of string) (keystore.Store, error) {
	s := keystore.Store{
		Kind: set.Text(of + "trustStoreType"), Path: set.Text(of + "trustStorePath"),
		Names: keystore.Names{Kind: of + "trustStoreType", Path: of + "trustStorePath", Password: of + "trustStorePassword"},
	}
	err := checkAlgorithm(set, of+"trustStoreAlgorithm")
	if err != nil {
		return s, err
	}
	s.Password, err = secretOf(set, of+"trustStorePassword")
	return s, err
}

// serverOptions read how ports answer HTTPS.
func serverOptions(set *config.Settings) (keystore.ServerOptions, error) {
	const of = "service.server.https."
	o := keystore.ServerOptions{
		ValidateHostnames: set.Bool(of + "validateHostnames"), CRL: set.Text(of + "crlPath"), CRLName: of + "crlPath",
		Choice: keystore.Choice{
			IncludeProtocols: set.List(of + "includeProtocols"), ExcludeProtocols: set.List(of + "excludeProtocols"),
			IncludeCiphers: set.List(of + "includeCipherSuites"), ExcludeCiphers: set.List(of + "excludeCipherSuites"),
			Names: keystore.ChoiceNames{
				IncludeProtocols: of + "includeProtocols", ExcludeProtocols: of + "excludeProtocols",
				IncludeCiphers: of + "includeCipherSuites", ExcludeCiphers: of + "excludeCipherSuites",
			},
		},
	}
	var err error
	if o.Key, err = keyStore(set, of); err != nil {
		return o, err
	}
	if o.Trust, err = trustStore(set, of); err != nil {
		return o, err
	}
	if !o.Key.Given() {
		return o, fault.InvalidInput("Setting [service.enableTlsPort] needs [%skeyStorePath], which has the certificate and its key", of)
	}
	switch {
	case set.Bool(of + "requireClientCertificate"):
		o.Demand = keystore.RequireCertificate
		if !o.Trust.Given() {
			return o, fault.InvalidInput("Setting [%srequireClientCertificate] needs [%strustStorePath], which has the authorities of clients", of,
				of)
		}
	case set.Bool(of + "requestClientCertificate"):
		o.Demand = keystore.RequestCertificate
	case o.CRL != "":
		return o, fault.InvalidInput("Setting [%scrlPath] needs [%srequireClientCertificate] or [%srequestClientCertificate]", of, of, of)
	}
	return o, nil
}

// clientOptions read how a process speaks TLS to others, from the settings below a prefix.
func clientOptions(set *config.Settings, of string) (keystore.ClientOptions, error) {
	o := keystore.ClientOptions{AnyHost: !set.Bool(of + "validateHostnames"), Protocol: set.Text(of + "protocol"), ProtocolName: of +
		"protocol"}
	var err error
	if o.Trust, err = trustStore(set, of); err != nil {
		return o, err
	}
	o.Key, err = keyStore(set, of)
	return o, err
}

// followTLS reads certificates again while the process runs, if the settings want it.
func (n *Node) followTLS(ctx context.Context) {
	if n.tls.server == nil || !n.settings.Bool("service.server.https.reloadSslContext") {
		return
	}
	period := time.Duration(max(1, n.settings.Int("service.server.https.reloadSslContextSeconds"))) * time.Second
	n.roles.Go(func() error {
		keystore.Follow(ctx, n.o.Clock, period, n.o.Log, append([]keystore.Reloader{n.tls.server, n.tls.client}, n.tls.others...)...)
		return nil
	})
}

// overTLS has a handler mind what only requests over TLS need.
func (n *Node) overTLS(h http.Handler) http.Handler {
	if n.tls.server == nil {
		return h
	}
	strict, hsts := n.settings.Bool("service.server.http.enforceStrictSNIHostChecking"), n.settings.Bool("service.server.http.enableHSTS")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			if strict && !n.meant(r) {
				http.Error(w, "Invalid SNI: the certificate of this server is not for the host of the request", http.StatusBadRequest)
				return
			}
			if hsts {
				w.Header().Set("Strict-Transport-Security", strictTransport)
			}
		}
		h.ServeHTTP(w, r)
	})
}

// meant reports whether the host of a request is the one that its connection was made to, or
// another one of the certificate. Clients that connect to an address name no host.
func (n *Node) meant(r *http.Request) bool {
	if r.TLS.ServerName == "" {
		return true
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return host == r.TLS.ServerName || n.tls.server.Leaf().VerifyHostname(host) == nil
}

// measureTLS tells when certificates expire, and how many handshakes have failed.
func (s *services) measureTLS(_ context.Context, emit func(obs.Sample)) error {
	now := s.n.o.Clock.Now()
	left := func(of string, at time.Time) {
		if !at.IsZero() {
			emit(obs.Sample{
				Service: s.n.o.Roles[0], Metric: "tls/certificate/secondsLeft", Value: at.Sub(now).Seconds(), Dims: []string{"certificate", of},
			})
		}
	}
	left("client", s.n.tls.client.Expires())
	if s.n.tls.server == nil {
		return nil
	}
	left("server", s.n.tls.server.Expires())
	for _, role := range s.n.ownRoles() {
		for _, l := range s.n.listeners {
			if secured := l.wrapped.Load(); secured != nil && l.role == role {
				emit(obs.Sample{Service: role, Metric: "tls/handshake/failed", Value: float64(secured.Failed()), Total: true})
			}
		}
	}
	return nil
}
