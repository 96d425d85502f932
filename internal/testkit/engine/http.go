package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/sql"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/testkit/slt"
)

// HTTP sends statements to a server. It does not load.
type HTTP struct {
	// Base is the address in front of the paths: http://127.0.0.1:8888.
	Base   string
	Client *http.Client
	// Now is the time of statements whose context has no sqlCurrentTimestamp; empty: the server's.
	Now string
}

// Query sends a statement to the SQL endpoint. Error bodies come back as faults.
func (h *HTTP) Query(ctx context.Context, s *slt.Statement) (*slt.Answer, error) {
	type param struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}
	request := struct {
		Query          string         `json:"query"`
		ResultFormat   string         `json:"resultFormat"`
		Header         bool           `json:"header"`
		SQLTypesHeader bool           `json:"sqlTypesHeader"`
		Context        map[string]any `json:"context"`
		Parameters     []param        `json:"parameters"`
	}{Query: s.SQL, ResultFormat: "array", Header: true, SQLTypesHeader: true, Context: s.Context}
	if _, given := s.Context["sqlCurrentTimestamp"]; !given && h.Now != "" {
		request.Context = map[string]any{"sqlCurrentTimestamp": h.Now}
		maps.Copy(request.Context, s.Context)
	}
	for _, p := range s.Params {
		request.Parameters = append(request.Parameters, param(p))
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.Base+"/service/v2/sql", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := h.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("the answer broke off after [%d] bytes: %w", len(text), err)
	}
	if resp.StatusCode == http.StatusOK {
		return decodeAnswer(text)
	}
	var e edge.Body
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("status [%d] with a body that is no error: %.200s", resp.StatusCode, text)
	}
	return nil, &fault.Error{Persona: e.Persona, Category: e.Category, Code: e.ErrorCode, Legacy: fault.Legacy(e.Error), Class: e.ErrorClass,
		Message: e.ErrorMessage, Context: e.Context}
}

// decodeAnswer reads the array format with its header and SQL types rows.
func decodeAnswer(text []byte) (*slt.Answer, error) {
	var rows [][]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&rows); err != nil {
		return nil, fmt.Errorf("the answer is no JSON: %w: %.200s", err, text)
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("the answer has no header: %.200s", text)
	}
	a := &slt.Answer{Rows: rows[2:]}
	for i := range rows[0] {
		name, isName := rows[0][i].(string)
		sqlType, isType := rows[1][i].(string)
		if !isName || !isType {
			return nil, fmt.Errorf("the header of the answer is no text: %v %v", rows[0], rows[1])
		}
		a.Columns, a.SQLTypes = append(a.Columns, name), append(a.SQLTypes, sqlType)
	}
	return a, nil
}

// Served is a Store behind the endpoints of a Broker.
type Served struct {
	*Store
	*HTTP
	kept bool
}

// Query implements slt.Engine.
func (s Served) Query(ctx context.Context, st *slt.Statement) (*slt.Answer, error) {
	if s.kept { // the first time fills the cache
		if _, err := s.HTTP.Query(ctx, st); err != nil {
			return nil, err
		}
	}
	return s.HTTP.Query(ctx, st)
}

// Serve starts a Broker with its endpoints over an empty Store, for the time of a test.
func Serve(t testing.TB, o Options) Served {
	s := NewStore(t)
	s.SegmentRows = o.SegmentRows
	mux := edge.NewMux(&edge.Errors{Host: "localhost", Log: s.log})
	sql.New(newBroker(t, s, o), query.NewRunning(s.clock, query.RunningOptions{}), sql.Options{MaxRequestBytes: 1 << 26, Clock: s.clock}, s.log).Routes(mux)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return Served{s, &HTTP{Base: server.URL, Client: server.Client()}, o.Kept}
}
