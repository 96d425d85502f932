package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// savedLogin is what is kept of a log in at the provider of a server.
type savedLogin struct {
	Server   string      `json:"server"`
	Issuer   string      `json:"issuer"`
	ClientID string      `json:"clientId"`
	IDToken  secret.Text `json:"idToken"`
	Refresh  secret.Text `json:"refreshToken"`
	Expires  time.Time   `json:"expires"`
}

// renewAhead is how long before its end a token is replaced.
const renewAhead = 30 * time.Second

// loginFile is where the log in at a server is kept.
func loginFile(base string) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("finding the folder of stored logins: %w", err)
	}
	sum := sha256.Sum256([]byte(base))
	return filepath.Join(dir, "henge", "logins", hex.EncodeToString(sum[:8])+".json"), nil
}

func (l *savedLogin) save() error {
	file, err := loginFile(l.Server)
	if err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"server": l.Server, "issuer": l.Issuer, "clientId": l.ClientID, "expires": l.Expires,
		"idToken": l.IDToken.Reveal(), "refreshToken": l.Refresh.Reveal()})
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(file, text, 0o600)
}

// loadLogin returns the log in at a server; nil: there is none.
func loadLogin(base string) (*savedLogin, error) {
	file, err := loginFile(base)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // without a place there is none
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // as said
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, fault.InvalidInput("File [%s] contains a token and is readable by other users; run chmod 600, or remove it", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var l savedLogin
	if json.Unmarshal(text, &l) != nil || l.Server != base {
		return nil, fault.InvalidInput("File [%s] can't be read; remove it and log in again with henge sql --login", file)
	}
	return &l, nil
}

// keep takes a token that the provider has given.
func (l *savedLogin) keep(token *oauth2.Token) error {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return errors.New("the provider did not return an ID token")
	}
	// The server verifies it; here only its end is looked at.
	unverified := &oidc.Config{ClientID: l.ClientID, InsecureSkipSignatureCheck: true, SkipExpiryCheck: true}
	parsed, err := oidc.NewVerifier(l.Issuer, nil, unverified).Verify(context.Background(), raw)
	if err != nil {
		return err
	}
	l.IDToken, l.Expires = secret.NewText(raw), parsed.Expiry
	if token.RefreshToken != "" {
		l.Refresh = secret.NewText(token.RefreshToken)
	}
	return l.save()
}

// config discovers the provider.
func (l *savedLogin) config(ctx context.Context, scopes []string) (*oauth2.Config, error) {
	provider, err := oidc.NewProvider(ctx, l.Issuer)
	if err != nil {
		return nil, fmt.Errorf("the provider [%s] can't be reached: %w", l.Issuer, err)
	}
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInParams // a public client has no secret to send otherwise
	return &oauth2.Config{ClientID: l.ClientID, Endpoint: endpoint, Scopes: scopes}, nil
}

// logInByDevice logs the user in at the provider of a server: the user opens an address in any
// browser, and enters a code there.
func (c *client) logInByDevice(ctx context.Context, out io.Writer) error {
	var device struct {
		Issuer   string   `json:"issuer"`
		ClientID string   `json:"clientId"`
		Scopes   []string `json:"scopes"`
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/service-ext/access/device", nil)
	if err != nil {
		return err
	}
	resp, err := c.plain.Do(r) // without the log in that is there
	if err != nil {
		return &noServerError{c.base, err}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return readFault(resp)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&device); err != nil {
		return fmt.Errorf("the server's description of its provider cannot be read: %w", err)
	}
	l := &savedLogin{Server: c.base, Issuer: device.Issuer, ClientID: device.ClientID}
	config, err := l.config(ctx, device.Scopes)
	if err != nil {
		return err
	}
	if config.Endpoint.DeviceAuthURL == "" {
		return fault.Unsupported("Provider [%s] does not support the device flow", l.Issuer)
	}
	code, err := config.DeviceAuth(ctx)
	if err != nil {
		return fmt.Errorf("provider [%s] did not start the login: %w", l.Issuer, err)
	}
	fmt.Fprintf(out, "Open %s in a browser and enter the code %s\n", code.VerificationURI, code.UserCode)
	if code.VerificationURIComplete != "" {
		fmt.Fprintf(out, "or open %s\n", code.VerificationURIComplete)
	}
	token, err := config.DeviceAccessToken(ctx, code)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("provider [%s] rejected the login: %w", l.Issuer, err)
	}
	if err := l.keep(token); err != nil {
		return fmt.Errorf("storing the login: %w", err)
	}
	fmt.Fprintln(out, "Logged in.")
	return nil
}

// logins gives requests to a server the token of the log in that is kept.
type logins struct {
	base  string
	clock clock.Clock
	mu    sync.Mutex
	login *savedLogin
}

// token returns a token that is good now; the zero Text: nobody has logged in. One that can't be
// replaced is sent as it is: the server says what is wrong with it.
func (l *logins) token(r *http.Request) (secret.Text, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.login == nil || !l.fresh() {
		var err error
		if l.login, err = loadLogin(l.base); err != nil || l.login == nil { // another program may have replaced it
			return secret.Text{}, err
		}
	}
	if l.fresh() || l.login.Refresh.IsZero() {
		return l.login.IDToken, nil
	}
	config, err := l.login.config(r.Context(), nil)
	if err != nil {
		return secret.Text{}, err
	}
	token, err := config.TokenSource(r.Context(), &oauth2.Token{RefreshToken: l.login.Refresh.Reveal()}).Token()
	if refusal, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refusal.Response.StatusCode < http.StatusInternalServerError {
		return secret.Text{}, fault.Unauthorized("The login at [%s] has expired; log in again with henge sql --login", l.login.Issuer)
	}
	if err == nil {
		err = l.login.keep(token)
	}
	if err != nil {
		return secret.Text{}, fmt.Errorf("refreshing the token of the login: %w", err)
	}
	return l.login.IDToken, nil
}

func (l *logins) fresh() bool { return l.clock.Now().Before(l.login.Expires.Add(-renewAhead)) }
