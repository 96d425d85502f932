package native

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/expr"
)

// TypeName is the name of a type, "" if it is absent or unknown.
type TypeName string

// UnmarshalJSON implements json.Unmarshaler.
func (n *TypeName) UnmarshalJSON(text []byte) error {
	name := ""
	if err := json.Unmarshal(text, &name); err != nil {
		return err
	}
	if _, err := parseType(name); err == nil {
		*n = TypeName(name)
	}
	return nil
}

// orText returns the type, that of texts if none is given.
func (n TypeName) orText() expr.Type {
	if t, err := parseType(string(n)); err == nil {
		return t
	}
	return textType
}
