package oidc

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// Options are the settings of an authenticator.
type Options struct {
	Name, Authorizer string
	Issuer           string
	ClientID         string
	ClientSecret     secret.Text // none: the client is public
	DeviceClientID   string
	// Audiences are the accepted audiences. A token must contain one of them.
	Audiences []string
	Scopes    []string
	// UserClaim and RolesClaim are names of claims, or dotted paths.
	UserClaim, RolesClaim string
	// UserPrefix is the prefix of all user names.
	UserPrefix string
	// RoleMapping maps values of the roles claim to roles; nil: each value is the name of a role.
	RoleMapping map[string][]string
	// RedirectURI is the URI to which the provider redirects browsers after a login; "": browsers
	// can't log in.
	RedirectURI string
	// LogoutURI is the URI to which the provider redirects browsers after a logout; "": it does not
	// redirect.
	LogoutURI string
	// IdleTime is how long a session remains valid without requests, MaxTime its maximum duration.
	IdleTime, MaxTime time.Duration
	MaxSessions       int

	Clock clock.Clock
	Log   *slog.Logger
}

// OptionsOf reads the settings of a part.
func OptionsOf(p auth.Part) (o Options, err error) {
	o = Options{
		Name: p.Name, ClientID: p.Text("clientId"), DeviceClientID: p.Text("deviceClientId"), Audiences: p.Settings.List(p.Prefix + "audiences"),
		Scopes: p.Settings.List(p.Prefix + "scopes"), UserClaim: p.Text("userClaim"),
		RolesClaim: p.Text("rolesClaim"), UserPrefix: p.Text("userPrefix"),
		RedirectURI: p.Text("redirectUri"), LogoutURI: p.Text("postLogoutRedirectUri"), MaxSessions: int(p.Int("maxSessions")),
	}
	for rest, into := range map[string]*string{"authorizerName": &o.Authorizer, "issuer": &o.Issuer, "clientId": &o.ClientID} {
		if *into, err = p.Required(rest); err != nil {
			return o, err
		}
	}
	if o.ClientSecret, err = p.Secret("clientSecret"); err != nil {
		return o, err
	}
	if o.DeviceClientID == "" {
		o.DeviceClientID = o.ClientID
	}
	if len(o.Audiences) == 0 {
		o.Audiences = []string{o.ClientID, o.DeviceClientID}
	}
	if !slices.Contains(o.Scopes, "openid") {
		o.Scopes = append([]string{"openid"}, o.Scopes...)
	}
	if err := secure(o.Issuer); err != "" {
		return o, fault.InvalidInput("Value [%s] of setting [%sissuer] %s", o.Issuer, p.Prefix, err)
	}
	for rest, address := range map[string]string{"redirectUri": o.RedirectURI, "postLogoutRedirectUri": o.LogoutURI} {
		if address == "" {
			continue
		}
		if err := secure(address); err != "" {
			return o, fault.InvalidInput("Value [%s] of setting [%s%s] %s", address, p.Prefix, rest, err)
		}
	}
	if text := p.Text("roleMapping"); text != "" {
		o.RoleMapping = map[string][]string{}
		if json.Unmarshal([]byte(text), &o.RoleMapping) != nil || o.RoleMapping == nil {
			return o, fault.InvalidInput(`Value [%s] of setting [%sroleMapping] is not a JSON object of lists such as {"staff":["analyst"]}`,
				text, p.Prefix)
		}
	}
	for rest, into := range map[string]*time.Duration{"sessionIdleTime": &o.IdleTime, "sessionMaxTime": &o.MaxTime} {
		period, err := chrono.ParsePeriod(p.Text(rest))
		ms, fixed := period.StandardMillis()
		if err != nil || !fixed || ms <= 0 {
			return o, fault.InvalidInput("Value [%s] of setting [%s%s] is not a positive period such as [PT30M]", p.Text(rest), p.Prefix, rest)
		}
		*into = time.Duration(ms) * time.Millisecond
	}
	if o.MaxSessions < 1 {
		return o, fault.InvalidInput("Value [%d] of setting [%smaxSessions] is not a positive number", o.MaxSessions, p.Prefix)
	}
	return o, nil
}

// secure says why an address can't be one of a provider: tokens in plain text are anybody's, except
// inside one machine. "" if it can.
func secure(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "is not an https URL"
	case u.Fragment != "" || u.User != nil || u.RawQuery != "":
		return "must have no user, query or fragment"
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return "must begin with https: outside of this machine tokens need encryption"
	}
	return ""
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
