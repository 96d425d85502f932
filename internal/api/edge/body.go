package edge

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/hengedb/henge/internal/api/members"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/secret"
)

// ReadJSON reads the JSON value at the start of a request body of at most limit bytes, like
// jsontext.Read; it ignores the rest of the body. For an empty body, the error is io.EOF.
func ReadJSON(w http.ResponseWriter, r *http.Request, limit int64, into any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return err
	}
	text := string(WithoutMark(body))
	secret.Hold(r.Context(), text)
	if jsontext.Space(text, 0) == len(text) {
		return io.EOF
	}
	if first, ok := jsontext.First(text); ok {
		text = first
	}
	return jsontext.Read([]byte(text), into)
}

// spelt returns h behind a look at the names in its body, whose misspelt members are refused.
func spelt(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodPost && r.Method != http.MethodPut || r.Body == nil || r.Body == http.NoBody || !members.Looks(r.URL.Path) {
			return h(w, r)
		}
		var body bytes.Buffer
		n, err := io.CopyN(&body, r.Body, members.MaxBytes+1)
		rest := io.Reader(r.Body)
		if err != nil && !errors.Is(err, io.EOF) {
			rest = failed{err}
		}
		if errors.Is(err, io.EOF) && n <= members.MaxBytes {
			if err := members.Check(r.URL.Path, WithoutMark(body.Bytes())); err != nil {
				secret.Hold(r.Context(), body.String())
				return err
			}
		}
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(&body, rest), r.Body}
		return h(w, r)
	}
}

// failed is a reader that fails.
type failed struct{ err error }

// Read implements io.Reader.
func (f failed) Read([]byte) (int, error) { return 0, f.err }
