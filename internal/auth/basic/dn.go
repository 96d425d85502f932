package basic

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// component is one part of a distinguished name, such as "ou=people", in a form in which equal
// parts are equal texts.
type component string

// parseDN reads a distinguished name (RFC 4514). Types and values are compared without regard to
// case, spaces around separators are dropped, escapes are decoded.
func parseDN(text string) ([]component, error) {
	var out []component
	for _, part := range splitDN(text, ",") {
		var pairs []string
		for _, p := range splitDN(part, "+") {
			attribute, value, found := strings.Cut(p, "=")
			attribute = strings.ToLower(strings.TrimSpace(attribute))
			if !found || !attributeType(attribute) {
				return nil, errors.New("part [" + strings.TrimSpace(p) + "] is not a type and a value")
			}
			value, err := unescapeDN(value)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, attribute+"="+strings.ToLower(value))
		}
		slices.Sort(pairs)
		out = append(out, component(strings.Join(pairs, "\x00")))
	}
	return out, nil
}

// splitDN cuts a text at a separator that is not escaped and not quoted.
func splitDN(text, separator string) []string {
	var out []string
	start, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == separator[0] && !quoted:
			out, start = append(out, text[start:i]), i+1
		}
	}
	return append(out, text[start:])
}

func attributeType(text string) bool {
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != ';' {
			return false
		}
	}
	return text != ""
}

// unescapeDN returns the value of a part. Spaces at its ends count only if they are escaped.
func unescapeDN(text string) (string, error) {
	text = strings.TrimLeft(text, " ")
	if inner, found := strings.CutPrefix(strings.TrimRight(text, " "), `"`); found {
		if inner, found = strings.CutSuffix(inner, `"`); !found {
			return "", errors.New("a quote is not closed")
		}
		text = inner
	}
	var b strings.Builder
	kept := 0 // what stays however many spaces there are at the end
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			if text[i] != ' ' {
				kept = b.Len()
			}
			continue
		}
		switch {
		case i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]):
			value, err := hex.DecodeString(text[i+1 : i+3])
			if err != nil {
				return "", err
			}
			b.Write(value)
			i += 2
		case i+1 < len(text):
			b.WriteByte(text[i+1])
			i++
		default:
			return "", errors.New("it ends with an escape")
		}
		kept = b.Len()
	}
	return b.String()[:kept], nil
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// groupPattern matches the distinguished names of groups.
type groupPattern struct {
	parts []component
	// below matches groups whose names end with the parts, above those that begin with them; neither:
	// the group itself.
	below, above bool
}

// parseGroupPattern reads "*,<dn>", "<dn>,*" or "<dn>".
func parseGroupPattern(text string) (groupPattern, error) {
	bad := func(err error) (groupPattern, error) {
		return groupPattern{}, fault.InvalidInput("Configuration problem - Invalid groupMapping '%s'", text).WithCause(err)
	}
	p := groupPattern{}
	rest := strings.TrimSpace(text)
	if after, found := strings.CutPrefix(rest, "*"); found {
		if after, found = strings.CutPrefix(strings.TrimLeft(after, " "), ","); !found {
			return bad(errors.New("a comma and a name must follow the asterisk"))
		}
		p.below, rest = true, after
	} else if before, found := strings.CutSuffix(rest, "*"); found {
		if before, found = strings.CutSuffix(strings.TrimRight(before, " "), ","); !found {
			return bad(errors.New("a name and a comma must precede the asterisk"))
		}
		p.above, rest = true, before
	}
	var err error
	if p.parts, err = parseDN(rest); err != nil {
		return bad(err)
	}
	return p, nil
}

// matches tells whether a group, in parts, matches.
func (p groupPattern) matches(group []component) bool {
	n := len(p.parts)
	switch {
	case len(group) < n:
		return false
	case p.below:
		return slices.Equal(group[len(group)-n:], p.parts)
	case p.above:
		return slices.Equal(group[:n], p.parts)
	}
	return slices.Equal(group, p.parts)
}
