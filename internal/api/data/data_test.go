package data

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/historical"
)

// scripted is a Historical that says what the test wants, and notes what it was asked.
type scripted struct {
	Historical
	outcomes []historical.Outcome
	asked    string
}

func (s *scripted) Change(_ context.Context, changes []historical.Change, turbo bool, wait time.Duration) []historical.Outcome {
	for _, c := range changes {
		s.asked += fmt.Sprint(c.Drop, " ", c.ID, " ", string(c.LoadSpec), " ", c.Size, "; ")
	}
	s.asked += fmt.Sprint(turbo, " ", wait)
	return s.outcomes
}

func (s *scripted) LoadingThreads() (int, int) { return 3, 7 }

const descriptor = `"dataSource":"w","interval":"2024-01-01T00:00:00.000Z/2024-01-02T00:00:00.000Z","version":"v","shardSpec":{"type":"numbered","partitionNum":1,"partitions":0},"size":5`

func TestChangeRequests(t *testing.T) {
	s := &scripted{}
	mux := edge.NewMux(&edge.Errors{})
	New(s, nil, nil).Routes(mux)
	ask := func(method, path, body string) (int, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, "/service-internal/v1/segments/"+path, strings.NewReader(body)))
		return w.Code, strings.TrimSpace(w.Body.String())
	}
	load, drop := `{"action":"load",`+descriptor+`,"loadSpec":{"type":"local","path":"p"}}`, `{"action":"drop",`+descriptor+`}`
	const id = "w_2024-01-01T00:00:00.000Z_2024-01-02T00:00:00.000Z_v_1"

	s.outcomes = []historical.Outcome{{}, {Done: true}, {Done: true, Failed: "the disk is full"}}
	status, body := ask(http.MethodPost, "changeRequests?timeout=1500&loadingMode=TURBO", "["+load+","+drop+","+load+"]")
	want := fmt.Sprintf(`[{"request":%s,"status":{"state":"PENDING","failureCause":null,"loadingMode":"TURBO"}},{"request":%s,"status":{"state":"SUCCESS","failureCause":null,`+
		`"loadingMode":"TURBO"}},{"request":%s,"status":{"state":"FAILED","failureCause":"the disk is full","loadingMode":"TURBO"}}]`, load, drop, load)
	if status != http.StatusOK || body != want {
		t.Errorf("%d %s", status, body)
	}
	loaded := "false " + id + ` {"type":"local","path":"p"} 5; `
	if want := loaded + "true " + id + "  5; " + loaded + "true 1.5s"; s.asked != want {
		t.Errorf("asked was %s", s.asked)
	}

	s.outcomes, s.asked = nil, ""
	if status, body := ask(http.MethodPost, "changeRequests?timeout=9000000000000000000", "["+load+"]"); status != http.StatusNoContent || body != "" || !strings.HasSuffix(s.asked, "false 5m0s") {
		t.Errorf("%d %s, asked was %s", status, body, s.asked)
	}
	for _, bad := range []struct{ query, body, want string }{
		{"", "[" + load + "]", "Parameter [timeout] []"},
		{"timeout=0", "[" + load + "]", "Parameter [timeout] [0]"},
		{"timeout=soon", "[" + load + "]", "Parameter [timeout] [soon]"},
		{"timeout=1&loadingMode=fast", "[" + load + "]", "Parameter [loadingMode] [fast]"},
		{"timeout=1", "[]", "No change requests"},
		{"timeout=1", load, "could not be read"},
		{"timeout=1", `["load"]`, "not an object"},
		{"timeout=1", `[{"action":"move",` + descriptor + `}]`, "Action [move]"},
		{"timeout=1", `[` + drop + `,{"action":"load",` + descriptor + `}]`, "has no [loadSpec]"},
		{"timeout=1", `[{"action":"drop","dataSource":"w"}]`, "errorMessage"},
	} {
		if status, body := ask(http.MethodPost, "changeRequests?"+bad.query, bad.body); status != http.StatusBadRequest || !strings.Contains(body, bad.want) {
			t.Errorf("%s %s: %d %s", bad.query, bad.body, status, body)
		}
	}
	if status, body := ask(http.MethodGet, "loadCapabilities", ""); status != http.StatusOK || body != `{"numLoadingThreads":3,"numTurboLoadingThreads":7}` {
		t.Errorf("%d %s", status, body)
	}
}
