package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/server"
)

// pushed is what the endpoint answers.
type pushed struct {
	Rows, Skipped              int
	Duplicate                  bool
	CommittedOffset, Guarantee string
	ErrorMessage               string
}

// push sends rows and returns the answer.
func push(t *testing.T, s *server.Server, path string, header map[string]string, body []byte) (int, pushed) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Addresses["router"]+"/service/v2/ingest/"+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-ndjson")
	for name, text := range header {
		r.Header.Set(name, text)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out pushed
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%d %s: %v", resp.StatusCode, text, err)
	}
	return resp.StatusCode, out
}

// hasRows wants a number of rows in a datasource.
func hasRows(t *testing.T, s *server.Server, dataSource string, want int) {
	t.Helper()
	rows, err := s.Query(t.Context(), `SELECT COUNT(*) FROM "`+dataSource+`"`)
	if err != nil || fmt.Sprint(rows) != fmt.Sprintf("[[%d]]", want) {
		t.Errorf("%s has %v rows (%v), want %d", dataSource, rows, err, want)
	}
}

// TestSentRowsCountOnce sends rows of many channels at once, each request twice, and has them all,
// once, in the answer right behind, and after a restart.
func TestSentRowsCountOnce(t *testing.T) {
	dir := t.TempDir()
	s := server.Start(t, server.Options{Dir: dir})
	const channels, each = 4, 25
	var sending sync.WaitGroup
	for c := range channels {
		sending.Go(func() {
			for i := range each {
				for try := range 2 {
					line := fmt.Sprintf(`{"t":"2024-01-01T00:00:%02d","c":%d,"i":%d}`, i, c, i)
					status, a := push(t, s, fmt.Sprintf("sent?channel=c%d&offset=%d", c, i), nil, []byte(line))
					if status != http.StatusOK || a.Rows != 1 || a.Duplicate != (try == 1) || a.Guarantee != "exactlyOnce" {
						t.Errorf("channel %d, row %d, try %d: %d %+v", c, i, try, status, a)
					}
				}
			}
		})
	}
	sending.Wait()
	hasRows(t, s, "sent", channels*each)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s = server.Start(t, server.Options{Dir: dir})
	if status, a := push(t, s, "sent?channel=c1&offset=24", nil, []byte(`{"t":"2024-01-01","c":1,"i":24}`)); status != 200 || !a.Duplicate {
		t.Errorf("after a restart: %d %+v", status, a)
	}
	if status, a := push(t, s, "sent?channel=c1&offset=25", nil, []byte(`{"t":"2024-01-01","c":1,"i":25}`)); status != 200 || a.Duplicate {
		t.Errorf("after a restart: %d %+v", status, a)
	}
	hasRows(t, s, "sent", channels*each+1)
	status, text, err := s.Send(t.Context(), "router", http.MethodGet, "/service/v2/ingest/sent/channels/c1", "")
	if err != nil || status != 200 || !strings.Contains(string(text), `"committedOffset":"25"`) {
		t.Errorf("channel c1: %d %s, %v", status, text, err)
	}
	if status, _, _ := s.Send(t.Context(), "router", http.MethodGet, "/service/v2/ingest/sent/channels/other", ""); status != 404 {
		t.Errorf("a channel that sent nothing: %d", status)
	}
}

func TestSentRowsAreRefusedOrTaken(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{"service.ingest.push.maxRequestBytes=100000"}})
	var packed, bomb bytes.Buffer
	for out, text := range map[*bytes.Buffer]string{&packed: `{"t":"2024-01-01","v":3}`, &bomb: strings.Repeat(" ", 10_000_000)} {
		w := gzip.NewWriter(out)
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	coded := map[string]string{"Content-Encoding": "gzip"}
	for _, c := range []struct {
		name, path string
		header     map[string]string
		body       string
		status     int
		want       pushed
		message    string
	}{
		{name: "no time", path: "r", body: `{"v":1}`, status: 400, message: "name it by timeColumn"},
		{name: "lines", path: "r", body: "{\"t\":\"2024-01-01\",\"v\":1}\n{\"t\":\"2024-01-02\",\"v\":2}\n", status: 200,
			want: pushed{Rows: 2, Guarantee: "atLeastOnce"}},
		{name: "gzip", path: "r", header: coded, body: packed.String(), status: 200, want: pushed{Rows: 1, Guarantee: "atLeastOnce"}},
		{name: "cut gzip", path: "r", header: coded, body: packed.String()[:packed.Len()-6], status: 400, message: "No row was taken"},
		{name: "gzip bomb", path: "r", header: coded, body: bomb.String(), status: 413, message: "[100000] bytes"},
		{name: "too large", path: "r", body: strings.Repeat(" ", 100_001), status: 413, message: "[100000] bytes"},
		{name: "one bad row", path: "r", body: "{\"t\":\"2024-01-01\",\"v\":4}\n{\"t\":\"soon\"}\n", status: 400,
			message: "[1] of [2] records are no rows, and none was taken. The first is at line [2], column [t]: Value [soon] is no time"},
		{name: "skipped", path: "r?onError=skip", body: "{\"t\":\"2024-01-01\",\"v\":4}\n{\"t\":\"soon\"}\n", status: 200,
			want: pushed{Rows: 1, Skipped: 1, Guarantee: "atLeastOnce"}},
		{name: "csv", path: "r", header: map[string]string{"Content-Type": "text/csv"}, body: "t,v\n2024-01-03,\"5\"\n", status: 200,
			want: pushed{Rows: 1, Guarantee: "atLeastOnce"}},
		{name: "key", path: "r", header: map[string]string{"Idempotency-Key": "k"}, body: `{"t":"2024-01-01","v":6}`, status: 200,
			want: pushed{Rows: 1, Guarantee: "exactlyOnce"}},
		{name: "key again", path: "r", header: map[string]string{"Idempotency-Key": "k"}, body: `{"t":"2024-01-01","v":6}`, status: 200,
			want: pushed{Rows: 1, Duplicate: true, Guarantee: "exactlyOnce"}},
		{name: "nothing", path: "r", status: 200, want: pushed{Guarantee: "atLeastOnce"}},
		{name: "offset alone", path: "r?offset=1", body: `{"t":"2024-01-01"}`, status: 400, message: "[offset] needs a [channel]"},
		{name: "acknowledgement", path: "r?ack=never", body: `{"t":"2024-01-01"}`, status: 400, message: "use durable, queryable or published"},
		{name: "media type", path: "r", header: map[string]string{"Content-Type": "image/png"}, status: 415, message: "[image/png]"},
		{name: "name", path: "%20bad%2Fname", body: `{"t":"2024-01-01"}`, status: 400, message: "/"},
	} {
		status, got := push(t, s, c.path, c.header, []byte(c.body))
		message := got.ErrorMessage
		got.ErrorMessage, got.CommittedOffset = "", ""
		if status != c.status || !strings.Contains(message, c.message) || c.status == 200 && got != c.want {
			t.Errorf("%s: %d %+v %s", c.name, status, got, message)
		}
	}
	hasRows(t, s, "r", 6)
}

