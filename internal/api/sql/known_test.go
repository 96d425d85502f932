package sql

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
)

// TestKnownQueriesCrossProcesses: what another Broker tells of its queries is shown as its own are.
func TestKnownQueriesCrossProcesses(t *testing.T) {
	began := time.UnixMilli(1_700_000_000_000).UTC()
	for name, q := range map[string]query.Info{
		"runs":  {ID: "a", SQL: "SELECT 1", Identity: "ann", Started: began, Took: time.Second, Rows: 2, Memory: 3, Kind: "sql", DataSources: []string{"t"}, Bytes: 4, Lane: "low"},
		"ended": {ID: "a", Started: began, Ended: true},
		"ends":  {ID: "a", Started: began, Ended: true, Err: fault.Canceled("Query is canceled [%s]", "a")},
		"fails": {ID: "a", Started: began, Ended: true, Err: fault.InvalidInput("100%% wrong")},
	} {
		text, err := json.Marshal(Known{[]query.Info{q}})
		if err != nil {
			t.Fatal(err)
		}
		var told Known
		if err := json.Unmarshal(text, &told); err != nil || len(told.Queries) != 1 {
			t.Fatal(err, told)
		}
		got := told.Queries[0]
		if l, want := listedOf(&got), listedOf(&q); l != want {
			t.Errorf("%s: %+v, want %+v", name, l, want)
		}
		r, _ := json.Marshal(reportOf(&got))
		if want, _ := json.Marshal(reportOf(&q)); string(r) != string(want) {
			t.Errorf("%s: %s, want %s", name, r, want)
		}
	}
}

// TestQueriesOfAllBrokers are listed unless the client asks for this one's.
func TestQueriesOfAllBrokers(t *testing.T) {
	others := func(context.Context) []query.Info { return []query.Info{{ID: "gone", Ended: true}, {ID: "far"}} }
	s := serve(t, Options{Known: others}, 0, nil)
	for path, want := range map[string]string{
		"queries": "far", "queries?includeComplete": "gone,far", "queries?selfOnly": "", "queries/gone/reports": "gone", "queries/gone/reports?selfOnly": "",
	} {
		body := s.send(t, http.MethodGet, "/service/v2/sql/"+path, "", "").body
		var ids []string
		for _, part := range strings.Split(body, `"sqlQueryId":"`)[1:] {
			ids = append(ids, part[:strings.IndexByte(part, '"')])
		}
		if got := strings.Join(ids, ","); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
