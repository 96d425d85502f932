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

// TestGoldenAvatica replays what was recorded of JDBC connections. Not all exchanges of a connection
// are at hand: those that ask for rows get a connection with a statement before.
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
