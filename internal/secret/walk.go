package secret

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// walker rewrites a JSON value without spaces, which is known to be valid.
type walker struct {
	in  []byte
	pos int
	out []byte
	// found, if not nil, is told of each secret; nothing is written then.
	found func(value string)
}

// MaskJSON masks the values of secret members of a JSON value, at any depth, and applies MaskText
// to its strings. A value without secrets is returned unchanged, otherwise it is compact.
func MaskJSON(raw json.RawMessage) (json.RawMessage, error) {
	if !hinted(string(raw)) {
		if !json.Valid(raw) {
			return nil, fault.Malformed("The value is not JSON")
		}
		return raw, nil
	}
	return maskAs(raw, plain)
}

// MaskJSONText is like MaskJSON, for text that may not be JSON. Such text is masked by MaskText.
func MaskJSONText(text string) string {
	if shown, err := MaskJSON(json.RawMessage(text)); err == nil {
		return string(shown)
	}
	return MaskText(text)
}

func maskAs(raw json.RawMessage, n nature) (json.RawMessage, error) {
	var dense bytes.Buffer
	if err := json.Compact(&dense, raw); err != nil {
		return nil, err
	}
	w := walker{in: dense.Bytes(), out: make([]byte, 0, dense.Len())}
	w.value(n)
	return w.out, nil
}

// value rewrites the value at the position.
func (w *walker) value(n nature) {
	if n == whole {
		w.secret()
		return
	}
	switch w.in[w.pos] {
	case '{':
		w.object(n)
	case '[':
		w.emit(1)
		for w.in[w.pos] != ']' {
			w.value(n)
			if w.in[w.pos] == ',' {
				w.emit(1)
			}
		}
		w.emit(1)
	case '"':
		w.text(n)
	default:
		w.emit(w.end() - w.pos)
	}
}

func (w *walker) object(n nature) {
	w.emit(1)
	for w.in[w.pos] != '}' {
		end := w.end()
		name := unquote(w.in[w.pos:end])
		w.emit(end - w.pos + 1) // with the colon
		w.value(natureOf(n, name))
		if w.in[w.pos] == ',' {
			w.emit(1)
		}
	}
	w.emit(1)
}

// text rewrites a string that is no secret itself.
func (w *walker) text(n nature) {
	raw := w.in[w.pos:w.end()]
	w.pos += len(raw)
	if n == each { // headers as one text, or a list of them
		n = whole
	}
	text := unquote(raw)
	switch {
	case w.found != nil && n == whole:
		w.found(text)
	case w.found != nil:
		findInText(text, w.found)
	case n == whole:
		w.out = append(w.out, `"`+Masked+`"`...)
	default:
		if masked := MaskText(text); masked != text {
			quoted, _ := jsontext.Marshal(masked) // text always encodes
			raw = quoted
		}
		w.out = append(w.out, raw...)
	}
}

// secret masks the value at the position. Null, true and false say nothing, and the name of a
// variable is no secret.
func (w *walker) secret() {
	raw := w.in[w.pos:w.end()]
	w.pos += len(raw)
	if shown := string(raw); shown == "null" || shown == "true" || shown == "false" || namesVariable(raw) {
		w.out = append(w.out, raw...)
		return
	}
	if w.found == nil {
		w.out = append(w.out, `"`+Masked+`"`...)
		return
	}
	leaves(raw, w.found)
}

// namesVariable reports whether a value is the object that says which variable of the environment
// holds a secret.
func namesVariable(raw []byte) bool {
	var object map[string]string
	return raw[0] == '{' && json.Unmarshal(raw, &object) == nil && len(object) == 2 && object["type"] == "environment" &&
		object["variable"] != ""
}

// leaves gives all texts and numbers in a value that is a secret as a whole.
func leaves(raw []byte, found func(string)) {
	w := walker{in: raw, found: func(string) {}}
	for w.pos < len(raw) {
		switch c := raw[w.pos]; {
		case c == '"':
			end := w.end()
			if end == len(raw) || raw[end] != ':' {
				found(unquote(raw[w.pos:end]))
			}
			w.pos = end
		case strings.IndexByte("{}[],:", c) >= 0:
			w.pos++
		default:
			end := w.end()
			found(string(raw[w.pos:end]))
			w.pos = end
		}
	}
}

// emit copies so many bytes.
func (w *walker) emit(n int) {
	if w.found == nil {
		w.out = append(w.out, w.in[w.pos:w.pos+n]...)
	}
	w.pos += n
}

