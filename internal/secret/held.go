package secret

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// shortest is the length of secrets that are looked for in texts: shorter ones are parts of words.
const shortest = 6

// Held contains the secrets of a request, task or supervisor, in the form of the texts that contain
// them. Errors and log lines are masked by their values, wherever they occur. The texts are parsed
// when something is masked for the first time. It is safe for use by many goroutines; a nil Held is
// empty.
type Held struct {
	mu struct {
		sync.Mutex
		texts  []string
		values []string // the longest first
	}
}

type heldKey struct{}

// WithHeld returns a context in which errors and log lines are masked by the secrets in texts, and
// by secrets that Hold adds later.
func WithHeld(ctx context.Context, texts ...string) context.Context {
	h := &Held{}
	h.mu.texts = texts
	if outer := HeldBy(ctx); outer != nil { // what is masked outside is masked inside
		outer.mu.Lock()
		h.mu.texts = slices.Concat(h.mu.texts, outer.mu.texts)
		h.mu.values = slices.Clone(outer.mu.values)
		outer.mu.Unlock()
	}
	return context.WithValue(ctx, heldKey{}, h)
}

// HeldBy returns the secrets of a context; nil: there are none.
func HeldBy(ctx context.Context) *Held {
	h, _ := ctx.Value(heldKey{}).(*Held)
	return h
}

// Hold adds the secrets in a text, such as the body of a request, to the Held of a context, if it
// has one.
func Hold(ctx context.Context, text string) {
	if h := HeldBy(ctx); h != nil {
		h.mu.Lock()
		h.mu.texts = append(h.mu.texts, text)
		h.mu.Unlock()
	}
}

// Mask masks the secrets of a context in a text, in addition to what MaskText masks.
func Mask(ctx context.Context, text string) string { return HeldBy(ctx).Mask(text) }

// Mask masks the secrets in a text, in addition to what MaskText masks.
func (h *Held) Mask(text string) string { return MaskText(h.MaskValues(text)) }

// MaskValues masks only the secrets in a text.
func (h *Held) MaskValues(text string) string {
	if h == nil {
		return text
	}
	for _, v := range h.values() {
		text = strings.ReplaceAll(text, v, Masked)
	}
	return text
}

// MaskJSONValues is like MaskValues, for a JSON value. The result is valid JSON.
func (h *Held) MaskJSONValues(text string) string {
	if h == nil {
		return text
	}
	for _, v := range h.values() {
		if inString(v) {
			text = strings.ReplaceAll(text, v, Masked)
		}
	}
	return text
}

// inString reports whether a text can be a part of a JSON string as it stands.
func inString(text string) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if i++; i == len(text) {
				return false
			}
		case '"':
			return false
		}
	}
	return true
}

// Reader returns a reader of the JSON in r with the secrets masked.
func (h *Held) Reader(r io.Reader) io.Reader {
	if h == nil {
		return r
	}
	values := h.values()
	if len(values) == 0 {
		return r
	}
	return &maskingReader{from: r, held: h, longest: len(values[0])}
}

// maskingReader masks a stream. What a secret may begin in is kept until more is read.
type maskingReader struct {
	from    io.Reader
	held    *Held
	longest int
	kept    []byte
	ready   []byte
	err     error
}

// Read implements io.Reader.
func (m *maskingReader) Read(p []byte) (int, error) {
	for len(m.ready) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		chunk := make([]byte, 64<<10)
		n, err := m.from.Read(chunk)
		masked := []byte(m.held.MaskJSONValues(string(append(m.kept, chunk[:n]...))))
		keep := min(len(masked), m.longest-1)
		if m.err = err; err != nil {
			keep = 0
		}
		m.ready, m.kept = masked[:len(masked)-keep], masked[len(masked)-keep:]
	}
	n := copy(p, m.ready)
	m.ready = m.ready[n:]
	return n, nil
}

// values returns the secrets with the forms in which texts may have them.
func (h *Held) values() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.mu.texts) == 0 {
		return h.mu.values
	}
	for _, text := range h.mu.texts {
		find(text, func(value string) { h.mu.values = appendForms(h.mu.values, value) })
	}
	h.mu.texts = nil
	slices.SortFunc(h.mu.values, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	h.mu.values = slices.Compact(h.mu.values)
	return h.mu.values
}

// appendForms adds a secret as it is, as JSON, Go and URLs write it, and what is secret in it: the
// part behind a colon or a word such as Bearer, the passwords of JAAS.
func appendForms(list []string, value string) []string {
	parts := []string{value}
	findInText(value, func(inner string) { parts = append(parts, inner) })
	if _, token, ok := strings.Cut(value, " "); ok && !strings.Contains(token, " ") {
		parts = append(parts, token)
		if plain, err := base64.StdEncoding.DecodeString(token); err == nil {
			_, password, _ := strings.Cut(string(plain), ":")
			parts = append(parts, password)
		}
	}
	if _, password, ok := strings.Cut(value, ":"); ok && !strings.ContainsAny(password, " :") {
		parts = append(parts, password)
	}
	for _, p := range parts {
		if len(p) < shortest || strings.Contains(p, Masked) {
			continue
		}
		encoded, _ := jsontext.Marshal(p) // text always encodes
		forms := []string{p, strings.Trim(string(encoded), `"`), url.QueryEscape(p), url.PathEscape(p),
			url.UserPassword("", p).String()[1:],
			strings.ReplaceAll(p, "'", "''")}
		if q := strconv.Quote(p); len(q) > 2 {
			forms = append(forms, q[1:len(q)-1])
		}
		if plain, err := url.PathUnescape(p); err == nil && len(plain) >= shortest {
			forms = append(forms, plain)
		}
		list = append(list, forms...)
	}
	return list
}

// maskedError is an error whose text is masked.
type maskedError struct {
	text string
	is   []error
}

// Error returns the masked text.
func (e maskedError) Error() string { return e.text }

// Unwrap returns the masked fault and then the original error.
func (e maskedError) Unwrap() []error { return e.is }

// MaskError masks the secrets of a context in the messages of an error. A fault remains a fault. An
// error without secrets is returned unchanged.
func MaskError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	h := HeldBy(ctx)
	text := err.Error()
	masked := h.Mask(text)
	f := fault.Find(err)
	if f == nil {
		if masked == text {
			return err
		}
		return maskedError{masked, []error{err}}
	}
	shown := *f
	shown.Message, shown.Legacy = h.Mask(f.Message), fault.Legacy(h.Mask(string(f.Legacy)))
	changed := masked != text || shown.Message != f.Message || shown.Legacy != f.Legacy
	for name, value := range f.Context {
		if v := h.Mask(value); v != value {
			shown, changed = *shown.With(name, v), true
		}
	}
	if !changed {
		return err
	}
	if cause := errors.Unwrap(f); cause != nil {
		shown = *shown.WithCause(maskedError{h.Mask(cause.Error()), []error{cause}})
	}
	return maskedError{masked, []error{&shown, err}}
}
