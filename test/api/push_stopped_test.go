package api

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/testkit/server"
	"github.com/hengedb/henge/internal/vector"
)

// TestRowsAreAnsweredWhileTheirSupervisorStops suspends, and then terminates, a supervisor right
// behind rows that it has taken. Rows that are sent then are answered: they are in answers, or the
// sender is told that they are on disk, and they count once when it goes on.
func TestRowsAreAnsweredWhileTheirSupervisorStops(t *testing.T) {
	s := server.Start(t, server.Options{})
	send := func(n int) (int, pushed) {
		t.Helper()
		return push(t, s, fmt.Sprintf("stops?channel=c&offset=%d", n), nil, fmt.Appendf(nil, `{"t":"2024-01-01","n":%d}`, n))
	}
	for n, order := range []string{"suspend", "terminate"} {
		first, second := 2*n+1, 2*n+2
		if status, a := send(first); status != http.StatusOK {
			t.Fatalf("row %d: %d %+v", first, status, a)
		}
		if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/supervisor/push_stops/"+order, nil, nil); err != nil {
			t.Fatal(err)
		}
		server.Until(t, "no task reads", func() bool {
			var tasks []any
			err := s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/runningTasks?datasource=stops", nil, &tasks)
			return err == nil && len(tasks) == 0
		})
		status, a := send(second)
		if status != http.StatusOK && (status != http.StatusServiceUnavailable || !strings.Contains(a.ErrorMessage, "push_stops")) {
			t.Errorf("%s: %d %+v", order, status, a)
		}
		t.Logf("%s: %d %+v", order, status, a)
		if order == "suspend" {
			if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/supervisor/push_stops/resume", nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		server.Until(t, "it is taken", func() bool {
			status, _ := send(second)
			return status == http.StatusOK
		})
		hasRows(t, s, "stops", second)
	}
}

// TestFewBytesThatStandForManyAreRefused sends rows of Arrow that repeat a text of a dictionary.
func TestFewBytesThatStandForManyAreRefused(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{"service.ingest.push.maxRequestBytes=100000"}})
	var body bytes.Buffer
	f := arrow.NewFramed(&body)
	w := arrow.NewWriter([]arrow.Column{
		{Field: arrow.Field{Name: "t", Type: arrow.Instant}},
		{Field: arrow.Field{Name: "s", Type: arrow.Text, Dictionary: &arrow.Encoding{Index: arrow.Int32}}},
	}, f.Message)
	const rows = 100
	texts, times := make([]string, rows), make([]int64, rows)
	for i := range rows {
		texts[i], times[i] = strings.Repeat("x", 5000), 1_700_000_000_000
	}
	batch := &vector.Batch{N: rows, Cols: []*vector.Vector{vector.FromLongs(times), vector.FromStrings(texts)}}
	if err := errors.Join(w.Batch(batch), w.Flush(), f.End()); err != nil || body.Len() > 20_000 {
		t.Fatal(err, body.Len())
	}
	for _, query := range []string{"", "?onError=skip", "?timeColumn=t"} {
		status, a := push(t, s, "many"+query, map[string]string{"Content-Type": arrowType}, body.Bytes())
		if status != http.StatusRequestEntityTooLarge || !strings.Contains(a.ErrorMessage, "up to row [20] have more") {
			t.Errorf("%s: %d %+v", query, status, a)
		}
	}
	if status, _, _ := s.Send(t.Context(), "router", http.MethodGet, "/service/v2/ingest/many/config", ""); status != http.StatusNotFound {
		t.Errorf("the datasource is there: %d", status)
	}
}