// end returns where the value at the position ends.
func (w *walker) end() int {
	depth := 0
	for i := w.pos; i < len(w.in); i++ {
		switch w.in[i] {
		case '"':
			for i++; w.in[i] != '"'; i++ {
				if w.in[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // behind a number or a word
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':':
			if depth == 0 {
				return i
			}
		}
	}
	return len(w.in)
}

func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var text string
	_ = json.Unmarshal(raw, &text) // it was checked
	return text
}

// find gives the secrets in a JSON value, or in a text that is none.
func find(raw string, found func(value string)) {
	if !hinted(raw) {
		return
	}
	var dense bytes.Buffer
	if json.Compact(&dense, []byte(raw)) != nil {
		findInText(raw, found)
		return
	}
	w := walker{in: dense.Bytes(), found: found}
	w.value(plain)
}

// member is a member of an object, in its order.
type member struct {
	name  string
	value json.RawMessage
}

// members returns those of an object without spaces.
func members(raw []byte) (out []member) {
	w := walker{in: raw, pos: 1}
	for w.in[w.pos] != '}' {
		end := w.end()
		name := unquote(w.in[w.pos:end])
		w.pos = end + 1
		end = w.end()
		out = append(out, member{name, w.in[w.pos:end]})
		if w.pos = end; w.in[w.pos] == ',' {
			w.pos++
		}
	}
	return out
}

// elements returns those of an array without spaces.
func elements(raw []byte) (out []json.RawMessage) {
	w := walker{in: raw, pos: 1}
	for w.in[w.pos] != ']' {
		end := w.end()
		out = append(out, w.in[w.pos:end])
		if w.pos = end; w.in[w.pos] == ',' {
			w.pos++
		}
	}
	return out
}

// addresses are the ends of names that say where secrets are sent.
var addresses = []string{"uri", "uris", "url", "urls", "endpoint", "servers", "host", "hosts", "port", "endpointconfig",
	"proxyconfig", "proxy", "protocol"}

func isAddress(name string) bool {
	name = withoutMarks(name)
	return slices.ContainsFunc(addresses, func(end string) bool { return strings.HasSuffix(name, end) })
}

// Restore replaces the masks in a value that a client received, changed and sent back by the stored
// secrets. If an address next to or above a mask was changed too, the mask remains, and Check
// rejects it, so that a secret is not sent to an unintended address.
func Restore(posted, stored json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(posted, []byte(Masked)) {
		return posted, nil
	}
	var p, s bytes.Buffer
	if err := json.Compact(&p, posted); err != nil {
		return nil, err
	}
	if err := json.Compact(&s, stored); err != nil {
		return nil, err
	}
	return restore(p.Bytes(), s.Bytes(), plain), nil
}

func restore(posted, stored json.RawMessage, n nature) json.RawMessage {
	if shown, err := maskAs(stored, n); err == nil && bytes.Equal(shown, posted) {
		return stored
	}
	switch {
	case posted[0] == '{' && stored[0] == '{':
		return restoreObject(posted, stored, n)
	case posted[0] == '[' && stored[0] == '[':
		was := elements(stored)
		var out []json.RawMessage
		for i, e := range elements(posted) {
			same := slices.IndexFunc(was, func(w json.RawMessage) bool { // its place in the list may be another
				shown, err := maskAs(w, n)
				return err == nil && bytes.Equal(shown, e)
			})
			switch {
			case same >= 0:
				e = was[same]
			case i < len(was):
				e = restore(e, was[i], n)
			}
			out = append(out, e)
		}
		return join('[', ']', out)
	}
	return posted
}

func restoreObject(posted, stored json.RawMessage, n nature) json.RawMessage {
	was := map[string]json.RawMessage{}
	for _, m := range members(stored) {
		was[m.name] = m.value
	}
	now := members(posted)
	seen := map[string]bool{}
	for i, m := range now {
		seen[m.name] = true
		w, known := was[m.name]
		if !known {
			w = json.RawMessage("null")
		}
		now[i].value = restore(m.value, w, natureOf(n, m.name))
		if isAddress(m.name) && !bytes.Equal(now[i].value, w) {
			return posted
		}
	}
	for name := range was {
		if isAddress(name) && !seen[name] {
			return posted
		}
	}
	parts := make([]json.RawMessage, len(now))
	for i, m := range now {
		name, _ := jsontext.Marshal(m.name) // text always encodes
		parts[i] = slices.Concat(name, []byte(":"), m.value)
	}
	return join('{', '}', parts)
}

func join(begin, end byte, parts []json.RawMessage) json.RawMessage {
	out := []byte{begin}
	for i, p := range parts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, p...)
	}
	return append(out, end)
}

// Check rejects a value in which a mask is in place of a secret, because the value was sent back by
// a client and there is no stored secret for the mask.
func Check(raw json.RawMessage) error {
	if !bytes.Contains(raw, []byte(Masked)) {
		return nil
	}
	masked := false
	find(string(raw), func(value string) { masked = masked || strings.Contains(value, Masked) })
	if masked {
		return fault.InvalidInput("A password or key is [%s], the mask of secrets, but no secret is stored for the same address: "+
			"enter the secret itself", Masked)
	}
	return nil
}
