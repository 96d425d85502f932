package coordinator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/secret"
)

// refuse answers {"error": message}, the form of the older management endpoints.
func refuse(w http.ResponseWriter, status int, message string) error {
	edge.WriteJSON(w, status, map[string]string{"error": message})
	return nil
}

// refuseInput answers {"error": ..} to what a caller did wrong; other errors are returned.
func refuseInput(w http.ResponseWriter, err error) error {
	if f := fault.Find(err); f != nil && f.Category == fault.CategoryInvalidInput {
		return refuse(w, http.StatusBadRequest, f.Message)
	}
	return err
}

// WarningHeader is the response header for warnings about a change, one line per warning, because
// responses of these endpoints have no body.
const WarningHeader = "X-Service-Warning"

// warn adds a warning to an answer and to the log.
func (a *API) warn(w http.ResponseWriter, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.Header().Add(WarningHeader, text)
	a.o.Log.Warn(text)
}

// empty answers with a status and nothing else.
func empty(w http.ResponseWriter, status int) error {
	w.WriteHeader(status)
	return nil
}

// write answers with JSON.
func write(w http.ResponseWriter, v any) error {
	edge.WriteJSON(w, http.StatusOK, v)
	return nil
}

// writeText answers with a plain sentence under the media type of JSON, which the endpoints that do
// so announce for all their answers.
func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client may be gone
}

// has reports whether a presence flag was given, whatever its value.
func has(r *http.Request, flag string) bool { return r.URL.Query().Has(flag) }

// pathInterval reads an interval of the path, where _ stands for /.
func pathInterval(r *http.Request) (chrono.Interval, error) {
	return chrono.ParseInterval(strings.ReplaceAll(r.PathValue("interval"), "_", "/"))
}

// queryInterval reads an interval of the query, with / or _. It is nil if there is none.
func queryInterval(r *http.Request) (*chrono.Interval, error) {
	if !has(r, "interval") {
		return nil, nil
	}
	text := r.URL.Query().Get("interval")
	iv, err := chrono.ParseInterval(strings.ReplaceAll(text, "_", "/"))
	return &iv, err
}

// queryInt reads a whole number of the query. ok is false for what is no 32-bit number: such a
// request is answered with 404, as if there was no such resource. present is false if there is
// none.
func queryInt(r *http.Request, name string) (n int, present, ok bool) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, false, true
	}
	v, err := strconv.ParseInt(text, 10, 32)
	return int(v), true, err == nil
}

// errMedia says that a body is not JSON by its media type; routes answer it with 415 and no body.
var errMedia = errors.New("the body is not of media type application/json")

// body reads a request's JSON. A body of another media type is errMedia; no body at all is nil.
func (a *API) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.o.MaxRequestBytes))
	if err != nil {
		return nil, fault.Malformed("The body of the request could not be read: %v", err).WithCause(err)
	}
	if len(text) == 0 {
		return nil, nil
	}
	secret.Hold(r.Context(), string(text))
	if err := edge.CheckMedia(r); err != nil {
		return nil, err
	}
	if !edge.IsJSON(r) {
		return nil, errMedia
	}
	return text, nil
}

// decode reads JSON into v; the message is for the author of the text.
func decode(text []byte, v any) error {
	err := jsontext.Read(text, v)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case fault.Find(err) != nil:
		return err
	case errors.As(err, &kind) && kind.Field != "":
		return fault.InvalidInput("Member [%s] can't be a JSON %s", fault.JSONMember(kind), kind.Value).WithCause(err)
	case errors.As(err, &kind):
		return fault.InvalidInput("The body can't be a JSON %s", kind.Value).WithCause(err)
	}
	return fault.InvalidInput("The body is not readable JSON: %v", err).WithCause(err)
}

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := jsontext.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := jsontext.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// percent is a share in percent, written as a double.
type percent float64

// MarshalJSON writes 100.0, not 100: typed clients read a double.
func (p percent) MarshalJSON() ([]byte, error) {
	text := strconv.FormatFloat(float64(p), 'f', -1, 64)
	if float64(p) == math.Trunc(float64(p)) {
		text += ".0"
	}
	return []byte(text), nil
}
