package ldap

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-ldap/ldap/v3"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/keystore"
	"github.com/hengedb/henge/internal/secret"
)

// groupsAttribute holds the distinguished names of the groups of an entry.
const groupsAttribute = "memberOf"

// Options define how a directory is reached and searched.
type Options struct {
	// Prefix is the prefix of the settings, for messages.
	Prefix string
	// URLs are the addresses of the directory, tried in order: ldap://h:389 or ldaps://h:636.
	URLs []string
	// StartTLS upgrades ldap:// connections to TLS before anything is sent.
	StartTLS bool
	// TLS is the client configuration of TLS connections.
	TLS *keystore.Client
	// BindUser is the user that searches; "": anonymous.
	BindUser     string
	BindPassword secret.Text
	// BaseDN is the subtree of the users. UserSearch is the filter, in which %s is replaced by the
	// name. UserAttribute is the attribute to read from the entry in addition to its groups.
	BaseDN, UserSearch, UserAttribute string
	// Attributes are additional attributes to read from the entry, for rules about the user.
	Attributes []string
	// Connect and Read are the timeouts for a connection and for each response.
	Connect, Read time.Duration

	// Iterations is the number of iterations of cached password hashes. An entry of the cache, which
	// has CacheSize users, is valid for MaxAge, and for VerifyAge after the last attempt with its
	// password.
	Iterations        int
	CacheSize         int
	MaxAge, VerifyAge time.Duration

	Clock clock.Clock
	Log   *slog.Logger
}

// validate refuses what can't work.
func (o *Options) validate() error {
	wrong := func(name, why string, args ...any) error {
		return fault.InvalidInput("Setting [%s%s] can't be used: %s", o.Prefix, name, fmt.Sprintf(why, args...))
	}
	if len(o.URLs) == 0 {
		return fault.InvalidInput("Setting [%surl] is missing; a validator of type [ldap] needs it", o.Prefix)
	}
	for _, text := range o.URLs {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "ldap" && u.Scheme != "ldaps" || u.Hostname() == "" || u.User != nil {
			return wrong("url", "an address has the form ldap://host:389 or ldaps://host:636, with blanks between several")
		}
		if u.Scheme == "ldaps" && o.StartTLS {
			return wrong("startTls", "address [%s] is secure from the start", text)
		}
	}
	if o.BaseDN == "" {
		return fault.InvalidInput("Setting [%sbaseDn] is missing; a validator of type [ldap] needs it", o.Prefix)
	}
	if _, err := ldap.ParseDN(o.BaseDN); err != nil {
		return wrong("baseDn", "[%s] is not a distinguished name", o.BaseDN)
	}
	if !strings.Contains(o.UserSearch, "%s") {
		return wrong("userSearch", "a filter with [%%s] for the name of the user is needed, as (uid=%%s)")
	}
	if _, err := ldap.CompileFilter(o.filter("x")); err != nil {
		return wrong("userSearch", "[%s] is not a filter", o.UserSearch)
	}
	for _, name := range o.Attributes {
		if name == "" || strings.EqualFold(name, "userPassword") || strings.ContainsAny(name, "*+() ") {
			return wrong("attributes", "[%s] is not the name of an attribute that may be read", name)
		}
	}
	if o.BindUser != "" && o.BindPassword.IsZero() {
		// A directory takes an empty password for somebody who does not want to say who they are.
		return wrong("bindPassword", "it is empty")
	}
	if o.Iterations < 1 || o.Iterations > maxIterations {
		return wrong("credentialIterations", "[%d] is not between [1] and [%d]", o.Iterations, maxIterations)
	}
	if o.Connect <= 0 || o.Read <= 0 {
		return fault.InvalidInput("Settings [%sconnectTimeout] and [%sreadTimeout] must be above zero", o.Prefix, o.Prefix)
	}
	return nil
}

// filter is the search for a user.
func (o *Options) filter(user string) string {
	return strings.ReplaceAll(o.UserSearch, "%s", escape(user))
}

// escape makes a name a value in a filter, whatever characters it has.
func escape(name string) string {
	return strings.ReplaceAll(ldap.EscapeFilter(name), "/", `\2f`)
}

// Verdict is the answer of a directory about a password.
type Verdict uint8

// The verdicts.
const (
	// Unknown: the user does not exist, or the directory does not say.
	Unknown Verdict = iota
	// Wrong: the password is wrong.
	Wrong
	// Right: the password is correct.
	Right
	// Away: the directory did not respond.
	Away
)

// Entry is the directory's information about a user.
type Entry struct {
	// DN is the distinguished name.
	DN string
	// Groups are the distinguished names of the groups.
	Groups []string
	// Attributes are the additional attributes that were read, by name.
	Attributes map[string][]string
}

// Directory verifies passwords. It is safe for concurrent use.
type Directory struct {
	o     Options
	cache *cache
}

// New returns a directory. It connects when the first user logs in.
func New(o Options) (*Directory, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Directory{o: o, cache: newCache(&o)}, nil
}

