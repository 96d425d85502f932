package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/fragments"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/exec/progress"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

var quiet = slog.New(slog.DiscardHandler)

// before is the recording of the protocol before today's, with which today's processes speak.
func before(t *testing.T) *recording { return open(t, cluster.Protocol-1) }

func open(t *testing.T, protocol int) *recording {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("testdata/protocol%d.json", protocol))
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{}
	if err := json.Unmarshal(text, r); err != nil || r.Protocol != protocol {
		t.Fatalf("protocol %d: %v", r.Protocol, err)
	}
	return r
}

// peers stand for the processes of a recording: they give the recorded answers to the recorded
// requests.
type peers struct {
	t *testing.T
	// said are the exchanges of one query.
	said []exchange
	used map[int]bool
}

// RoundTrip implements http.RoundTripper: a request that no process of that release has sent is one
// that it may not understand.
func (p *peers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	for i, e := range p.said {
		if e.Server != r.URL.Host || e.Method != r.Method || e.Path != r.URL.RequestURI() || p.used[i] {
			continue
		}
		p.used[i] = true
		if diff := cmp.Diff(parts(p.t, e.Request), parts(p.t, body)); diff != "" {
			p.t.Errorf("what [%s] is asked is not what the older release has asked: %s", e.Server, diff)
		}
		return &http.Response{StatusCode: e.Status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(e.Answer))}, nil
	}
	p.t.Errorf("server [%s] is asked for [%s], which the older release has not asked for", r.URL.Host, r.URL.RequestURI())
	return nil, errors.New("nobody is there")
}

// parts returns the parts of a request's bytes: the head with version and flags but not its
// lengths, the header without what is left of the query's time and without the rows of segments,
// which older releases neither send nor look at, and the plan.
func parts(t *testing.T, request []byte) []any {
	t.Helper()
	const head = 16
	if len(request) < head {
		t.Fatalf("%q is no request", request)
	}
	length := int(request[8]) | int(request[9])<<8 | int(request[10])<<16
	var header map[string]any
	if err := json.Unmarshal(request[head:head+length], &header); err != nil {
		t.Fatal(err)
	}
	delete(header, "timeoutMillis")
	segments, _ := header["segments"].([]any) // a request may have none
	for _, s := range segments {
		if members, ok := s.(map[string]any); ok {
			delete(members, "rows")
		}
	}
	return []any{string(request[:8]), header, request[head+length : len(request)-4]}
}

// answerer answers fragments over the recorded segments. It implements fragments.Engine,
// fragments.Segments and fragments.Gate.
type answerer struct {
	t          *testing.T
	dir        string
	dispatcher *dispatch.Dispatcher
}

func (s *answerer) FragmentEnv(zone *chrono.Zone, now int64, _ string) (*exec.Env, func()) {
	return &exec.Env{Expr: &expr.Context{Zone: zone, Now: now}, Threads: 1}, func() {}
}
func (s *answerer) AdmitPart(context.Context, *dispatch.Request, *exec.Fragment) (func(), error) {
	return func() {}, nil
}
func (s *answerer) SegmentCache(bool, bool) *exec.SegmentCache { return nil }
func (s *answerer) Part(string) (*progress.Progress, func())   { return nil, func() {} }
func (s *answerer) SegmentTimes(string) *exec.SegmentTimes     { return nil }
func (s *answerer) Relay(req *dispatch.Request, env *exec.Env) (exec.Remote, error) {
	return s.dispatcher.Relay(req, env.Budget, env.Spill), nil
}

func (s *answerer) Held(ctx context.Context, id, _ string) (segment.Reader, error) {
	return s.Acquire(ctx, id, nil)
}

func (s *answerer) Acquire(_ context.Context, id string, _ json.RawMessage) (segment.Reader, error) {
	of, err := segment.Open(filepath.Join(s.dir, strings.ReplaceAll(id, ":", "")))
	if err != nil {
		return nil, err
	}
	return of, nil // the caller releases the only reference
}

