package api

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/golden"
	"github.com/hengedb/henge/internal/testkit/server"
)

const avaticaPath = "/service/v2/sql/avatica/"

// avatica500 reports whether an answer is a refusal of the endpoints of JDBC drivers: these are of
// status 500, as their protocol has it.
func avatica500(path string, status int) bool {
	return strings.Contains(path, "/avatica") && status == http.StatusInternalServerError
}

// avatica sends a request of a JDBC driver and returns the answer.
func avatica(t *testing.T, s *server.Server, request map[string]any) (status int, answer map[string]any) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(s.Addresses["broker"]+avaticaPath, "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r.StatusCode, answer
}

// avaticaDiffers are the exchanges that are answered otherwise, with the reason.
var avaticaDiffers = map[string]string{
	"no-connection-id": "it was recorded with as many connections as may be open",
	"no-slash":         "likewise",
	"router":           "the recorded Router did not pass requests of drivers on",
	"router-close":     "likewise",
}

// TestGoldenAvatica replays what was recorded of JDBC connections. Not all exchanges of a
// connection are at hand: those that ask for rows get a connection with a statement before.
func TestGoldenAvatica(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{})
	player := s.LoadGolden(t.Context(), t, shared)
	exchanges, err := golden.Load(filepath.Join(shared, "golden", "avatica"))
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{}
	for _, e := range exchanges {
		var request struct{ Request string }
		if len(e.Request.Body) > 0 {
			if err := json.Unmarshal(e.Request.Body, &request); err != nil {
				t.Fatal(err)
			}
		}
		cid := e.Vars["cid"]
		switch {
		case request.Request == "openConnection":
			open[cid] = true
		case strings.HasPrefix(request.Request, "prepare") && !open[cid]:
			open[cid] = true
			avatica(t, s, map[string]any{"request": "openConnection", "connectionId": cid})
			if strings.HasPrefix(request.Request, "prepareAndExecute") {
				avatica(t, s, map[string]any{"request": "createStatement", "connectionId": cid})
			}
		}
		player.Remember("cid", cid)
		r := player.Play(t.Context(), e)
		switch reason := avaticaDiffers[e.Name]; {
		case r.Skipped != "" || r.Missing != "":
			t.Logf("%s is not replayed: %s", e.Name, r.Skipped+r.Missing)
		case reason != "" && r.Difference == "":
			t.Errorf("%s fits, but: %s", e.Name, reason)
		case reason == "" && r.Difference != "":
			t.Errorf("%s: %s", e.Name, r.Difference)
		}
	}
}

// TestAvaticaLimits opens as many connections and statements as there may be, and one more.
func TestAvaticaLimits(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{
		"service.sql.avatica.maxConnections=2", "service.sql.avatica.maxStatementsPerConnection=3"}})
	refused := func(request map[string]any, want string) {
		t.Helper()
		if status, answer := avatica(t, s, request); status != 500 || answer["errorMessage"] != want {
			t.Errorf("%v: %d %v, want %s", request, status, answer, want)
		}
	}
	fits := func(request map[string]any) map[string]any {
		t.Helper()
		status, answer := avatica(t, s, request)
		if status != 200 {
			t.Fatalf("%v: %d %v", request, status, answer)
		}
		return answer
	}
	for _, id := range []string{"a", "b"} {
		fits(map[string]any{"request": "openConnection", "connectionId": id, "info": map[string]string{"sqlTimeZone": "Europe/Berlin"}})
	}
	refused(map[string]any{"request": "openConnection", "connectionId": "c"}, "ISE: Too many connections")
	for range 3 {
		fits(map[string]any{"request": "createStatement", "connectionId": "a"})
	}
	refused(map[string]any{"request": "createStatement", "connectionId": "a"}, "ISE: Too many open statements, limit is [3]")
	fits(map[string]any{"request": "closeStatement", "connectionId": "a", "statementId": 2})
	answer := fits(map[string]any{"request": "prepareAndExecute", "connectionId": "a", "statementId": 1,
		"sql": "SELECT TIMESTAMP '2024-01-01 00:00:00' AS t", "maxRowCount": -1, "maxRowsInFirstFrame": 10, "maxRowsTotal": -1})
	frame := answer["results"].([]any)[0].(map[string]any)["firstFrame"].(map[string]any)
	if rows, _ := json.Marshal(frame["rows"]); string(rows) != "[[1704067200000]]" { // the clock of the wall, as JDBC wants it
		t.Errorf("rows %s", rows)
	}
	if done := fits(map[string]any{"request": "closeConnection", "connectionId": "b"}); done["response"] != "closeConnection" {
		t.Error(done)
	}
	fits(map[string]any{"request": "openConnection", "connectionId": "c", "info": map[string]string{}})
}