// pacedBody gives its bytes one a second until it is told that it may give the rest.
type pacedBody struct {
	text  []byte
	hurry <-chan struct{}
}

func (b *pacedBody) Read(p []byte) (int, error) {
	if len(b.text) == 0 {
		return 0, io.EOF
	}
	n := 1
	select {
	case <-b.hurry:
		n = len(p)
	case <-time.After(time.Second):
	}
	n = copy(p[:n], b.text)
	b.text = b.text[n:]
	return n, nil
}

// TestTenThousandChannels sends rows by ten thousand channels, beside a client that sends a byte a
// second. Each row counts once, and after a restart each channel is where it was.
func TestTenThousandChannels(t *testing.T) {
	const channels, clients = 10_000, 32
	dir := t.TempDir()
	s := server.Start(t, server.Options{Dir: dir})
	if status, a := push(t, s, "many", nil, []byte(`{"t":"2024-01-01","c":-1}`)); status != http.StatusOK {
		t.Fatalf("%d %+v", status, a)
	}
	hurry, slow := make(chan struct{}), make(chan error, 1)
	go func() {
		body := &pacedBody{[]byte(`{"t":"2024-01-01","c":-2}`), hurry}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Addresses["router"]+"/service/v2/ingest/many", body)
		if err != nil {
			slow <- err
			return
		}
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			if resp.Body.Close(); resp.StatusCode != http.StatusOK {
				err = fmt.Errorf("status %d", resp.StatusCode)
			}
		}
		slow <- err
	}()
	var sending sync.WaitGroup
	for client := range clients {
		sending.Go(func() {
			for c := client; c < channels; c += clients {
				for try := range 1 + c%100/99 { // one of a hundred sends its row again
					line := fmt.Sprintf(`{"t":"2024-01-01","c":%d}`, c)
					status, a := push(t, s, fmt.Sprintf("many?channel=c%d&offset=%d", c, c+1), nil, []byte(line))
					if status != http.StatusOK || a.Duplicate != (try == 1) {
						t.Errorf("channel %d, try %d: %d %+v", c, try, status, a)
						return
					}
				}
			}
		})
	}
	sending.Wait()
	hasRows(t, s, "many", channels+1) // and none of what is not whole
	close(hurry)
	if err := <-slow; err != nil {
		t.Errorf("the slow client: %v", err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s = server.Start(t, server.Options{Dir: dir})
	for _, c := range []int{0, 99, 5000, channels - 1} {
		status, text, err := s.Send(t.Context(), "router", http.MethodGet, fmt.Sprintf("/service/v2/ingest/many/channels/c%d", c), "")
		if err != nil || status != http.StatusOK || !strings.Contains(string(text), fmt.Sprintf(`"committedOffset":"%d"`, c+1)) {
			t.Errorf("channel %d: %d %s, %v", c, status, text, err)
		}
		again, a := push(t, s, fmt.Sprintf("many?channel=c%d&offset=%d", c, c+1), nil, []byte(`{"t":"2024-01-01","c":0}`))
		if again != http.StatusOK || !a.Duplicate {
			t.Errorf("channel %d after a restart: %d %+v", c, again, a)
		}
	}
	server.Until(t, "all rows", func() bool {
		rows, err := s.Query(context.Background(), "SELECT COUNT(*) FROM many")
		return err == nil && fmt.Sprint(rows) == fmt.Sprintf("[[%d]]", channels+2)
	})
}