// newServer returns a server of today's release that is there for as long as the test.
func (r *recording) newServer(t *testing.T, others *peers) http.Handler {
	t.Helper()
	s := &answerer{t: t, dir: t.TempDir(), dispatcher: dispatch.New(dispatch.Options{Client: &http.Client{Transport: others}, Clock: clock.System(), Log: quiet})}
	for id, file := range r.Segments {
		if err := os.WriteFile(filepath.Join(s.dir, strings.ReplaceAll(id, ":", "")), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mux := edge.NewMux(&edge.Errors{Host: "localhost", Log: quiet})
	fragments.New(s, s, nil, query.NewGate(query.Limits{}, "historical", nil), nil, clock.System(), quiet, 0).Routes(mux)
	return mux
}

// answer has a server answer a recorded request.
func answer(t *testing.T, h http.Handler, e exchange) (status int, text []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), e.Method, e.Path, bytes.NewReader(e.Request)))
	return w.Code, w.Body.Bytes()
}

// block is one of an answer's: rows as texts in any order, a profile as its members with no
// numbers.
type block struct {
	Kind string
	Rows []string
	Text any
}

// blocks takes an answer apart, by the format alone: the order of kinds, what is in them, and
// nothing besides.
func blocks(t *testing.T, text []byte) (version byte, out []block) {
	t.Helper()
	if len(text) < 8 || string(text[:4]) != "HGFR" {
		t.Fatalf("%q is no answer", text)
	}
	in := bytes.NewReader(text[8:])
	frames := vector.NewFrameReader(in)
	rows := block{Kind: "R"}
	for in.Len() > 0 {
		kind, _ := in.ReadByte()
		if kind == 'R' {
			b, err := frames.Next()
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Rows() {
				rows.Rows = append(rows.Rows, rowText(b, i))
			}
			continue
		}
		rest, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		switch kind {
		case 'P':
			length := int(rest[0]) | int(rest[1])<<8 | int(rest[2])<<16
			var did any
			if err := json.Unmarshal(rest[4:4+length], &did); err != nil {
				t.Fatal(err)
			}
			out = append(out, block{Kind: "P", Text: withoutNumbers(did)})
			in = bytes.NewReader(rest[4+length+4:])
			frames = vector.NewFrameReader(in)
		case 'E':
			if len(rest) != 12 {
				t.Errorf("[%d] bytes follow the end", len(rest))
			}
			out = append(out, block{Kind: "E", Text: rest[:8]})
			in = bytes.NewReader(nil)
		default:
			t.Fatalf("block [%c] in %q", kind, text)
		}
	}
	slices.Sort(rows.Rows)
	return text[4], append(out, rows)
}

func rowText(b *vector.Batch, i int) string {
	var out []string
	for _, c := range b.Cols {
		out = append(out, fmt.Sprintf("%#v", c.ValueAt(i)))
	}
	return strings.Join(out, " | ")
}

// withoutNumbers keeps the members of what operators did, of which those above zero say that
// something was done.
func withoutNumbers(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withoutNumbers(v[name])
			if name == "cpu" { // left out where nothing was measured
				delete(v, name)
			}
		}
	case float64:
		return "a number"
	}
	return v
}

// What a Broker of the release before has asked, today's servers answer as that release's did: in
// its version, with its blocks, and with the same rows. One that is to merge asks the other as that
// release has asked it.
func TestTodaysServersAnswerTheBrokerOfTheReleaseBefore(t *testing.T) {
	r := before(t)
	for _, q := range r.Queries {
		for i, e := range q.Exchanges {
			others := &peers{t: t, said: q.Exchanges, used: map[int]bool{i: true}}
			status, text := answer(t, r.newServer(t, others), e)
			if status != e.Status {
				t.Fatalf("%s: status [%d]: %s", q.SQL, status, text)
			}
			version, got := blocks(t, text)
			recorded, want := blocks(t, e.Answer)
			if version != recorded || int(version) != r.Protocol {
				t.Errorf("%s: an answer of version [%d] to one who speaks [%d]", q.SQL, version, recorded)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: server [%s]: %s", q.SQL, e.Server, diff)
			}
		}
	}
}

