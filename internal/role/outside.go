package role

import (
	"context"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/auth/kerberos"
	"github.com/hengedb/henge/internal/auth/ldap"
	"github.com/hengedb/henge/internal/keystore"
)

// directoryOf builds what verifies passwords against a directory.
func (n *Node) directoryOf(p auth.Part) (basic.Validator, error) {
	const ssl = "service.auth.basic.ssl."
	const of = "credentialsValidator."
	secure, err := clientOptions(n.settings, ssl)
	if err != nil {
		return nil, err
	}
	o := ldap.Options{
		Prefix: p.Prefix + of, URLs: strings.Fields(p.Text(of + "url")), StartTLS: p.Bool(of + "startTls"), BindUser: p.Text(of + "bindUser"),
		BaseDN: p.Text(of + "baseDn"), UserSearch: p.Text(of + "userSearch"), UserAttribute: p.Text(of + "userAttribute"),
		Attributes: p.Settings.List(p.Prefix + of + "attributes"),
		Connect:    seconds(p, of+"connectTimeout"), Read: seconds(p, of+"readTimeout"), Iterations: int(p.Int(of + "credentialIterations")),
		CacheSize: int(p.Int(of + "credentialCacheSize")), MaxAge: seconds(p, of+"credentialMaxDuration"),
		VerifyAge: seconds(p, of+"credentialVerifyDuration"), Clock: n.o.Clock, Log: n.o.Log,
	}
	if o.BindPassword, err = p.Secret(of + "bindPassword"); err != nil {
		return nil, err
	}
	if o.TLS, err = keystore.NewClient(secure); err != nil {
		return nil, ofSetting(err)
	}
	d, err := ldap.New(o)
	if err != nil {
		return nil, err
	}
	n.tls.others = append(n.tls.others, o.TLS)
	return basic.NewLimited(byDirectory{d}, p.Bool("skipOnFailure"), n.o.Clock), nil
}

// seconds returns the value of a setting that is a number of seconds.
func seconds(p auth.Part, name string) time.Duration {
	return time.Duration(min(p.Int(name), 1<<31)) * time.Second
}

// byDirectory is a directory as the authenticator of type basic asks it.
type byDirectory struct{ *ldap.Directory }

// Validate implements basic.Validator.
func (d byDirectory) Validate(ctx context.Context, user, password, _ string) (basic.Outcome, basic.Entry, error) {
	verdict, entry := d.Verify(ctx, user, password)
	switch verdict {
	case ldap.Right:
		return basic.Right, basic.Entry{Groups: entry.Groups, Attributes: entry.Attributes}, nil
	case ldap.Wrong:
		return basic.Wrong, basic.Entry{}, nil
	case ldap.Away:
		return basic.Undecided, basic.Entry{}, nil
	}
	return basic.Unknown, basic.Entry{}, nil
}

// ticketsOf builds an authenticator of type kerberos.
func (n *Node) ticketsOf(p auth.Part) (auth.Authenticator, error) {
	o := kerberos.Options{
		Name: p.Name, Prefix: p.Prefix, Host: n.host(), Keytab: p.Text("serverKeytab"), Rules: p.Text("authToLocal"),
		Clock: n.o.Clock, Log: n.o.Log,
	}
	var err error
	if o.Authorizer, err = p.Required("authorizerName"); err != nil {
		return nil, err
	}
	if o.Principal, err = p.Required("serverPrincipal"); err != nil {
		return nil, err
	}
	if o.Secret, err = p.Secret("cookieSignatureSecret"); err != nil {
		return nil, err
	}
	return kerberos.New(o)
}

// ticketsFor builds an escalator of type kerberos.
func (n *Node) ticketsFor(p auth.Part) (auth.Escalator, error) {
	o := kerberos.EscalatorOptions{Prefix: p.Prefix, Keytab: p.Text("internalClientKeytab"), Host: n.host(), Clock: n.o.Clock}
	var err error
	if o.Authorizer, err = p.Required("authorizerName"); err != nil {
		return nil, err
	}
	if o.Principal, err = p.Required("internalClientPrincipal"); err != nil {
		return nil, err
	}
	e, err := kerberos.NewEscalator(o)
	if err != nil {
		return nil, err
	}
	n.onClose(func() error { e.Close(); return nil })
	return e, nil
}
