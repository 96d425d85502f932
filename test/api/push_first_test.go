package api

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// The first rows of a datasource say how the time is written, in every way that `henge ingest`
// recognises.
func TestTheTimeOfTheFirstSentRowsIsFound(t *testing.T) {
	s := server.Start(t, server.Options{})
	const want = 1767261600000 // 2026-01-01T10:00:00Z
	for i, text := range []string{
		`"2026-01-01T10:00:00Z"`, `"2026-01-01T10:00:00.000Z"`, `"2026-01-01 10:00:00"`, `"2026-01-01 10:00:00.000"`, `"2026-01-01T10:00"`,
		`"2026-01-01T12:00:00+02:00"`, `"2026-01-01 12:00:00+02:00"`, `"01/01/2026 10:00:00"`, `"01.01.2026 10:00"`,
		`1767261600`, `1767261600000`, `1767261600000000`, `"1767261600"`, `"20260101100000"`,
	} {
		name := fmt.Sprintf("first_%d", i)
		status, answer := push(t, s, name, nil, []byte(`{"ts":`+text+`,"n":1}`))
		if status != http.StatusOK || answer.Rows != 1 {
			t.Errorf("time %s: %d %+v", text, status, answer)
			continue
		}
		rows, err := s.Query(t.Context(), `SELECT TIMESTAMP_TO_MILLIS(__time) FROM "`+name+`"`)
		if got := fmt.Sprint(rows); err != nil || got != fmt.Sprintf("[[%d]]", want) {
			t.Errorf("time %s is read as %s: %v", text, got, err)
		}
	}
}

// First rows that are refused make no datasource: better ones are taken afterwards.
func TestRefusedFirstRowsMakeNoDatasource(t *testing.T) {
	s := server.Start(t, server.Options{})
	for _, path := range []string{"later?timeColumn=other", "later?timeColumn=when&timeFormat=millis", "later?timeColumn=other&onError=skip"} {
		if status, answer := push(t, s, path, nil, []byte(`{"when":"2026-01-01T10:00:00Z","n":1}`)); status != http.StatusBadRequest {
			t.Errorf("%s: %d %+v", path, status, answer)
		}
		status, _, err := s.Send(t.Context(), "router", http.MethodGet, "/service/v2/ingest/later/config", "")
		if err != nil || status != http.StatusNotFound {
			t.Errorf("%s: the datasource is there: %d, %v", path, status, err)
		}
	}
	if status, answer := push(t, s, "later", nil, []byte(`{"when":"2026-01-01T10:00:00Z","n":1}`)); status != http.StatusOK {
		t.Errorf("%d %+v", status, answer)
	}
	hasRows(t, s, "later", 1)
}
