package auth

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// Settings are the settings of a process, by key.
type Settings interface {
	Text(key string) string
	Bool(key string) bool
	Int(key string) int64
	List(key string) []string
	IsSet(key string) bool
}

// Part contains the settings of one authenticator, authorizer or escalator.
type Part struct {
	// Name is its name in the settings.
	Name string
	// Prefix is the prefix of its settings: service.auth.authenticator.NAME. with the trailing dot.
	Prefix   string
	Settings Settings
}

// Text returns a setting of the part.
func (p Part) Text(rest string) string { return p.Settings.Text(p.Prefix + rest) }

// Bool returns a setting of the part.
func (p Part) Bool(rest string) bool { return p.Settings.Bool(p.Prefix + rest) }

// Int returns a setting of the part.
func (p Part) Int(rest string) int64 { return p.Settings.Int(p.Prefix + rest) }

// Required returns a setting that must not be empty.
func (p Part) Required(rest string) (string, error) {
	value := p.Text(rest)
	if value == "" {
		return "", fault.InvalidInput("Setting [%s%s] is missing; type [%s] needs it", p.Prefix, rest, p.Text("type"))
	}
	return value, nil
}

// Secret returns a password setting, given as text or as a provider; the zero Text: it is not set.
func (p Part) Secret(rest string) (secret.Text, error) {
	return secret.OfSetting(p.Prefix+rest, p.Text(rest), os.LookupEnv)
}

// Escalator adds the credentials of the internal identity to the requests that a process sends to
// other processes on its own behalf. It is safe for concurrent use.
type Escalator interface {
	// Escalate adds credentials to a request. It modifies the request.
	Escalate(r *http.Request) error
	// Identity returns the internal identity.
	Identity() *Identity
}

// Builders are the constructors of the supported types of parts. A type that is not in a map is
// rejected at startup.
type Builders struct {
	Authenticators map[string]func(Part) (Authenticator, error)
	Authorizers    map[string]func(Part) (Authorizer, error)
	Escalators     map[string]func(Part) (Escalator, error)
}

// BuiltIn returns the builders of the types that have no dependencies other than their settings.
func BuiltIn() Builders {
	return Builders{
		Authenticators: map[string]func(Part) (Authenticator, error){
			AllowAll: newAllowAll, "anonymous": newAnonymous, "trustedDomain": newTrustedDomain,
		},
		Authorizers: map[string]func(Part) (Authorizer, error){
			AllowAll:   func(Part) (Authorizer, error) { return Everything{}, nil },
			"readOnly": func(Part) (Authorizer, error) { return ReadOnly{}, nil },
		},
		Escalators: map[string]func(Part) (Escalator, error){
			"noop":  func(Part) (Escalator, error) { return noop{}, nil },
			"basic": newBasicEscalator,
		},
	}
}

// Security is the security configuration of a process: its authenticators and authorizers.
type Security struct {
	chain       []Authenticator
	authorizers map[string]Authorizer
	escalator   Escalator
	// Pacer limits the requests per second of users; nil: no limit.
	Pacer *Pacer
	// Options are the settings that do not belong to a part.
	Options
}

// Options are security settings.
type Options struct {
	// Unsecured are the paths that need no authentication, as servlet patterns.
	Unsecured []string
	// OpenOptions accepts requests with the method OPTIONS without credentials.
	OpenOptions bool
	// ContextKeys says that keys of the query context need permissions. Unsecured keys need none. If
	// OnlySecured is set, only SecuredKeys need permissions.
	ContextKeys                bool
	UnsecuredKeys, SecuredKeys []string
	OnlySecured                bool
	// InputSources says that permissions on external data depend on the type of the input source.
	InputSources bool
	// SystemTables says that tables of the schema sys need their own permissions.
	SystemTables bool
	// Metrics says that rejected requests are counted.
	Metrics bool
}

const (
	settingChain       = "service.auth.authenticatorChain"
	settingAuthorizers = "service.auth.authorizers"
	prefixOfIn         = "service.auth.authenticator."
	prefixOfBy         = "service.auth.authorizer."
	prefixOfEscalator  = "service.escalator."
)

// Configured reports whether the settings configure security.
func Configured(set Settings) bool {
	only := func(key string) bool { return slices.Equal(set.List(key), []string{AllowAll}) }
	return !only(settingChain) || !only(settingAuthorizers) || set.Text(prefixOfEscalator+"type") != "noop"
}

