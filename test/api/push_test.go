package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/testkit/server"
	"github.com/hengedb/henge/internal/vector"
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
	liveAt := func(role string) string {
		t.Helper()
		_, text, err := s.Send(t.Context(), role, http.MethodPost, "/service/v2",
			`{"queryType":"timeseries","dataSource":"sent","intervals":["2024/2025"],`+
				`"granularity":"all","aggregations":[{"type":"count","name":"n"}]}`)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
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
	for role, want := range map[string]string{"indexer": `"n":100`, "historical": `"n":0`} { // each has what it holds
		if got := liveAt(role); !strings.Contains(got, want) {
			t.Errorf("on the port of role [%s]: %s", role, got)
		}
	}
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
	coded, arrows := map[string]string{"Content-Encoding": "gzip"}, arrowRows(t)
	for _, c := range []struct {
		name, path string
		header     map[string]string
		body       string
		status     int
		want       pushed
		message    string
	}{
		{name: "no time", path: "r", body: `{"v":1}`, status: 400, message: "set it with timeColumn"},
		{name: "lines", path: "r", body: "{\"t\":\"2024-01-01\",\"v\":1}\n{\"t\":\"2024-01-02\",\"v\":2}\n", status: 200,
			want: pushed{Rows: 2, Guarantee: "atLeastOnce"}},
		{name: "gzip", path: "r", header: coded, body: packed.String(), status: 200, want: pushed{Rows: 1, Guarantee: "atLeastOnce"}},
		{name: "cut gzip", path: "r", header: coded, body: packed.String()[:packed.Len()-6], status: 400, message: "No row was taken"},
		{name: "gzip bomb", path: "r", header: coded, body: bomb.String(), status: 413, message: "[100000] bytes"},
		{name: "too large", path: "r", body: strings.Repeat(" ", 100_001), status: 413, message: "[100000] bytes"},
		{name: "one bad row", path: "r", body: "{\"t\":\"2024-01-01\",\"v\":4}\n{\"t\":\"soon\"}\n", status: 400,
			message: "[1] of [2] records are not rows, and no row was accepted. The first is at line [2], column [t]: Value [soon] is not a time"},
		{name: "skipped", path: "r?onError=skip", body: "{\"t\":\"2024-01-01\",\"v\":4}\n{\"t\":\"soon\"}\n", status: 200,
			want: pushed{Rows: 1, Skipped: 1, Guarantee: "atLeastOnce"}},
		{name: "csv", path: "r", header: map[string]string{"Content-Type": "text/csv"}, body: "t,v\n2024-01-03,\"5\"\n", status: 200,
			want: pushed{Rows: 1, Guarantee: "atLeastOnce"}},
		{name: "arrow", path: "r", header: map[string]string{"Content-Type": arrowType}, body: arrows, status: 200,
			want: pushed{Rows: 2, Guarantee: "atLeastOnce"}},
		{name: "cut arrow", path: "r", header: map[string]string{"Content-Type": arrowType}, body: arrows[:len(arrows)-40], status: 400},
		{name: "no arrow", path: "r", header: map[string]string{"Content-Type": arrowType}, body: "{}", status: 400},
		{name: "key", path: "r", header: map[string]string{"Idempotency-Key": "k"}, body: `{"t":"2024-01-01","v":6}`, status: 200,
			want: pushed{Rows: 1, Guarantee: "exactlyOnce"}},
		{name: "key again", path: "r", header: map[string]string{"Idempotency-Key": "k"}, body: `{"t":"2024-01-01","v":6}`, status: 200,
			want: pushed{Rows: 1, Duplicate: true, Guarantee: "exactlyOnce"}},
		{name: "nothing", path: "r", status: 200, want: pushed{Guarantee: "atLeastOnce"}},
		{name: "offset alone", path: "r?offset=1", body: `{"t":"2024-01-01"}`, status: 400, message: "[offset] needs a [channel]"},
		{name: "misspelt", path: "r?chanel=c", body: `{"t":"2024-01-01"}`, status: 400,
			message: "Query parameter [chanel] is unknown. Did you mean [channel]?"},
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
	hasRows(t, s, "r", 8)
	// The first body of a datasource finds the time.
	if status, a := push(t, s, "first_arrow", map[string]string{"Content-Type": arrowType}, []byte(arrows)); status != http.StatusOK {
		t.Errorf("%d %+v", status, a)
	}
	rows, err := s.Query(t.Context(), "SELECT TIME_FORMAT(__time), v FROM first_arrow ORDER BY 2")
	if err != nil || fmt.Sprint(rows) != "[[2024-01-04T00:00:00.000+00:00 7] [2024-01-05T00:00:00.000+00:00 8]]" {
		t.Errorf("%v, %v", rows, err)
	}
}

const arrowType = "application/vnd.apache.arrow.stream"

// arrowRows are two rows as a stream of Arrow.
func arrowRows(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	f := arrow.NewFramed(&out)
	w := arrow.NewWriter([]arrow.Column{
		{Field: arrow.Field{Name: "t", Type: arrow.Instant}}, {Field: arrow.Field{Name: "v", Type: arrow.Int64}},
	}, f.Message)
	day := time.Date(2024, 1, 4, 0, 0, 0, 0, time.UTC).UnixMilli()
	batch := &vector.Batch{N: 2, Cols: []*vector.Vector{vector.FromLongs([]int64{day, day + 86_400_000}), vector.FromLongs([]int64{7, 8})}}
	if err := errors.Join(w.Batch(batch), w.Flush(), f.End()); err != nil {
		t.Fatal(err)
	}
	return out.String()
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
		// Blanks make it last longer than the ten thousand on a slow machine.
		body := &pacedBody{[]byte(`{"t":"2024-01-01","c":-2` + strings.Repeat(" ", 900) + `}`), hurry}
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

// TestSkippedRecordsAreKept sends records that are no rows with onError=skip: they are counted,
// shown and kept by the task that reads, and a request that is sent again changes nothing of that.
func TestSkippedRecordsAreKept(t *testing.T) {
	s := server.Start(t, server.Options{})
	body := []byte("{\"t\":\"2024-01-01\",\"v\":1}\n{\"t\":\"soon\"}\n{\"v\":3}\n{\"t\":\"2024-01-02\",\"v\":2}\n{broken\n")
	for try := range 2 {
		status, a := push(t, s, "kept?onError=skip&timeColumn=t&channel=c&offset=1", nil, body)
		if status != http.StatusOK || a.Rows != 2 || a.Skipped != 3 || a.Duplicate != (try == 1) {
			t.Errorf("try %d: %d %+v", try, status, a)
		}
	}
	hasRows(t, s, "kept", 2)
	var shown []struct {
		Input     string
		ErrorType string
	}
	server.Until(t, "the errors are shown", func() bool {
		err := s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/supervisor/push_kept/parseErrors", nil, &shown)
		return err == nil && len(shown) >= 3
	})
	var stats map[string]map[string]struct {
		Totals struct {
			Build struct{ Processed, Unparseable int } `json:"buildSegments"`
		} `json:"totals"`
	}
	if err := s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/supervisor/push_kept/stats", nil, &stats); err != nil {
		t.Fatal(err)
	}
	task := ""
	for id, of := range stats["0"] {
		if task = id; of.Totals.Build.Processed != 2 || of.Totals.Build.Unparseable != 3 {
			t.Errorf("the task has counted %+v", of.Totals.Build)
		}
	}
	status, text, err := s.Send(t.Context(), "router", http.MethodGet, "/service/indexer/v1/task/"+task+"/deadLetters", "")
	if err != nil || status != http.StatusOK || !strings.Contains(string(text), "soon") || !strings.Contains(string(text), "broken") {
		t.Errorf("dead letters: %d %s, %v", status, text, err)
	}
}

// TestSettingsOfSentRows says how rows are read before any are sent.
func TestSettingsOfSentRows(t *testing.T) {
	s := server.Start(t, server.Options{})
	const schema = `"timestampSpec":{"column":"t"},"dimensionsSpec":{"dimensions":["k"]},"metricsSpec":[{"type":"count","name":"n"}]`
	for body, want := range map[string]string{
		`{` + schema + `,"replicas":2}`:                      "there is no other worker",
		`{` + schema + `,"replicas":3}`:                      "Member [replicas] is a number from [1] to [2], not [3]",
		`{` + schema + `,"taskCount":"x"}`:                   "Member [taskCount]",
		`{` + schema + `,"keys":["k"]}`:                      "Member [keys] is not supported",
		`{` + schema + `,"dataSource":"other"}`:              "must be [set]",
		`{` + schema + `,"granularitySpec":3,"rollup":true}`: "not a JSON object",
		`[]`: "not a JSON object", `null`: "null", `{"timestampSpec"`: "not a JSON object",
	} {
		status, text, err := s.Send(t.Context(), "router", http.MethodPut, "/service/v2/ingest/set/config", body)
		if err != nil || status < 400 || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d %s, %v", body, status, text, err)
		}
	}
	if status, _, _ := s.Send(t.Context(), "router", http.MethodGet, "/service/v2/ingest/set/config", ""); status != http.StatusNotFound {
		t.Errorf("without settings: %d", status)
	}
	status, text, err := s.Send(t.Context(), "router", http.MethodPut, "/service/v2/ingest/set/config",
		`{`+schema+`,"rollup":true,"segmentGranularity":"DAY","taskCount":1,"replicas":1}`)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%d %s, %v", status, text, err)
	}
	for range 3 {
		push(t, s, "set", nil, []byte("{\"t\":\"2024-01-01\",\"k\":\"a\"}\n{\"t\":\"2024-01-01\",\"k\":\"a\"}"))
	}
	rows, err := s.Query(t.Context(), `SELECT k, SUM(n) FROM "set" GROUP BY 1`)
	if err != nil || fmt.Sprint(rows) != "[[a 6]]" {
		t.Errorf("%v, %v", rows, err)
	}
	_, text, err = s.Send(t.Context(), "router", http.MethodGet, "/service/v2/ingest/set/config", "")
	for _, want := range []string{`"segmentGranularity":"DAY"`, `"rollup":true`, `"replicas":1`, `"taskCount":1`, `"dataSource":"set"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the settings lack %s: %s, %v", want, text, err)
		}
	}
}
