package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// stringList is a list of texts that may also be written as one text.
type stringList []string

// UnmarshalJSON reads an array of strings or one string.
func (l *stringList) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil && string(text) != "null" {
		*l = stringList{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(l))
}

// password is a secret given as text, as {"type":"default","password":..} or as {"type":"environment","variable":..}.
type password struct {
	text     string
	variable string
}

// UnmarshalJSON reads the three forms.
func (p *password) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &p.text) == nil {
		return nil
	}
	var object struct {
		Type, Password, Variable string
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

// MarshalJSON names a variable and hides a text.
func (p password) MarshalJSON() ([]byte, error) {
	if p.variable != "" {
		return json.Marshal(map[string]string{"type": "environment", "variable": p.variable})
	}
	return []byte(`"********"`), nil
}

// resolve returns the secret.
func (p password) resolve(access *Access) (string, error) {
	if p.variable == "" {
		return p.text, nil
	}
	if access == nil || access.Getenv == nil {
		return "", invalidField("password", "passwords from the environment are not allowed here")
	}
	text, ok := access.Getenv(p.variable)
	if !ok {
		return "", invalidField("password", "environment variable '%s' is not set", p.variable)
	}
	return text, nil
}

// marshalPlain is json.Marshal without the escaping of <, > and &, which the interface does not have.
func marshalPlain(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}
