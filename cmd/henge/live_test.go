package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/ingest"
)

// quickClock is the clock of the machine, but waits for nothing; it keeps how long it should have.
type quickClock struct {
	clock.Clock
	mu    sync.Mutex
	slept []time.Duration
}

func (c *quickClock) Sleep(ctx context.Context, d time.Duration) error {
	if d == liveEnding { // what an interruption starts
		<-ctx.Done()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept = append(c.slept, d)
	return ctx.Err()
}

func (c *quickClock) NewTimer(d time.Duration) clock.Timer {
	if d == liveLinger {
		d = 0
	}
	return c.Clock.NewTimer(d)
}

// What a pushServer does with a request.
const (
	takes     = "takes"
	cutBefore = "cut before"  // the connection breaks before anything is taken
	cutAfter  = "cut after"   // the rows are taken, the answer is lost
	cutWithin = "cut within"  // likewise, in the middle of the answer
	full      = "full"        // 429
	away      = "unavailable" // 503
	failing   = "failing"     // 500
	gateway   = "gateway"     // 504 after the rows were taken
)

// pushServer is an endpoint for rows that fails as it is told.
type pushServer struct {
	t    *testing.T
	does []string // for the first requests; then it takes all

	mu        sync.Mutex
	requests  int
	committed map[string]int64
	lines     []string // that were taken, in order
	queries   []string
	types     map[string]bool
	refuse    string // lines with this text are no rows
}

func (s *pushServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name, ok := strings.CutPrefix(r.URL.Path, "/service/v2/ingest/my events/channels/"); ok {
		if n, ok := s.committed[name]; ok {
			fmt.Fprintf(w, `{"channel":%q,"committedOffset":"%d"}`, name, n)
			return
		}
		http.NotFound(w, r)
		return
	}
	does := takes
	if s.requests < len(s.does) {
		does = s.does[s.requests]
	}
	s.requests++
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	switch does {
	case cutBefore:
		panic(http.ErrAbortHandler)
	case full:
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case away:
		http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
		return
	case failing:
		http.Error(w, `{"error":"x","errorMessage":"It broke"}`, http.StatusInternalServerError)
		return
	}
	answer := s.take(w, r, string(body))
	switch {
	case does == cutAfter:
		panic(http.ErrAbortHandler)
	case does == gateway:
		http.Error(w, "too late", http.StatusGatewayTimeout)
	case does == cutWithin:
		w.Header().Set("Content-Length", "500")
		_, _ = io.WriteString(w, `{"rows":`)
		panic(http.ErrAbortHandler)
	case answer != nil:
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// take does what the real endpoint does: all rows of a request that is new in its channel, or none.
func (s *pushServer) take(w http.ResponseWriter, r *http.Request, body string) map[string]any {
	q := r.URL.Query()
	channel := q.Get("channel")
	offset, err := strconv.ParseInt(q.Get("offset"), 10, 64)
	if err != nil || channel == "" || r.URL.Path != "/service/v2/ingest/my events" {
		s.t.Errorf("request %s", r.URL)
	}
	q.Del("offset")
	s.queries = append(s.queries, q.Encode())
	if s.types == nil {
		s.types, s.committed = map[string]bool{}, map[string]int64{}
	}
	s.types[r.Header.Get("Content-Type")] = true
	lines := strings.SplitAfter(strings.TrimSuffix(body, "\n"), "\n")
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-ndjson") {
		if lines[0] != "ts,n\n" {
			s.t.Errorf("header %q", lines[0])
		}
		lines = lines[1:]
	}
	answer := map[string]any{"acknowledgement": "durable", "guarantee": "exactlyOnce", "duplicate": true, "rows": 0, "skipped": 0}
	if offset > s.committed[channel] {
		var good []string
		for i, line := range lines {
			if s.refuse == "" || !strings.Contains(line, s.refuse) {
				good = append(good, strings.TrimSuffix(line, "\n"))
			} else if q.Get("onError") != "skip" {
				w.WriteHeader(http.StatusBadRequest)
				return map[string]any{"error": "x", "errorMessage": fmt.Sprintf("The first is at line [%d]", i+1)}
			}
		}
		s.lines = append(s.lines, good...)
		s.committed[channel] = offset
		answer["duplicate"], answer["rows"], answer["skipped"] = false, len(good), len(lines)-len(good)
	}
	answer["committedOffset"] = strconv.FormatInt(s.committed[channel], 10)
	return answer
}

// liveRun is a run of the command against a server that fails.
type liveRun struct {
	server *pushServer
	url    string
	clock  *quickClock
	err    strings.Builder
}

func newLiveRun(t *testing.T, does ...string) *liveRun {
	r := &liveRun{server: &pushServer{t: t, does: does}, clock: &quickClock{Clock: clock.System()}}
	web := httptest.NewServer(r.server)
	t.Cleanup(web.Close)
	r.url = web.URL
	return r
}

func (r *liveRun) run(ctx context.Context, in io.Reader, maxBad int64, channel string) error {
	o := &ingestOptions{client: newClient(r.url), clock: r.clock, in: in, out: io.Discard, err: &r.err,
		into: "my events", maxBad: maxBad, channel: channel, survey: ingest.SurveyOptions{Time: "ts"}}
	return o.runLive(ctx, []string{"-"}, func(name string) bool { return name == "channel" && channel != "" })
}

// numbered are rows 1 to n.
func numbered(from, to int) (out []string) {
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprintf(`{"ts":%d,"n":%d}`, 1_700_000_000_000+i, i))
	}
	return out
}

// inPieces gives text a few bytes at a time, as a pipe does.
type inPieces struct {
	text string
	r    *rand.Rand
}