// Open builds the security configuration from the settings.
func Open(set Settings, known Builders) (*Security, error) {
	s := &Security{authorizers: map[string]Authorizer{}, Options: Options{
		Unsecured: set.List("service.auth.unsecuredPaths"), OpenOptions: set.Bool("service.auth.allowUnauthenticatedHttpOptions"),
		ContextKeys: set.Bool("service.auth.authorizeQueryContextParams"), UnsecuredKeys: set.List("service.auth.unsecuredContextKeys"),
		SecuredKeys: set.List("service.auth.securedContextKeys"), OnlySecured: set.IsSet("service.auth.securedContextKeys"),
		InputSources: set.Bool("service.auth.enableInputSourceSecurity"),
		SystemTables: set.Bool("service.sql.planner.authorizeSystemTablesDirectly"),
		Metrics:      set.Bool("service.auth.emitAuthMetrics"),
	}}
	for _, path := range s.Unsecured {
		if !strings.HasPrefix(path, "/") {
			return nil, fault.InvalidInput("Path [%s] of setting [service.auth.unsecuredPaths] does not begin with a slash", path)
		}
	}
	// Authorizers come first: what the internal identity may do is needed by the other parts.
	err := each(set, settingAuthorizers, prefixOfBy, known.Authorizers, func(name string, a Authorizer) { s.authorizers[name] = a })
	if err != nil {
		return nil, err
	}
	err = each(set, settingChain, prefixOfIn, known.Authenticators, func(_ string, a Authenticator) { s.chain = append(s.chain, a) })
	if err != nil {
		return nil, err
	}
	p := Part{Name: "escalator", Prefix: prefixOfEscalator, Settings: set}
	s.escalator, err = build(p, known.Escalators)
	return s, err
}

// each builds the parts that a list of names asks for.
func each[T any](set Settings, list, prefix string, known map[string]func(Part) (T, error), take func(name string, part T)) error {
	names := set.List(list)
	if len(names) == 0 {
		return fault.InvalidInput("Setting [%s] names nothing; it needs at least one name", list)
	}
	seen := map[string]bool{}
	for _, name := range names {
		p := Part{Name: name, Prefix: prefix + name + ".", Settings: set}
		switch problem := nameProblem(name); {
		case problem != "":
			return fault.InvalidInput("Name [%s] in setting [%s] %s", name, list, problem)
		case seen[name]:
			return fault.InvalidInput("Name [%s] is in setting [%s] twice", name, list)
		case set.IsSet(p.Prefix + "name"):
			return fault.InvalidInput("Setting [%sname] is reserved; the name is the one in the key", p.Prefix)
		}
		seen[name] = true
		part, err := build(p, known)
		if err != nil {
			return err
		}
		take(name, part)
	}
	return nil
}

// build makes a part of its type. A part called allowAll is of that type without saying so.
func build[T any](p Part, known map[string]func(Part) (T, error)) (none T, err error) {
	kind, types := p.Text("type"), strings.Join(slices.Sorted(maps.Keys(known)), ", ")
	if kind == "" && p.Name == AllowAll {
		kind = AllowAll
	}
	if kind == "" {
		return none, fault.InvalidInput("Setting [%stype] is missing; it is one of [%s]", p.Prefix, types)
	}
	make, ok := known[kind]
	if !ok {
		return none, fault.InvalidInput("Value [%s] of setting [%stype] is not a known type; it is one of [%s]", kind, p.Prefix, types)
	}
	part, err := make(p)
	if err != nil {
		return none, fmt.Errorf("configuring [%s]: %w", strings.TrimSuffix(p.Prefix, "."), err)
	}
	return part, nil
}

// nameProblem says why a word can't be the name of a part, which stands in keys of settings and in
// paths; "" if it can.
func nameProblem(name string) string {
	switch {
	case name == "":
		return "is empty"
	case strings.HasPrefix(name, "."):
		return "can't begin with a dot"
	case strings.ContainsAny(name, `/\`):
		return "can't contain a slash"
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "can't contain blanks or control characters"
	}
	return ""
}

// Authenticate calls the chain of authenticators. It returns a nil Access without an error if no
// authenticator identified the user.
func (s *Security) Authenticate(ctx context.Context, r *Request) (*Access, error) {
	for _, a := range s.chain {
		id, err := a.Authenticate(ctx, r)
		if err != nil {
			return nil, err
		}
		if id != nil {
			return s.AccessOf(id)
		}
	}
	return nil, nil
}

// Chain returns the authenticators in order, for protocols in which clients authenticate without a
// request.
func (s *Security) Chain() []Authenticator { return slices.Clone(s.chain) }

// AccessOf returns the access of an identity for one request.
func (s *Security) AccessOf(id *Identity) (*Access, error) {
	by, ok := s.authorizers[id.Authorizer]
	if !ok {
		return nil, fault.Defensive("No authorizer found with name: [%s].", id.Authorizer)
	}
	return &Access{id: id, by: by, o: &s.Options}, nil
}

// Challenges returns the distinct schemes for clients without credentials, in the order of the
// chain.
func (s *Security) Challenges() []string {
	var out []string
	for _, a := range s.chain {
		if c := a.Challenge(); c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// Authorizer returns the authorizer with a name; nil: it does not exist.
func (s *Security) Authorizer(name string) Authorizer { return s.authorizers[name] }

// Escalator returns the escalator, which adds credentials to the requests of the process itself.
func (s *Security) Escalator() Escalator { return s.escalator }
