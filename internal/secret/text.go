package secret

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"unique"
)

// Masked replaces a secret in output.
const Masked = "********"

// Text is a secret. Formatting, encoding and logging show it as Masked; only Reveal returns it. The
// zero Text is the absent secret, which is shown as empty. Texts are equal if their secrets are
// equal.
type Text struct {
	// value is a handle, because fmt prints the fields of a struct without asking their methods if
	// they are not exported: it finds an address here.
	value unique.Handle[string]
}

// NewText returns a secret.
func NewText(value string) Text {
	if value == "" {
		return Text{}
	}
	return Text{unique.Make(value)}
}

// Reveal returns the secret, for code that sends it to its destination.
func (t Text) Reveal() string {
	if t.IsZero() {
		return ""
	}
	return t.value.Value()
}

// IsZero reports whether the secret is absent.
func (t Text) IsZero() bool { return t == Text{} }

// Equal reports whether two secrets are equal, for comparisons of whole structs.
func (t Text) Equal(other Text) bool { return t == other }

// String returns Masked.
func (t Text) String() string {
	if t.IsZero() {
		return ""
	}
	return Masked
}

// GoString returns Masked, for %#v.
func (t Text) GoString() string { return t.String() }

// Format writes Masked for every verb.
func (t Text) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(t.String())) } // Format can't fail

// MarshalText returns Masked, for map keys and other encodings.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalJSON returns Masked.
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// LogValue returns Masked.
func (t Text) LogValue() slog.Value { return slog.StringValue(t.String()) }

// UnmarshalJSON parses a string.
func (t *Text) UnmarshalJSON(text []byte) error {
	var value string
	err := json.Unmarshal(text, &value)
	*t = NewText(value)
	return err
}