func (p *inPieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(len(p.text), 1+p.r.IntN(3000))])
	p.text = p.text[n:]
	return n, nil
}

// Each row counts once, in its order, whatever happens to the requests.
func TestLiveRowsCountOnce(t *testing.T) {
	const rows = 20_000
	faults := []string{takes, cutBefore, cutAfter, cutWithin, full, away, failing, gateway}
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 1))
		var does []string
		for range 60 {
			does = append(does, faults[random.IntN(len(faults))])
		}
		r := newLiveRun(t, does...)
		want := numbered(1, rows)
		if err := r.run(t.Context(), &inPieces{strings.Join(want, "\n"), random}, 0, ""); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, r.err.String())
		}
		if diff := cmp.Diff(want, r.server.lines); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if !strings.Contains(r.err.String(), "20,000 rows of standard input in ") {
			t.Errorf("seed %d: summary\n%s", seed, r.err.String())
		}
		if r.server.requests <= len(does) {
			t.Errorf("seed %d: %d requests meet %d faults", seed, r.server.requests, len(does))
		}
		query := r.server.queries[0]
		if len(r.server.committed) != 1 || strings.Contains(query, "onError") || !strings.Contains(query, "timeColumn=ts") {
			t.Errorf("%v, %q", r.server.committed, query)
		}
	}
}

// A server that is full says when to come again, and is asked then.
func TestLiveRowsWaitForAFullServer(t *testing.T) {
	r := newLiveRun(t, full, full, away, takes)
	if err := r.run(t.Context(), strings.NewReader(numbered(1, 1)[0]), 0, ""); err != nil || len(r.server.lines) != 1 {
		t.Fatalf("%v, %q", err, r.server.lines)
	}
	want := []time.Duration{7 * time.Second, 7 * time.Second, 4 * livePause}
	if diff := cmp.Diff(want, r.clock.slept); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"trying again", "accepts rows again", "3 requests were repeated"} {
		if !strings.Contains(r.err.String(), want) {
			t.Errorf("no %q in %s", want, r.err.String())
		}
	}
}

// A command that was given a channel goes on behind the rows that the server has.
func TestLiveRowsGoOn(t *testing.T) {
	r := newLiveRun(t)
	for _, n := range []int{100, 100, 250} {
		if err := r.run(t.Context(), strings.NewReader(strings.Join(numbered(1, n), "\n")), 0, "pipe/1"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(numbered(1, n), r.server.lines); diff != "" {
			t.Fatal(diff)
		}
	}
	if text := r.err.String(); !strings.Contains(text, "Channel [pipe/1] has 100 rows already") {
		t.Error(text)
	}
}

// The rows of a refused request are named by their number in the input, and can be left out.
func TestLiveRowsThatAreBad(t *testing.T) {
	all := numbered(1, 20)
	all[12] = "{bad"
	input := strings.Join(all[:10], "\n") + "\n\n" + strings.Join(all[10:], "\r\n")
	r := newLiveRun(t)
	r.server.refuse = "bad"
	first, second := io.Pipe()
	go func() {
		_, _ = io.WriteString(second, strings.Join(all[:5], "\n")+"\n") // the command ends before it, or reads it all
		for range 1000 {
			r.server.mu.Lock()
			n := len(r.server.lines)
			r.server.mu.Unlock()
			if n == 5 {
				break
			}
			_ = clock.System().Sleep(t.Context(), 5*time.Millisecond)
		}
		_, _ = io.WriteString(second, strings.Join(all[5:], "\n"))
		_ = second.Close()
	}()
	err := r.run(t.Context(), first, 0, "")
	if err == nil || !strings.Contains(err.Error(), "is at line [") ||
		!strings.Contains(err.Error(), "is row [6] of the input") || len(r.server.lines) != 5 {
		t.Errorf("%v, %q", err, r.server.lines)
	}
	if text := r.err.String(); !strings.Contains(text, "first 5 rows of the input") || !strings.Contains(text, "--channel ") {
		t.Error(text)
	}
	for _, most := range []int64{-1, 1} {
		r = newLiveRun(t, cutAfter, takes)
		r.server.refuse = "bad"
		if err := r.run(t.Context(), strings.NewReader(input), most, ""); err != nil || len(r.server.lines) != 19 {
			t.Errorf("%v, %q", err, r.server.lines)
		}
	}
	r = newLiveRun(t)
	r.server.refuse = `"n"`
	if err := r.run(t.Context(), strings.NewReader(input), 3, ""); err == nil || !strings.Contains(err.Error(), "allows [3]") {
		t.Errorf("more bad rows than allowed: %v", err)
	}
}

// An interrupted command sends what it has read; that the program before it in a pipe ends, too, is
// the end of the input.
func TestLiveRowsAreSentWhenInterrupted(t *testing.T) {
	for _, ends := range []bool{true, false} {
		r := newLiveRun(t)
		ctx, stop := context.WithCancel(t.Context())
		out, in := io.Pipe()
		go func() {
			_, _ = io.WriteString(in, strings.Join(numbered(1, 50), "\n")+"\n"+`{"ts":1`)
			stop()
			if ends {
				_, _ = io.WriteString(in, "}\n")
				_ = in.Close()
			}
		}()
		err := r.run(ctx, out, 0, "")
		if want := map[bool]int{true: 51, false: 50}[ends]; len(r.server.lines) != want {
			t.Errorf("%d rows, want %d", len(r.server.lines), want)
		}
		if ends != (err == nil) {
			t.Errorf("the input ended %v: %v", ends, err)
		}
		_ = in.Close()
		stop()
	}
}
