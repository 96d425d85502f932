package kerberos

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/service"
	"github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

const (
	scheme = "Negotiate"
	// keytabBytes bounds a keytab.
	keytabBytes = 1 << 20
	// accepted ends a negotiation that has succeeded, restart asks for a token of Kerberos.
	accepted = "oRQwEqADCgEAoQsGCSqGSIb3EgECAg=="
	restart  = "oRQwEqADCgEBoQsGCSqGSIb3EgECAg=="
)

// Options are the settings of an authenticator.
type Options struct {
	// Name is the name of the authenticator. Prefix is the prefix of its settings.
	Name, Prefix string
	// Principal is the principal of the service, HTTP/_HOST@REALM, in which _HOST is replaced by Host.
	// A star means any HTTP service of the keytab.
	Principal, Host string
	Keytab          string
	// Rules map principals to short names.
	Rules string
	// Secret signs cookies.
	Secret     secret.Text
	Authorizer string
	Clock      clock.Clock
	Log        *slog.Logger
}

// Authenticator identifies users by tickets, and by cookies issued for a ticket.
type Authenticator struct {
	o        Options
	keys     *keytab.Keytab
	settings *service.Settings
	service  string // HTTP/host; "": any of the keytab
	realm    string
	rules    *rules
	signer   *signer
}

// New reads the keytab and returns an authenticator.
func New(o Options) (*Authenticator, error) {
	a := &Authenticator{o: o, signer: &signer{[]byte(o.Secret.Reveal()), o.Name}}
	if o.Secret.IsZero() {
		return nil, fault.InvalidInput("Setting [%scookieSignatureSecret] is missing; type [kerberos] needs it", o.Prefix)
	}
	var err error
	if a.keys, err = readKeytab(o.Keytab, o.Prefix+"serverKeytab"); err != nil {
		return nil, err
	}
	name, realm, _ := strings.Cut(o.Principal, "@")
	if name != "*" {
		kind, host, ok := strings.Cut(name, "/")
		if !ok || kind == "" || host == "" {
			return nil, fault.InvalidInput("Value [%s] of setting [%sserverPrincipal] has not the form [HTTP/host@REALM]", o.Principal, o.Prefix)
		}
		if host == "_HOST" {
			host = strings.ToLower(o.Host)
		}
		a.service = kind + "/" + host
	}
	if a.realm = realm; realm == "" {
		a.realm = a.keys.Entries[0].Principal.Realm
	}
	found := false
	for i := range a.keys.Entries {
		of := &a.keys.Entries[i].Principal
		found = found || a.has(strings.Join(of.Components, "/"), of.Realm)
	}
	if !found {
		return nil, fault.InvalidInput("Keytab [%s] of setting [%sserverKeytab] has no key of [%s@%s]", o.Keytab, o.Prefix, orAny(a.service),
			a.realm)
	}
	if a.rules, err = parseRules(o.Rules, a.realm, o.Prefix+"authToLocal"); err != nil {
		return nil, err
	}
	// What a directory of Windows puts into tickets is not looked at: the library refuses what newer
	// MIT servers put there.
	a.settings = service.NewSettings(a.keys, service.DecodePAC(false))
	return a, nil
}

func orAny(service string) string {
	if service == "" {
		return "HTTP/*"
	}
	return service
}

// has reports whether a service is the one of the settings.
func (a *Authenticator) has(name, realm string) bool {
	if realm != a.realm {
		return false
	}
	if a.service == "" {
		return strings.HasPrefix(name, "HTTP/")
	}
	return strings.EqualFold(name, a.service)
}

