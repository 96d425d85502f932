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
)

// groupsAttribute holds the distinguished names of the groups of an entry.
const groupsAttribute = "memberOf"

// Options say how a directory is reached and searched.
type Options struct {
	// Prefix begins the names of the settings, for messages.
	Prefix string
	// URLs are the addresses of the directory, tried in their order: ldap://h:389 or ldaps://h:636.
	URLs []string
	// StartTLS makes connections of ldap:// secure before anything is sent.
	StartTLS bool
	// TLS is the client's side of secure connections.
	TLS *keystore.Client
	// BindUser is the name that searches; "": it is done without one.
	BindUser, BindPassword string
	// BaseDN is below which users are. UserSearch is the filter, in which %s stands for the name, and
	// UserAttribute is read of the entry beside its groups.
	BaseDN, UserSearch, UserAttribute string
	// Connect and Read bound the wait for a connection and for each answer.
	Connect, Read time.Duration

	// Iterations are those of the hashes of passwords that are remembered. An entry of the cache, of
	// CacheSize users, counts for MaxAge, and for VerifyAge after the last attempt with its password.
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
	if o.BindUser != "" && o.BindPassword == "" {
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

// Verdict is what a directory says of a password.
type Verdict uint8

// The verdicts.
const (
	// Unknown: there is no such user, or the directory can't tell.
	Unknown Verdict = iota
	// Wrong: the password is not the user's.
	Wrong
	// Right: it is.
	Right
)

// Entry is what the directory knows of a user.
type Entry struct {
	// DN is the distinguished name.
	DN string
	// Groups are those of the groups.
	Groups []string
	// Attributes are the others that were read, by name.
	Attributes map[string][]string
}

// Directory verifies passwords. It is safe for concurrent use.
type Directory struct {
	o     Options
	cache *cache
}

// New returns a directory. It is not asked before the first user comes.
func New(o Options) (*Directory, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Directory{o: o, cache: newCache(&o)}, nil
}

// Verify tells whether a password is that of a user.
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
			d.o.Log.WarnContext(ctx, "the directory could not be searched for a user", "user", user, "error", err)
		}
		return Unknown, Entry{}
	}
	err = d.each(ctx, func(c *ldap.Conn) error { return c.Bind(entry.DN, password) })
	if err != nil {
		if !ldap.IsErrorWithCode(err, ldap.LDAPResultInvalidCredentials) {
			d.o.Log.WarnContext(ctx, "the directory did not verify a password", "user", user, "error", err)
		}
		return Wrong, Entry{}
	}
	d.cache.keep(ctx, user, password, entry)
	return Right, entry
}

// errNoEntry is that nobody has the name.
var errNoEntry = errors.New("no entry has that name")

// search finds the entry of a user.
func (d *Directory) search(ctx context.Context, user string) (Entry, error) {
	attributes := []string{groupsAttribute}
	if d.o.UserAttribute != "" {
		attributes = append(attributes, d.o.UserAttribute)
	}
	// Two entries are enough to see that there is more than one.
	request := ldap.NewSearchRequest(d.o.BaseDN, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, 2, max(1, int(d.o.Read.Seconds())), false,
		d.o.filter(user), attributes, nil)
	var found *ldap.SearchResult
	err := d.each(ctx, func(c *ldap.Conn) error {
		if d.o.BindUser != "" {
			if err := c.Bind(d.o.BindUser, d.o.BindPassword); err != nil {
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
		return Entry{}, fmt.Errorf("several entries have that name, [%s] and [%s] among them", found.Entries[0].DN, found.Entries[1].DN)
	}
	first := found.Entries[0]
	out := Entry{DN: first.DN, Groups: first.GetEqualFoldAttributeValues(groupsAttribute)}
	if d.o.UserAttribute != "" {
		if values := first.GetEqualFoldAttributeValues(d.o.UserAttribute); len(values) > 0 {
			out.Attributes = map[string][]string{d.o.UserAttribute: values}
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
