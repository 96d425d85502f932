package kafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/types"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/secret"
)

// tickets logs in with a keytab or with a cache of tickets, as options of a Krb5LoginModule say. It
// implements sasl.Mechanism. Each connection gets tickets of its own: keys and tickets that were
// renewed meanwhile are used, and nothing stays behind.
type tickets struct {
	service string // of the brokers
	// keys is the path of the keytab, cache that of tickets; one of them is given.
	keys, cache string
	login       func() (*client.Client, error)
}

// kerberos reads the settings. The realm's servers stand in the file that KRB5_CONFIG names, else
// in /etc/krb5.conf.
func (l *login) kerberos(around surroundings) (sasl.Mechanism, error) {
	if l.jaas == nil || l.jaas.module != kerberosModule {
		return nil, invalid("sasl.jaas.config", "mechanism [GSSAPI] needs it, with a [%s]", kerberosModule)
	}
	options := l.jaas.options
	t := &tickets{service: l.service}
	if t.service == "" {
		t.service = options["serviceName"]
	}
	if t.service == "" {
		return nil, invalid("sasl.kerberos.service.name", "mechanism [GSSAPI] needs the name of the brokers' service")
	}
	realms, err := config.Load(variable(around.env, "KRB5_CONFIG", "/etc/krb5.conf"))
	if err != nil {
		return nil, invalid("sasl.mechanism", "GSSAPI needs a readable [krb5.conf]: KRB5_CONFIG names it, else it is /etc/krb5.conf")
	}
	if strings.EqualFold(options["useTicketCache"], "true") {
		t.useCache(around, realms, options["ticketCache"])
	} else if err := t.useKeys(realms, options); err != nil {
		return nil, err
	}
	first, err := t.login()
	if err != nil {
		if _, expired := errors.AsType[*loginError](err); !expired { // it may be renewed
			return nil, err
		}
	} else {
		first.Destroy()
	}
	return t, nil
}

// useCache takes tickets that somebody else renews.
func (t *tickets) useCache(around surroundings, realms *config.Config, path string) {
	if path == "" {
		path = strings.TrimPrefix(variable(around.env, "KRB5CCNAME", ""), "FILE:")
	}
	t.cache = path
	t.login = func() (*client.Client, error) {
		cache, err := credentials.LoadCCache(path)
		if err != nil {
			return nil, invalid("sasl.jaas.config", "the cache of tickets [%s] is not readable", path)
		}
		user, err := client.NewFromCCache(cache, realms, client.DisablePAFXFAST(true))
		if err != nil {
			return nil, invalid("sasl.jaas.config", "the cache of tickets [%s] has no ticket of a user", path)
		}
		if expired(cache, around.clock) {
			user.Destroy()
			return nil, &loginError{why: fmt.Sprintf("the ticket in the cache [%s] has expired; get another one with kinit", path)}
		}
		return user, nil
	}
}

// expired reports whether the ticket by which a cache gets others is not valid any more.
func expired(cache *credentials.CCache, c clock.Clock) bool {
	granting := types.PrincipalName{NameType: 2, NameString: []string{"krbtgt", cache.GetClientRealm()}}
	ticket, ok := cache.GetEntry(granting)
	return ok && !ticket.EndTime.After(c.Now())
}

// useKeys takes the keys of a user.
func (t *tickets) useKeys(realms *config.Config, options map[string]string) error {
	name, realm, ok := strings.Cut(options["principal"], "@")
	if name == "" {
		return invalid("sasl.jaas.config", "mechanism [GSSAPI] needs its option [principal]")
	}
	if !ok {
		realm = realms.LibDefaults.DefaultRealm
	}
	path := options["keyTab"]
	if path == "" {
		return invalid("sasl.jaas.config", "mechanism [GSSAPI] needs its option [keyTab], or [useTicketCache]")
	}
	t.keys = path
	t.login = func() (*client.Client, error) {
		if info, err := os.Stat(path); err != nil || info.Size() > storeBytes {
			return nil, invalid("sasl.jaas.config", "the keytab [%s] is not readable", path)
		}
		keys, err := keytab.Load(path)
		if err != nil {
			return nil, invalid("sasl.jaas.config", "the keytab [%s] is not readable", path)
		}
		return client.NewWithKeytab(name, realm, keys, realms, client.DisablePAFXFAST(true)), nil
	}
	return nil
}

// Name implements sasl.Mechanism.
func (*tickets) Name() string { return "GSSAPI" }

// Authenticate implements sasl.Mechanism. Once it has made what is sent first the session needs no
// more tickets.
func (t *tickets) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	user, err := t.login()
	if err != nil {
		return nil, nil, err
	}
	defer user.Destroy()
	name := user.Credentials.UserName() + "@" + user.Credentials.Domain()
	mechanism := kerberos.Auth{Client: user, Service: t.service, PersistAfterAuth: true}.AsMechanism()
	session, first, err := mechanism.Authenticate(ctx, host)
	if err != nil {
		return nil, nil, &loginError{t.problem(name, host, err), err}
	}
	return session, first, nil
}

// problem says why there is no ticket. The library has no types for that.
func (t *tickets) problem(user, host string, err error) string {
	broker, _, _ := strings.Cut(host, ":")
	says := func(texts ...string) bool {
		for _, text := range texts {
			if strings.Contains(err.Error(), text) {
				return true
			}
		}
		return false
	}
	switch {
	case says("KDC_ERR_C_PRINCIPAL_UNKNOWN"):
		return fmt.Sprintf("the Kerberos server does not know principal [%s]", user)
	case says("KDC_ERR_S_PRINCIPAL_UNKNOWN"):
		return fmt.Sprintf("the Kerberos server does not know the brokers' principal [%s/%s]: [sasl.kerberos.service.name], or the name of "+
			"the broker, is another one", t.service, broker)
	case says("matching key not found in keytab"):
		return fmt.Sprintf("the keytab [%s] has no key of principal [%s]", t.keys, user)
	case says("KDC_ERR_PREAUTH_FAILED", "KRB_AP_ERR_BAD_INTEGRITY", "integrity verification failed", "Decrypting_Error"):
		return fmt.Sprintf("the key of principal [%s] is not the one that the Kerberos server has", user)
	case says("KRB_AP_ERR_TKT_EXPIRED", "KDC_ERR_NAME_EXP", "KDC_ERR_KEY_EXPIRED", "no valid existing session"):
		return fmt.Sprintf("the ticket, or the key, of principal [%s] has expired", user)
	case says("KRB_AP_ERR_SKEW"):
		return "the clock of the Kerberos server is another one"
	case says("Networking_Error", "no KDC", "communication error with KDC"):
		return fmt.Sprintf("no Kerberos server of principal [%s] answers", user)
	}
	return fmt.Sprintf("principal [%s] got no ticket", user)
}

// loginError says why a login could not even be tried.
type loginError struct {
	why   string
	cause error
}

func (e *loginError) Error() string { return e.why }
func (e *loginError) Unwrap() error { return e.cause }

// variable returns a variable of the environment, or what stands for it.
func variable(env secret.Environment, name, otherwise string) string {
	if env != nil {
		if text, ok := env(name); ok && text != "" {
			return text
		}
	}
	return otherwise
}
