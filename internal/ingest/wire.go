package ingest

import (
	"bytes"
	"encoding/json"

	"github.com/hengedb/henge/internal/secret"
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

// password is a secret given as text or by a provider.
type password struct{ secret.Password }

// resolve returns the secret.
func (p password) resolve(access *Access) (string, error) {
	return p.Resolve(access.environment())
}

// environment says how variables are looked up; nil: they are not.
func (a *Access) environment() secret.Environment {
	if a == nil {
		return nil
	}
	return a.Getenv
}

// marshalPlain is json.Marshal without the escaping of <, > and &, which the interface does not
// have.
func marshalPlain(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}
