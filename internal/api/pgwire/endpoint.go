package pgwire

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
)

// watched returns settings of TLS that note which certificate a client is shown.
func watched(config *tls.Config, shown *tls.Certificate) *tls.Config {
	note := func(of *tls.Config) *tls.Config {
		out := of.Clone()
		out.Certificates = nil // GetCertificate is asked for all
		out.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			c, err := certificateFor(of, hello)
			if err == nil && c != nil {
				*shown = *c
			}
			return c, err
		}
		return out
	}
	out := note(config)
	if choose := config.GetConfigForClient; choose != nil {
		out.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			now, err := choose(hello)
			if err != nil || now == nil {
				return now, err
			}
			return note(now), nil
		}
	}
	return out
}

// certificateFor chooses a certificate as package tls does.
func certificateFor(config *tls.Config, hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if config.GetCertificate != nil {
		c, err := config.GetCertificate(hello)
		if c != nil || err != nil {
			return c, err
		}
	}
	for i := range config.Certificates {
		if hello.SupportsCertificate(&config.Certificates[i]) == nil {
			return &config.Certificates[i], nil
		}
	}
	if len(config.Certificates) > 0 {
		return &config.Certificates[0], nil
	}
	return nil, nil //nolint:nilnil // package tls says that there is none
}

// endPointOf is the hash of a certificate that RFC 5929 binds to: with the hash of its signature,
// or
// SHA-256 for those that are too weak. It is nil where that is not defined.
func endPointOf(c *tls.Certificate) []byte {
	if len(c.Certificate) == 0 {
		return nil
	}
	leaf := c.Leaf
	if leaf == nil {
		var err error
		if leaf, err = x509.ParseCertificate(c.Certificate[0]); err != nil {
			return nil
		}
	}
	var by crypto.Hash
	switch leaf.SignatureAlgorithm {
	case x509.MD5WithRSA, x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.SHA256WithRSA, x509.SHA256WithRSAPSS, x509.ECDSAWithSHA256:
		by = crypto.SHA256
	case x509.SHA384WithRSA, x509.SHA384WithRSAPSS, x509.ECDSAWithSHA384:
		by = crypto.SHA384
	case x509.SHA512WithRSA, x509.SHA512WithRSAPSS, x509.ECDSAWithSHA512:
		by = crypto.SHA512
	default:
		return nil
	}
	h := by.New()
	h.Write(leaf.Raw)
	return h.Sum(nil)
}
