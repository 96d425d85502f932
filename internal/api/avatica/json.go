package avatica

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// answerJSON answers a request in JSON. What fails is an answer, too, of status 500: drivers read
// it.
func (a *API) answerJSON(w http.ResponseWriter, r *http.Request) error {
	body, err := a.body(w, r)
	var req request
	if err == nil {
		err = readJSON(body, &req)
	}
	edge.Decoded(r.Context())
	var out response
	if err == nil {
		out, err = a.do(r.Context(), &req)
	}
	status := http.StatusOK
	if err != nil {
		if r.Context().Err() != nil {
			return err // nobody listens
		}
		status, out = http.StatusInternalServerError, a.failed(r.Context(), err)
	}
	text, err := jsontext.Marshal(out)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the driver may be gone
	return nil
}

func readJSON(body []byte, into *request) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(into); err != nil {
		return fault.Malformed("The request is no JSON that could be read: %s", fault.JSONProblem(err))
	}
	return nil
}