func readKeytab(path, property string) (*keytab.Keytab, error) {
	if path == "" {
		return nil, fault.InvalidInput("Setting [%s] is missing; type [kerberos] needs it", property)
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > keytabBytes {
		return nil, fault.InvalidInput("Keytab [%s] of setting [%s] is not readable", path, property)
	}
	keys, err := keytab.Load(path)
	if err != nil || len(keys.Entries) == 0 {
		return nil, fault.InvalidInput("File [%s] of setting [%s] is not a keytab", path, property)
	}
	return keys, nil
}

// Challenge implements auth.Authenticator.
func (a *Authenticator) Challenge() string { return scheme }

// Authenticate implements auth.Authenticator.
func (a *Authenticator) Authenticate(ctx context.Context, r *auth.Request) (*auth.Identity, error) {
	if user := a.known(r); user != "" {
		return a.identity(user), nil
	}
	header := r.Header.Get("Authorization")
	if len(header) <= len(scheme) || !strings.EqualFold(header[:len(scheme)+1], scheme+" ") {
		return nil, nil //nolint:nilnil // the next authenticator is asked
	}
	name, principal, err := a.verify(strings.TrimSpace(header[len(scheme):]))
	switch {
	case errors.Is(err, errGoOn):
		r.Answer.Add("WWW-Authenticate", scheme+" "+restart)
		return nil, fault.Unauthorized("A ticket of Kerberos is needed")
	case err != nil:
		a.o.Log.WarnContext(ctx, "Kerberos ticket rejected", "peer", r.Peer, "reason", err)
		return nil, fault.Forbidden("Unauthorized")
	}
	r.Answer.Set("WWW-Authenticate", scheme+" "+accepted)
	r.Answer.Add("Set-Cookie", cookie(a.signer.sign(name, principal, a.o.Clock.Now().Add(cookieAge)), r.TLS != nil))
	return a.identity(name), nil
}

func (a *Authenticator) identity(name string) *auth.Identity {
	return &auth.Identity{Name: name, Authorizer: a.o.Authorizer, By: a.o.Name}
}

// known returns whom a cookie of the request is of, and has the client forget one that is not good.
func (a *Authenticator) known(r *auth.Request) string {
	sent := (&http.Request{Header: r.Header}).CookiesNamed(CookieName)
	for _, c := range sent {
		if user := a.signer.read(c.Value, a.o.Clock.Now()); user != "" {
			return user
		}
	}
	if len(sent) > 0 {
		r.Answer.Add("Set-Cookie", cookie("", r.TLS != nil))
	}
	return ""
}

// errGoOn is that a client has sent no ticket yet, but may have one.
var errGoOn = errors.New("the client speaks of another mechanism first")

// verify returns the short name and the principal of a token.
func (a *Authenticator) verify(text string) (short, principal string, err error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", "", errors.New("the token is not in base64")
	}
	var token spnego.KRB5Token
	if token.Unmarshal(data) != nil { // not bare, but in an envelope
		var envelope spnego.SPNEGOToken
		if err := envelope.Unmarshal(data); err != nil {
			return "", "", fmt.Errorf("the token can't be read: %w", err)
		}
		inner := envelope.NegTokenInit.MechTokenBytes
		if envelope.Resp {
			inner = envelope.NegTokenResp.ResponseToken
		} else if len(envelope.NegTokenInit.MechTypes) == 0 || !hasKerberos(envelope.NegTokenInit.MechTypes[:1]) {
			if hasKerberos(envelope.NegTokenInit.MechTypes) {
				return "", "", errGoOn
			}
			return "", "", errors.New("the client does not speak Kerberos")
		}
		if err := token.Unmarshal(inner); err != nil {
			return "", "", fmt.Errorf("the token can't be read: %w", err)
		}
	}
	if !token.IsAPReq() {
		return "", "", errors.New("the token has no ticket")
	}
	ticket := &token.APReq.Ticket
	if !a.has(ticket.SName.PrincipalNameString(), ticket.Realm) {
		return "", "", fmt.Errorf("the ticket is for [%s@%s]", ticket.SName.PrincipalNameString(), ticket.Realm)
	}
	ok, user, err := service.VerifyAPREQ(&token.APReq, a.settings)
	if err != nil {
		return "", "", err
	}
	if !ok {
		return "", "", errors.New("the ticket is not good")
	}
	principal = user.CName().PrincipalNameString() + "@" + user.Domain()
	short, err = a.rules.short(user.CName().NameString, user.Domain())
	if err != nil {
		return "", "", fmt.Errorf("principal [%s]: %w", principal, err)
	}
	return short, principal, nil
}

// hasKerberos reports whether one of some mechanisms is Kerberos, also by the number that Windows
// has for it.
func hasKerberos[T interface{ String() string }](mechanisms []T) bool {
	return slices.ContainsFunc(mechanisms, func(m T) bool {
		return m.String() == gssapi.OIDKRB5.OID().String() || m.String() == gssapi.OIDMSLegacyKRB5.OID().String()
	})
}
