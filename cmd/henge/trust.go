package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/pflag"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/keystore"
)

// authorityVariable is the variable of the environment that stands for --cacert.
const authorityVariable = "HENGE_CACERT"

// trust is how a command knows the server that it talks to, and shows a certificate.
type trust struct {
	authority, certificate, key string
	insecure                    bool
}

// add adds the flags.
func (t *trust) add(flags *pflag.FlagSet) {
	flags.StringVar(&t.authority, "cacert", "",
		"file with trusted authorities in PEM; default $"+authorityVariable+", otherwise those of the machine")
	flags.StringVar(&t.certificate, "cert", "", "file with the client certificate in PEM")
	flags.StringVar(&t.key, "key", "", "file with the key of the client certificate, if it is a separate file")
	flags.BoolVar(&t.insecure, "insecure", false, "accept any certificate: attackers could read the traffic")
}

// apply has a client go by the flags.
func (t *trust) apply(c *client, warn io.Writer) error {
	authority := t.authority
	if authority == "" {
		authority = os.Getenv(authorityVariable)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	roots := keystore.Store{Path: authority, Names: keystore.Names{Path: "--cacert", Password: "--cacert"}}
	if config.RootCAs, err = roots.Roots(); err != nil {
		return flagProblem(err)
	}
	switch {
	case t.certificate == "" && t.key != "":
		return fault.InvalidInput("--key needs --cert")
	case t.certificate != "":
		path := t.certificate
		if t.key != "" {
			path += "," + t.key
		}
		own := keystore.Store{Kind: "PEM", Path: path, Names: keystore.Names{Path: "--cert", Password: "--key", KeyPassword: "--key"}}
		pair, err := own.Pair()
		if err != nil {
			return flagProblem(err)
		}
		config.Certificates = []tls.Certificate{*pair}
	}
	if t.insecure {
		if t.authority != "" {
			return fault.InvalidInput("Give --cacert or --insecure, not both")
		}
		config.InsecureSkipVerify = true // which the user wants, and is warned of
		fmt.Fprintln(warn, "henge: --insecure: the server may be another one than it says")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() // it is one
	transport.TLSClientConfig = config
	c.http, c.plain = &http.Client{Transport: newTransport(c.base, transport)}, &http.Client{Transport: transport}
	return nil
}

func flagProblem(err error) error { return fault.InvalidInput("%v", err) }