// Verify verifies the password of a user.
func (d *Directory) Verify(ctx context.Context, user, password string) (Verdict, Entry) {
	if user == "" || password == "" {
		return Unknown, Entry{} // the directory would let an empty password in, as nobody
	}
	if entry, ok := d.cache.find(ctx, user, password); ok {
		return Right, entry
	}
	entry, err := d.search(ctx, user)
	if err != nil {
		if !errors.Is(err, errNoEntry) {
			d.o.Log.WarnContext(ctx, "failed to search the directory for a user", "user", user, "error", err)
		}
		if unreached(err) && !errors.Is(err, errNoEntry) && !errors.Is(err, errSeveral) {
			return Away, Entry{}
		}
		return Unknown, Entry{}
	}
	err = d.each(ctx, func(c *ldap.Conn) error { return c.Bind(entry.DN, password) })
	if err != nil {
		if !ldap.IsErrorWithCode(err, ldap.LDAPResultInvalidCredentials) {
			d.o.Log.WarnContext(ctx, "directory failed to verify a password", "user", user, "error", err)
		}
		if unreached(err) {
			return Away, Entry{}
		}
		return Wrong, Entry{}
	}
	d.cache.keep(ctx, user, password, entry)
	return Right, entry
}

// errNoEntry is that nobody has the name.
var errNoEntry = errors.New("no entry has that name")

// errSeveral is that more than one has it.
var errSeveral = errors.New("several entries have that name")

// search finds the entry of a user.
func (d *Directory) search(ctx context.Context, user string) (Entry, error) {
	wanted := d.o.Attributes
	if d.o.UserAttribute != "" {
		wanted = append([]string{d.o.UserAttribute}, wanted...)
	}
	attributes := append([]string{groupsAttribute}, wanted...)
	// Two entries are enough to see that there is more than one.
	request := ldap.NewSearchRequest(d.o.BaseDN, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, 2, max(1, int(d.o.Read.Seconds())), false,
		d.o.filter(user), attributes, nil)
	var found *ldap.SearchResult
	err := d.each(ctx, func(c *ldap.Conn) error {
		if d.o.BindUser != "" {
			if err := c.Bind(d.o.BindUser, d.o.BindPassword.Reveal()); err != nil {
				return fmt.Errorf("binding as the user of [%sbindUser]: %w", d.o.Prefix, err)
			}
		}
		var err error
		found, err = c.Search(request)
		if ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded) && found != nil && len(found.Entries) > 1 {
			return nil
		}
		return err
	})
	switch {
	case err != nil:
		return Entry{}, err
	case len(found.Entries) == 0 || found.Entries[0].DN == "":
		return Entry{}, errNoEntry
	case len(found.Entries) > 1:
		return Entry{}, fmt.Errorf("%w, [%s] and [%s] among them", errSeveral, found.Entries[0].DN, found.Entries[1].DN)
	}
	first := found.Entries[0]
	out := Entry{DN: first.DN, Groups: first.GetEqualFoldAttributeValues(groupsAttribute)}
	for _, name := range wanted {
		if values := first.GetEqualFoldAttributeValues(name); len(values) > 0 {
			if out.Attributes == nil {
				out.Attributes = map[string][]string{}
			}
			out.Attributes[name] = values
		}
	}
	return out, nil
}

// each does something on a connection to the first address that answers. What the directory itself
// answers is not asked again elsewhere.
func (d *Directory) each(ctx context.Context, do func(*ldap.Conn) error) error {
	var failed []error
	for _, address := range d.o.URLs {
		err := d.on(ctx, address, do)
		if err == nil || !unreached(err) {
			return err
		}
		failed = append(failed, fmt.Errorf("address [%s]: %w", address, err))
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// unreached reports whether an error says only that a server does not answer, or has no time.
func unreached(err error) bool {
	e, ok := errors.AsType[*ldap.Error](err)
	if !ok {
		return true // of the connection
	}
	switch e.ResultCode {
	case ldap.ErrorNetwork, ldap.LDAPResultTimeout, ldap.LDAPResultBusy, ldap.LDAPResultUnavailable, ldap.LDAPResultServerDown,
		ldap.LDAPResultConnectError, ldap.LDAPResultTimeLimitExceeded:
		return true
	}
	return false
}

// on does something on a connection of its own.
func (d *Directory) on(ctx context.Context, address string, do func(*ldap.Conn) error) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"ldap": "389", "ldaps": "636"}[u.Scheme]
	}
	hostPort := net.JoinHostPort(u.Hostname(), port)
	connecting, cancel := context.WithTimeout(ctx, d.o.Connect)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(connecting, "tcp", hostPort)
	if err != nil {
		return err
	}
	if u.Scheme == "ldaps" {
		if conn, err = d.o.TLS.Handshake(connecting, conn, hostPort); err != nil {
			return err
		}
	}
	_, secure := conn.(*tls.Conn)
	c := ldap.NewConn(conn, secure)
	c.SetTimeout(d.o.Read)
	c.Start()
	defer func() { _ = c.Close() }()                         // all that was asked was answered
	defer context.AfterFunc(ctx, func() { _ = c.Close() })() // what waits for an answer returns
	if d.o.StartTLS && !secure {
		if err := c.StartTLS(d.o.TLS.Config(u.Hostname())); err != nil {
			return &keystore.HandshakeError{Address: hostPort, Cause: err}
		}
	}
	return do(c)
}
