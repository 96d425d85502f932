package secret

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/jsontext"
)

// Masked stands for a secret in what is shown.
const Masked = "********"

// secretNames are the ends of member names whose values are never shown, in lower case.
var secretNames = []string{"password", "secretaccesskey", "accesskeyid", "clientsecret", "sharedaccessstoragetoken", "sessiontoken", "externalid", "secret",
	"user.info", "authorization"}

func isSecret(name string) bool {
	name = strings.ToLower(name)
	for _, end := range secretNames {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// member finds a member of a JSON object inside SQL text, however often its quotes are escaped,
// whose value is text or an object.
var member = regexp.MustCompile(`(\\*"([A-Za-z0-9_.-]+)\\*"\s*:\s*)(\{[^{}]*\}|\\*"(?:[^"\\]|\\[^"])*\\*")`)

// MaskSQL returns a statement with the secrets of its EXTERN functions masked, for lists, logs and
// task payloads.
func MaskSQL(text string) string {
	lower := strings.ToLower(text)
	if !slices.ContainsFunc(secretNames, func(name string) bool { return strings.Contains(lower, name) }) {
		return text // which is known a hundred times sooner than the pattern has looked at each name in quotes
	}
	return member.ReplaceAllStringFunc(text, func(found string) string {
		parts := member.FindStringSubmatch(found)
		if !isSecret(parts[2]) {
			return found
		}
		quote := parts[1][:strings.IndexByte(parts[1], '"')+1]
		return parts[1] + quote + Masked + quote
	})
}

// MaskJSON returns a JSON value with the values of secret members masked, at any depth, and MaskSQL
// applied to text.
func MaskJSON(raw json.RawMessage) (json.RawMessage, error) {
	switch first := strings.TrimLeft(string(raw[:min(len(raw), 64)]), " \t\r\n"); {
	case strings.HasPrefix(first, "{"):
		return redactObject(raw)
	case strings.HasPrefix(first, "["):
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		for i := range list {
			var err error
			if list[i], err = MaskJSON(list[i]); err != nil {
				return nil, err
			}
		}
		return jsontext.Marshal(list)
	case strings.HasPrefix(first, `"`):
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		if masked := MaskSQL(text); masked != text {
			return jsontext.Marshal(masked)
		}
	}
	return raw, nil
}

// redactObject keeps the members in their order.
func redactObject(raw json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		name, _ := key.(string) // keys are text
		if text := string(value); isSecret(name) && text != "null" && text != "true" && text != "false" {
			value = json.RawMessage(`"` + Masked + `"`)
		} else if value, err = MaskJSON(value); err != nil {
			return nil, err
		}
		quoted, err := jsontext.Marshal(name)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted...), ':'), value...)
	}
	return append(out, '}'), nil
}