// Today's Broker asks servers of the release before what that release's Broker has asked them, byte
// for byte but for times, and understands what they have answered.
func TestTodaysBrokerAsksServersOfTheReleaseBefore(t *testing.T) {
	r := before(t)
	for _, q := range r.Queries {
		for i, e := range q.Exchanges {
			req, err := dispatch.ReadRequest(bytes.NewReader(e.Request), 0)
			if err != nil {
				t.Fatal(err)
			}
			f, err := req.Fragment()
			if err != nil {
				t.Fatal(err)
			}
			others := &peers{t: t, said: q.Exchanges, used: map[int]bool{}}
			for k := range q.Exchanges { // the others' requests are asked by their servers
				others.used[k] = k != i
			}
			rows := askAgain(t, r, req, f, e.Server, others)
			_, want := blocks(t, e.Answer)
			if diff := cmp.Diff(want[len(want)-1].Rows, rows); diff != "" {
				t.Errorf("%s: server [%s]: %s", q.SQL, e.Server, diff)
			}
		}
	}
}

// askAgain sends a request as today's Broker does that has the same fragment for the same servers,
// and returns the rows.
func askAgain(t *testing.T, r *recording, req *dispatch.Request, f *exec.Fragment, address string, others *peers) []string {
	t.Helper()
	d := dispatch.New(dispatch.Options{Client: &http.Client{Transport: others}, FanIn: 1, Clock: clock.System(), Log: quiet})
	known := map[string]*dispatch.Server{}
	server := func(name string) *dispatch.Server {
		if known[name] == nil {
			known[name] = &dispatch.Server{Name: name, URL: "http://" + name, Protocol: r.Protocol}
		}
		return known[name]
	}
	var segments []dispatch.Segment
	add := func(of dispatch.SentSegment, by string, rows int64) {
		s := dispatch.Segment{Of: &timeline.Segment{Rows: rows}, ID: of.ID, Visible: of.Interval()}
		for _, n := range of.Holders {
			holder := server(req.Servers[n].Name)
			if holder.Name != by { // which of several is asked depends on what else they do: here the one that was
				holder = &dispatch.Server{Name: holder.Name, URL: holder.URL, Protocol: holder.Protocol}
				holder.SetDown(true)
			}
			s.Holders = append(s.Holders, holder)
		}
		if len(s.Holders) == 0 {
			s.Holders = []*dispatch.Server{server(by)}
		}
		segments = append(segments, s)
	}
	for _, s := range req.Segments {
		add(s, address, 0) // who reads the least merges
	}
	for _, o := range req.Others {
		for _, s := range o.Segments {
			add(s, req.Servers[o.Server].Name, s.Rows)
		}
	}
	if req.Profile { // as EXPLAIN ANALYZE does
		f.Remote = &exec.RemoteProfile{}
	}
	here, remote, err := d.Split(&dispatch.Query{
		ID: req.QueryID, TimeZone: req.TimeZone, Now: req.Now, BatchRows: req.BatchRows, Priority: req.Priority, Lane: req.Lane,
		NoCacheUse: req.NoCacheUse, NoCachePopulate: req.NoCachePopulate,
		Live: func() []*dispatch.Server { return nil }, Holders: func(string) []*dispatch.Server { return nil },
	}, segments)
	if err != nil || len(here) > 0 {
		t.Fatal(here, err)
	}
	streams, err := remote.Open(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	rows := []string(nil)
	for _, s := range streams {
		if err := exec.Drain(t.Context(), s, func(b *vector.Batch) error {
			for i := range b.Rows() {
				rows = append(rows, rowText(b, i))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	slices.Sort(rows)
	return rows
}

// A Broker two protocols back is told that it is not understood, and so asks another.
func TestTodaysServersRefuseTwoProtocolsBack(t *testing.T) {
	for protocol := 1; protocol < cluster.Protocol-1; protocol++ {
		r := open(t, protocol)
		for _, e := range r.Queries[0].Exchanges {
			status, text := answer(t, r.newServer(t, &peers{t: t}), e)
			if want := fmt.Sprintf("A fragment of version [%d] is not known to this release", protocol); status != http.StatusServiceUnavailable || !strings.Contains(string(text), want) {
				t.Errorf("%d %s", status, text)
			}
		}
	}
}

// Commands and questions of a Coordinator and a Broker of the release before are understood and
// answered as that release's Historicals have answered, and what these have answered is understood.
func TestHistoricalsAreToldAndAskedAsBefore(t *testing.T) {
	r := before(t)
	told := 0
	for _, e := range r.Others {
		path, _, _ := strings.Cut(e.Path, "?")
		switch path {
		case cluster.CommandPath:
			var want cluster.Command
			strictly(t, e.Request, &want)
			var state cluster.QueueState
			strictly(t, e.Answer, &state)
			h := &historical{state: state}
			status, text := answer(t, h.routes(nil), e)
			if diff := cmp.Diff(want, h.command); diff != "" || len(want.Load) == 0 || want.Load[0].Size == 0 {
				t.Errorf("the command %+v: %s", h.command, diff)
			}
			sameJSON(t, "the state of a queue", status, e, text)
			again, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, "a command", e.Status, exchange{Status: e.Status, Answer: e.Request}, again)
		case cluster.LogPath:
			var want cluster.Delta
			strictly(t, e.Answer, &want)
			log := cluster.NewLog(want.Counter.Hash, func() ([]string, int64) { return nil, want.Used })
			for _, c := range want.Changes {
				log.Loaded(c.ID)
			}
			status, text := answer(t, (&historical{}).routes(log), e)
			sameJSON(t, "what is held", status, e, text)
		default:
			t.Errorf("nobody looks at [%s]", e.Path)
			continue
		}
		told++
	}
	if told != 2 {
		t.Errorf("[%d] exchanges", told)
	}
}

// strictly reads JSON of which every member must be known.
func strictly(t *testing.T, text []byte, out any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

func sameJSON(t *testing.T, what string, status int, e exchange, text []byte) {
	t.Helper()
	var want, got any
	if err := errors.Join(json.Unmarshal(e.Answer, &want), json.Unmarshal(text, &got)); err != nil || status != e.Status {
		t.Fatalf("%s: [%d] %v", what, status, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// What processes of the release before announce is understood whole, those of an earlier one keep a
// process of today's from starting, and of what that announces itself every member that was there
// before is there with the same type.
func TestAnnouncementsOfOlderReleases(t *testing.T) {
	for protocol := 1; protocol < cluster.Protocol; protocol++ {
		r := open(t, protocol)
		store := &announced{}
		for _, m := range r.Members {
			m.Held = true
			store.members = append(store.members, m)
		}
		own := cluster.Member{
			Role: cluster.Historical, Host: "localhost", Port: 1, Started: 1, Version: "today", Protocol: cluster.Protocol, Processors: 2, Memory: 1,
			Tier: "_default_tier", MaxBytes: 1, Capacity: 1, Category: "c", LookupTier: "__default", Priority: 1,
		}
		view := cluster.NewView()
		err := (&cluster.Membership{Store: store, Holder: "today", Own: []cluster.Member{own}, TTL: time.Minute, View: view, Clock: clock.System(), Log: quiet}).Join(t.Context())
		if protocol < cluster.Protocol-1 {
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("protocol [%d]", protocol)) {
				t.Errorf("among processes of protocol [%d]: %v", protocol, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range view.Members("") {
			if m.Holder == "today" {
				continue
			}
			was := slices.IndexFunc(r.Members, func(o announcement) bool { return o.Role == m.Role && o.Address == m.Address() })
			if was < 0 {
				t.Fatalf("nobody has announced %+v", m)
			}
			strictly(t, r.Members[was].Payload, &cluster.Member{})
			again, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, "the announcement of "+m.Role, 0, exchange{Answer: r.Members[was].Payload}, again)
		}
		for _, m := range r.Members {
			var was, is map[string]any
			if err := errors.Join(json.Unmarshal(m.Payload, &was), json.Unmarshal(store.own[0].Payload, &is)); err != nil {
				t.Fatal(err)
			}
			for name, value := range was {
				if fmt.Sprintf("%T", is[name]) != fmt.Sprintf("%T", value) {
					t.Errorf("member [%s] of an announcement was %T and is %T", name, value, is[name])
				}
			}
		}
	}
}
