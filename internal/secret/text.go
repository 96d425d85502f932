package secret

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"unique"
)

// Masked stands for a secret in what is shown.
const Masked = "********"

// Text is a secret. However it is printed, encoded or logged, it shows as Masked; only Reveal
// returns it. The zero Text is the absent secret, which shows as empty. Texts are equal if their
// secrets are.
type Text struct {
	// value is a handle, because fmt prints the fields of a struct without asking their methods if
	// they are not exported: it finds an address here.
	value unique.Handle[string]
}

// NewText makes a secret of a text.
func NewText(value string) Text {
	if value == "" {
		return Text{}
	}
	return Text{unique.Make(value)}
}

// Reveal returns the secret, for those who send it to where it belongs.
func (t Text) Reveal() string {
	if t.IsZero() {
		return ""
	}
	return t.value.Value()
}

// IsZero reports whether there is no secret.
func (t Text) IsZero() bool { return t == Text{} }

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

// MarshalText returns Masked, for keys of maps and other encodings.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalJSON writes Masked.
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// LogValue returns Masked.
func (t Text) LogValue() slog.Value { return slog.StringValue(t.String()) }

// UnmarshalJSON reads a string.
func (t *Text) UnmarshalJSON(text []byte) error {
	var value string
	err := json.Unmarshal(text, &value)
	*t = NewText(value)
	return err
}
