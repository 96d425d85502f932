package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestIngestOutlivesTheServer stops the server while it loads: the command waits for it, and the
// task ends after the restart.
func TestIngestOutlivesTheServer(t *testing.T) {
	var text bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&text, "{\"ts\":\"2024-01-01T00:00:%02d\",\"v\":%d}\n", i%60, i)
	}
	// A GET before the task exists belongs to the command, or to the server that samples for it, and
	// is answered. The command submits the task after its last read, so every later GET belongs to
	// the task and is held.
	var asked atomic.Pointer[server.Client]
	hasTask := func(ctx context.Context) bool {
		var tasks []json.RawMessage
		err := asked.Load().Call(ctx, http.MethodGet, "/service/indexer/v1/tasks?datasource=lost", nil, &tasks)
		return err != nil || len(tasks) > 0 // the test stops the server only when the task reads
	}
	reading, released := make(chan struct{}, 100), make(chan struct{})
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && hasTask(r.Context()) {
			reading <- struct{}{}
			select {
			case <-released:
			case <-r.Context().Done():
				return
			}
		}
		http.ServeContent(w, r, "events.json", time.Time{}, bytes.NewReader(text.Bytes()))
	}))
	t.Cleanup(source.Close)

	arguments := []string{"server", "--data", t.TempDir(), "--set", "service.ingest.http.allowPrivate=true"}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	router := l.Addr().(*net.TCPAddr).Port // it is the same one after the restart
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	arguments = append(append(arguments, ports()...), "--set", fmt.Sprintf("service.router.plaintextPort=%d", router))
	p := launch(t, exec.Command(henge, arguments...))
	at := []string{"ingest", source.URL + "/events.json", "--into", "lost", "--server", p.Addresses["router"]}
	asked.Store(&p.Client)
	cmd := exec.Command(henge, at...)
	out := newOutput()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended if all is well
	select {
	case <-reading:
	case <-time.After(patience):
		t.Fatalf("the server does not read\n%s", out)
	}
	server.Until(t, "the command knows its task", func() bool { return strings.Contains(out.String(), "Task query-") })
	p.stop(t)
	server.Until(t, "the command sees that the server is gone", func() bool {
		return strings.Contains(out.String(), "was accepted and resumes when the server is back")
	})
	again := launch(t, exec.Command(henge, arguments...))
	close(released)
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the load ends with %v\n%s", err, out)
	}
	for _, want := range []string{"Task query-", "was accepted and resumes when the server is back", "The server is back", "1,000 rows"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the load does not say %q:\n%s", want, out)
		}
	}
	rows, err := again.Query(t.Context(), "SELECT COUNT(*), SUM(v) FROM lost")
	if err != nil || rows[0][0] != json.Number("1000") || rows[0][1] != json.Number("499500") {
		t.Errorf("%v, %v", rows, err)
	}
	if !strings.Contains(again.errors.String()+again.out.String(), "task resumed") {
		t.Errorf("the server does not log that it resumed the task:\n%s%s", again.out, again.errors)
	}
}
