package edge

import (
	"io"
	"net/http"

	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/secret"
)

// ReadJSON reads the JSON value that a request's body of at most limit bytes begins with as
// jsontext.Read does; what stands behind it is not read. Of an empty body the error is io.EOF.
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
