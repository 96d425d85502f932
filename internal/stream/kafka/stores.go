package kafka

import (
	"crypto/tls"
	"errors"
	"strings"

	"github.com/hengedb/henge/internal/keystore"
)

// stores are the ssl.* properties.
type stores struct {
	trust, key  keystore.Store
	anyHost     bool
	least, most uint16
}

// newStores returns those of a client that sets none.
func newStores() stores {
	return stores{
		trust: keystore.Store{Kind: "JKS", Names: keystore.Names{
			Kind: "ssl.truststore.type", Path: "ssl.truststore.location", Password: "ssl.truststore.password",
			Chain: "ssl.truststore.certificates",
		}},
		key: keystore.Store{Kind: "JKS", Names: keystore.Names{
			Kind: "ssl.keystore.type", Path: "ssl.keystore.location", Password: "ssl.keystore.password",
			KeyPassword: "ssl.key.password", Chain: "ssl.keystore.certificate.chain", Key: "ssl.keystore.key",
		}},
	}
}

func (s *stores) readProtocols(text string) string {
	known := map[string]uint16{"TLS": tls.VersionTLS12, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}
	for name := range strings.SplitSeq(text, ",") {
		version, ok := known[strings.TrimSpace(name)]
		if !ok {
			return "it must be of [TLSv1.2, TLSv1.3]"
		}
		if s.least == 0 || version < s.least {
			s.least = version
		}
		s.most = max(s.most, version)
		if strings.TrimSpace(name) == "TLS" {
			s.most = tls.VersionTLS13
		}
	}
	return ""
}

// config makes the settings of TLS. The name of a broker is put into a copy of it.
func (s *stores) config() (*tls.Config, error) {
	out := &tls.Config{MinVersion: max(s.least, tls.VersionTLS12), MaxVersion: s.most}
	var err error
	if out.RootCAs, err = s.trust.Roots(); err != nil {
		return nil, ofProperty(err)
	}
	if s.key.Given() {
		own, err := s.key.Pair()
		if err != nil {
			return nil, ofProperty(err)
		}
		out.Certificates = []tls.Certificate{*own}
	}
	if s.anyHost {
		keystore.AnyHost(out)
	}
	return out, nil
}

// ofProperty makes the fault of a property of what is wrong with a store.
func ofProperty(err error) error {
	if p, ok := errors.AsType[*keystore.Problem](err); ok {
		return invalid(p.Property, "%s", p.Why)
	}
	return err
}
