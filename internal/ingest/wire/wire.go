package wire

import (
	"encoding/json"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// StringList is a list of strings. In JSON it may also be a single string.
type StringList []string

// UnmarshalJSON parses an array of strings or a single string.
func (l *StringList) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil && string(text) != "null" {
		*l = StringList{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(l))
}

// TypeOf returns the member "type" of a JSON object.
func TypeOf(field string, text json.RawMessage) (string, error) {
	var head struct {
		Type *string `json:"type"`
	}
	if err := jsontext.Unmarshal(text, &head); err != nil {
		return "", Invalid(field, "it is not a JSON object: %s", fault.JSONProblem(err))
	}
	if head.Type == nil {
		return "", Invalid(field, "missing type id property 'type'")
	}
	return *head.Type, nil
}

func UnknownType(field, kind string, known []string) error {
	hint := ""
	if near := fault.Nearest(kind, known); near != "" {
		hint = "; did you mean '" + near + "'?"
	}
	return Invalid(field, "could not resolve type id '%s': known type ids = [%s]%s", kind, strings.Join(known, ", "), hint)
}

// Invalid returns the fault of a JSON object that can't be used.
func Invalid(field, format string, args ...any) error {
	return fault.InvalidInput("Invalid value for the field [%s]. Reason: ["+format+"]", append([]any{field}, args...)...)
}

// Decode parses a JSON object. Unknown members are ignored, as in Druid. See quirk Q012.
func Decode(field string, text json.RawMessage, into any) error {
	if err := jsontext.Read(text, into); err != nil {
		return Invalid(field, "%s", fault.JSONProblem(err))
	}
	return nil
}

func Given(text json.RawMessage) bool { return len(text) > 0 && string(text) != "null" }
