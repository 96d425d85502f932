package kafka

import (
	"context"
	"os"
	"strings"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"

	"github.com/hengedb/henge/internal/secret"
)

// kerberos logs in with a keytab or with a cache of tickets, as options of a Krb5LoginModule say.
// The realm's servers stand in the file that KRB5_CONFIG names, else in /etc/krb5.conf.
func (l *login) kerberos(env secret.Environment) (sasl.Mechanism, error) {
	if l.jaas == nil || l.jaas.module != kerberosModule {
		return nil, invalid("sasl.jaas.config", "mechanism [GSSAPI] needs it, with a [%s]", kerberosModule)
	}
	options := l.jaas.options
	service := l.service
	if service == "" {
		service = options["serviceName"]
	}
	if service == "" {
		return nil, invalid("sasl.kerberos.service.name", "mechanism [GSSAPI] needs the name of the brokers' service")
	}
	realms, err := config.Load(variable(env, "KRB5_CONFIG", "/etc/krb5.conf"))
	if err != nil {
		return nil, invalid("sasl.mechanism", "GSSAPI needs a readable [krb5.conf]: KRB5_CONFIG names it, else it is /etc/krb5.conf")
	}
	user, err := l.kerberosClient(env, realms)
	if err != nil {
		return nil, err
	}
	given := func(context.Context) *client.Client { return user }
	return kerberos.Auth{ClientFn: given, Service: service, PersistAfterAuth: true}.AsMechanism(), nil
}

func (l *login) kerberosClient(env secret.Environment, realms *config.Config) (*client.Client, error) {
	options := l.jaas.options
	if strings.EqualFold(options["useTicketCache"], "true") {
		path := options["ticketCache"]
		if path == "" {
			path = strings.TrimPrefix(variable(env, "KRB5CCNAME", ""), "FILE:")
		}
		cache, err := credentials.LoadCCache(path)
		if err != nil {
			return nil, invalid("sasl.jaas.config", "the cache of tickets [%s] is not readable", path)
		}
		user, err := client.NewFromCCache(cache, realms, client.DisablePAFXFAST(true))
		if err != nil {
			return nil, invalid("sasl.jaas.config", "the cache of tickets [%s] has no ticket of a user", path)
		}
		return user, nil
	}
	name, realm, ok := strings.Cut(options["principal"], "@")
	if name == "" {
		return nil, invalid("sasl.jaas.config", "mechanism [GSSAPI] needs its option [principal]")
	}
	if !ok {
		realm = realms.LibDefaults.DefaultRealm
	}
	path := options["keyTab"]
	if path == "" {
		return nil, invalid("sasl.jaas.config", "mechanism [GSSAPI] needs its option [keyTab], or [useTicketCache]")
	}
	if info, err := os.Stat(path); err != nil || info.Size() > storeBytes {
		return nil, invalid("sasl.jaas.config", "the keytab [%s] is not readable", path)
	}
	keys, err := keytab.Load(path)
	if err != nil {
		return nil, invalid("sasl.jaas.config", "the keytab [%s] is not readable", path)
	}
	return client.NewWithKeytab(name, realm, keys, realms, client.DisablePAFXFAST(true)), nil
}

// variable returns a variable of the environment, or what stands for it.
func variable(env secret.Environment, name, otherwise string) string {
	if env != nil {
		if text, ok := env(name); ok && text != "" {
			return text
		}
	}
	return otherwise
}
