package kafka

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// mechanisms are those of SASL that are known.
var mechanisms = []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"}

func (l *login) readJAAS(text string) (problem string) {
	l.jaas, problem = parseJAAS(text)
	return problem
}

// surroundings are what a login may use of the process.
type surroundings struct {
	env   secret.Environment
	clock clock.Clock
	http  *http.Client
}

// open returns the mechanism that brokers are told.
func (l *login) open(around surroundings) (sasl.Mechanism, error) {
	switch l.mechanism {
	case "OAUTHBEARER":
		return l.bearer(around)
	case "GSSAPI":
		return l.kerberos(around)
	}
	user, password, err := l.userPassword()
	if err != nil {
		return nil, err
	}
	switch l.mechanism {
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism(), nil
	}
	return plain.Auth{User: user, Pass: password}.AsMechanism(), nil
}

func (l *login) userPassword() (user, password string, err error) {
	if l.jaas == nil {
		if l.user == "" {
			return "", "", invalid("sasl.jaas.config", "mechanism [%s] needs it, or [sasl.username] and [sasl.password]", l.mechanism)
		}
		return l.user, l.password.Reveal(), nil
	}
	if l.jaas.module != plainModule && l.jaas.module != scramModule {
		return "", "", invalid("sasl.jaas.config", "its login module [%s] is not one of mechanism [%s]", l.jaas.module, l.mechanism)
	}
	user, known := l.jaas.options["username"]
	password, given := l.jaas.options["password"]
	if !known || !given {
		return "", "", invalid("sasl.jaas.config", "mechanism [%s] needs its options [username] and [password]", l.mechanism)
	}
	return user, password, nil
}

// Prefixes of options of an OAuthBearerLoginModule.
const (
	stringClaim    = "unsecuredLoginStringClaim_"
	numberClaim    = "unsecuredLoginNumberClaim_"
	listClaim      = "unsecuredLoginListClaim_"
	unsecuredExtra = "unsecuredLoginExtension_"
	securedExtra   = "extension_"
)

// bearer logs in by a token: one that is given (option token), one that a server of tokens makes
// for a client, or an unsecured one, of claims in the options.
func (l *login) bearer(around surroundings) (sasl.Mechanism, error) {
	if l.jaas == nil || l.jaas.module != oauthModule {
		return nil, invalid("sasl.jaas.config", "mechanism [OAUTHBEARER] needs it, with an [%s]", oauthModule)
	}
	options := l.jaas.options
	extensions := map[string]string{}
	for name, value := range options {
		if extra, ok := strings.CutPrefix(name, unsecuredExtra); ok {
			extensions[extra] = value
		} else if extra, ok := strings.CutPrefix(name, securedExtra); ok {
			extensions[extra] = value
		}
	}
	if len(extensions) == 0 {
		extensions = nil
	}
	token := func(context.Context) (string, error) { return options["token"], nil }
	switch {
	case options["token"] != "":
	case l.tokenURL != "":
		if options["clientId"] == "" || options["clientSecret"] == "" {
			return nil, invalid("sasl.jaas.config", "a token endpoint needs its options [clientId] and [clientSecret]")
		}
		token = l.askToken(around.http)
	case options[stringClaim+"sub"] != "" || options["unsecuredLoginPrincipalClaimName"] != "":
		if _, err := l.unsecured(around.clock.Now()); err != nil {
			return nil, err
		}
		token = func(context.Context) (string, error) { return l.unsecured(around.clock.Now()) }
	default:
		return nil, invalid("sasl.jaas.config",
			"mechanism [OAUTHBEARER] needs one of its options [token, %ssub], or [sasl.oauthbearer.token.endpoint.url]", stringClaim)
	}
	return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		text, err := token(ctx)
		return oauth.Auth{Token: text, Extensions: extensions}, err
	}), nil
}

// unsecured makes a token without a signature of the claims in the options.
func (l *login) unsecured(now time.Time) (string, error) {
	lifetime := 3600.0
	if text := l.jaas.options["unsecuredLoginLifetimeSeconds"]; text != "" {
		var err error
		if lifetime, err = strconv.ParseFloat(text, 64); err != nil || lifetime <= 0 {
			return "", invalid("sasl.jaas.config", "its option [unsecuredLoginLifetimeSeconds] must be a number of seconds")
		}
	}
	claims := map[string]any{"iat": float64(now.UnixMilli()) / 1000, "exp": float64(now.UnixMilli())/1000 + lifetime}
	for name, value := range l.jaas.options {
		if claim, ok := strings.CutPrefix(name, stringClaim); ok {
			claims[claim] = value
		} else if claim, ok := strings.CutPrefix(name, numberClaim); ok {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return "", invalid("sasl.jaas.config", "its option [%s] must be a number", name)
			}
			claims[claim] = number
		} else if claim, ok := strings.CutPrefix(name, listClaim); ok && value != "" {
			claims[claim] = strings.Split(value[1:], value[:1]) // the first character separates the others
		}
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	code := base64.RawURLEncoding
	return code.EncodeToString([]byte(`{"alg":"none"}`)) + "." + code.EncodeToString(body) + ".", nil
}

func tokenProblem(why string, args ...any) *fault.Error {
	return fault.Unavailable("The endpoint of tokens for OAUTHBEARER "+why, args...)
}
