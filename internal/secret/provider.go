package secret

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Environment looks up an environment variable; nil: secrets from the environment are rejected.
type Environment func(name string) (string, bool)

// Password is a secret given as a string, as {"type":"default","password":..} or as
// {"type":"environment","variable":..}.
type Password struct {
	text     Text
	variable string
}

// UnmarshalJSON parses the three forms.
func (p *Password) UnmarshalJSON(text []byte) error {
	var plain string
	if json.Unmarshal(text, &plain) == nil {
		p.text = NewText(plain)
		return nil
	}
	var object struct {
		Type, Variable string
		Password       Text
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return errors.New("a password is a string or an object with a 'type'")
	}
	switch {
	case object.Type == "default":
		p.text = object.Password
	case object.Type == "environment" && object.Variable != "":
		p.variable = object.Variable
	default:
		return fmt.Errorf("password type '%s' is unknown: known type ids = [default, environment]", object.Type)
	}
	return nil
}

// MarshalJSON returns the name of a variable, but hides a given password.
func (p Password) MarshalJSON() ([]byte, error) {
	if p.variable != "" {
		return json.Marshal(map[string]string{"type": "environment", "variable": p.variable})
	}
	return []byte(`"` + Masked + `"`), nil
}

// Resolve returns the secret.
func (p Password) Resolve(env Environment) (Text, error) {
	if p.variable == "" {
		return p.text, nil
	}
	text, err := lookUp(env, p.variable)
	return NewText(text), err
}

// OfSetting parses a setting that is a secret or a provider object, like Password.
func OfSetting(key, value string, env Environment) (Text, error) {
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		return NewText(value), nil
	}
	var p Password
	if json.Unmarshal([]byte(value), &p) != nil {
		return Text{}, fault.InvalidInput("Setting [%s] is neither a text nor an object with a type [default] or [environment]", key)
	}
	text, err := p.Resolve(env)
	if err != nil {
		return Text{}, fault.InvalidInput("Variable [%s] of the environment, which setting [%s] names, is not set", p.variable, key)
	}
	return text, nil
}

func lookUp(env Environment, variable string) (string, error) {
	if env == nil {
		return "", invalidField("password", "passwords from the environment are not allowed here")
	}
	text, ok := env(variable)
	if !ok {
		return "", invalidField("password", "environment variable '%s' is not set", variable)
	}
	return text, nil
}

// providerMembers are the names of the member of an object that holds a provider of further
// members.
var providerMembers = []string{"service.dynamic.config.provider", "druid.dynamic.config.provider"}

// IsProvider reports whether a member of an object is a provider of other members
// (docs/streaming.md).
func IsProvider(name string) bool { return slices.Contains(providerMembers, name) }

// Provided returns the values from the providers among the members of an object, by name. They
// override members with the same names.
func Provided(members map[string]json.RawMessage, env Environment) (map[string]string, error) {
	out := map[string]string{}
	for _, member := range providerMembers {
		raw := members[member]
		if raw == nil || string(raw) == "null" {
			continue
		}
		var provider struct {
			Type      string            `json:"type"`
			Variables map[string]string `json:"variables"`
			Config    map[string]string `json:"config"`
		}
		if err := json.Unmarshal(raw, &provider); err != nil {
			return nil, invalidField(member, "%s", fault.JSONProblem(err))
		}
		switch provider.Type {
		case "mapString":
			maps.Copy(out, provider.Config)
		case "environment":
			for name, variable := range provider.Variables {
				text, err := lookUp(env, variable)
				if err != nil {
					return nil, err
				}
				out[name] = text
			}
		default:
			known, hint := []string{"environment", "mapString"}, ""
			if near := fault.Nearest(provider.Type, known); near != "" {
				hint = "; did you mean '" + near + "'?"
			}
			return nil, invalidField(member, "could not resolve type id '%s': known type ids = [%s]%s",
				provider.Type, strings.Join(known, ", "), hint)
		}
	}
	return out, nil
}

func invalidField(field, format string, args ...any) error {
	return fault.InvalidInput("Invalid value for the field [%s]. Reason: ["+format+"]", append([]any{field}, args...)...)
}
