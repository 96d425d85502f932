package avatica

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// answerJSON answers a request in JSON.
func (a *API) answerJSON(w http.ResponseWriter, r *http.Request) error {
	return a.answer(w, r, "application/json;charset=utf-8", readJSON, func(out response) ([]byte, error) { return jsontext.Marshal(out) })
}

func readJSON(body []byte) (*request, error) {
	var r request
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&r); err != nil {
		return nil, fault.Malformed("The request is not valid JSON: %s", fault.JSONProblem(err))
	}
	return &r, nil
}
