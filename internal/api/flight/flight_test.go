package flight

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/grpc"
	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/secret/seal"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/vector"
)

// engine answers every statement with the numbers up to a limit; one called "fails" fails behind
// them, and one called "wrong" is wrong.
type engine struct {
	batches int
	asked   *query.Request
	open    int
}

var columns = []result.Column{{Name: "n", Type: expr.Of(expr.BigInt)}, {Name: "s", Type: expr.Of(expr.Varchar)}}

func (e *engine) Describe(_ context.Context, req *query.Request) (*query.Description, error) {
	if req.SQL == "wrong" {
		return nil, fault.InvalidSQL(fault.Span{Line: 1, Column: 1}, "No such statement, 100%% wrong é")
	}
	return &query.Description{Columns: columns, Parameters: []expr.Type{expr.Of(expr.BigInt), expr.Of(expr.Null)}}, nil
}

func (e *engine) Start(_ context.Context, _ *query.Query, req *query.Request) (query.Rows, error) {
	e.asked = req
	e.open++
	return &rows{e: e, fails: req.SQL == "fails"}, nil
}

type rows struct {
	e     *engine
	n     int
	fails bool
}

func (r *rows) Columns() []result.Column { return columns }
func (r *rows) Zone() *chrono.Zone       { return chrono.UTC }
func (r *rows) StringifyArrays() bool    { return true }
func (r *rows) ResponseContext() string  { return "{}" }
func (r *rows) Close()                   { r.e.open-- }

func (r *rows) Next(ctx context.Context) (*vector.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.n == r.e.batches {
		if r.fails {
			return nil, fault.Runtime("Disk is gone")
		}
		return nil, io.EOF
	}
	r.n++
	return &vector.Batch{N: 1000, Cols: []*vector.Vector{
		vector.Constant(vector.Long, int64(r.n), 1000), vector.Constant(vector.String, "x", 1000),
	}}, nil
}

// served is the API behind a handler.
type served struct {
	*engine
	api     *API
	clock   *fakeclock.Clock
	handler http.Handler
	pushed  []string
}

func serve(t testing.TB) *served {
	t.Helper()
	s := &served{engine: &engine{batches: 100}, clock: fakeclock.New(time.Unix(1_700_000_000, 0))}
	api, err := New(s.engine, query.NewRunning(clock.System(), query.RunningOptions{}), Options{
		Key: bytes.Repeat([]byte{7}, KeyBytes), MaxRequestBytes: 1 << 16, MaxRowsBytes: 1 << 20, Version: "test", Clock: s.clock,
		Ingest: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			in := arrow.NewReader(r.Body)
			n := 0
			for {
				b, err := in.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprintf(w, `{"errorMessage":%q}`, err.Error())
					return
				}
				n += b.Rows
			}
			s.pushed = append(s.pushed, fmt.Sprint(r.URL, " ", n))
			fmt.Fprintf(w, `{"rows":%d}`, n)
		}),
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.api = api
	mux := edge.NewMux(&edge.Errors{})
	api.Routes(mux)
	s.handler = mux.Handler(nil, clock.System(), nil)
	return s
}

// answer is what a call was answered with.
type answer struct {
	status   int
	code     grpc.Code
	message  string
	messages [][]byte
	header   http.Header
}

// frame puts messages into frames.
func frame(messages ...[]byte) []byte {
	var out []byte
	for _, m := range messages {
		out = append(out, 0)
		out = binary.BigEndian.AppendUint32(out, uint32(len(m)))
		out = append(out, m...)
	}
	return out
}

// raw sends a body; header are names and values.
func (s *served) raw(method string, body []byte, header ...string) answer {
	r := httptest.NewRequest(http.MethodPost, Path+method, bytes.NewReader(body))
	r.Header.Set("Content-Type", grpc.Media)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	out := answer{status: w.Code, code: -1, header: w.Header()}
	for _, prefix := range []string{"", http.TrailerPrefix} {
		if text := w.Header().Get(prefix + "Grpc-Status"); text != "" {
			n, _ := strconv.Atoi(text)
			out.code, out.message = grpc.Code(n), w.Header().Get(prefix+"Grpc-Message")
		}
	}
	for rest := w.Body.Bytes(); len(rest) >= 5 && w.Header().Get("Content-Type") == grpc.Media; {
		n := int(binary.BigEndian.Uint32(rest[1:]))
		out.messages = append(out.messages, rest[5:5+n])
		rest = rest[5+n:]
	}
	return out
}

func (s *served) call(method string, message []byte, header ...string) answer {
	return s.raw(method, frame(message), header...)
}

func descriptorOf(name string, m message) []byte {
	var d message
	d.number(1, descriptorCmd)
	d.bytes(2, pack(name, m))
	return d
}

func queryOf(sql string) []byte {
	var m message
	m.text(1, sql)
	return descriptorOf("CommandStatementQuery", m)
}

// ticketOf returns the ticket in an answer with a FlightInfo.
func ticketOf(t *testing.T, a answer) []byte {
	t.Helper()
	if a.code != grpc.OK || len(a.messages) != 1 {
		t.Fatalf("%+v", a)
	}
	info, err := read(a.messages[0])
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := read(info.bytes(3))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(endpoint.bytes(1))
}

// rowsOf counts the rows of an answer to DoGet.
func rowsOf(t *testing.T, a answer) (n int) {
	t.Helper()
	var d *arrow.Decoder
	for i, m := range a.messages {
		in, err := read(m)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			schema, err := arrow.DecodeSchema(in.bytes(2))
			if err != nil {
				t.Fatal(err)
			}
			if d, err = arrow.NewDecoder(schema); err != nil {
				t.Fatal(err)
			}
			continue
		}
		b, err := d.Decode(in.bytes(2), in.bytes(1000))
		if err != nil {
			t.Fatal(err)
		}
		n += b.Rows
	}
	return n
}

func TestRowsOfATicket(t *testing.T) {
	s := serve(t)
	ticket := ticketOf(t, s.call("GetFlightInfo", queryOf("SELECT 1")))
	for range 2 { // and again
		a := s.call("DoGet", ticket)
		if n := rowsOf(t, a); a.code != grpc.OK || n != 100_000 || s.open != 0 {
			t.Errorf("%d rows, %v %s, %d open", n, a.code, a.message, s.open)
		}
	}
	a := s.call("DoGet", ticketOf(t, s.call("GetFlightInfo", queryOf("fails"))))
	if n := rowsOf(t, a); a.code != grpc.Internal || a.message != "Disk is gone" || n == 0 || s.open != 0 {
		t.Errorf("%d rows, %v %q", n, a.code, a.message)
	}
	a = s.call("GetFlightInfo", queryOf("wrong"))
	if a.code != grpc.InvalidArgument || !strings.HasPrefix(a.message, "No such statement, 100%25 wrong %C3%A9") {
		t.Errorf("%v %q", a.code, a.message)
	}
	a = s.call("DoGet", ticketOf(t, s.call("GetFlightInfo", queryOf("q"), contextHeader, `{"timeout":5000,"sqlQueryId":"mine"}`)))
	if a.code != grpc.OK || s.asked.ID != "mine" || fmt.Sprint(s.asked.Context["timeout"]) != "5000" {
		t.Errorf("%v %+v", a, s.asked)
	}
}

func TestTicketsAreNotForged(t *testing.T) {
	s := serve(t)
	ann := []string{"Authorization", "Basic YW5uOng="}
	ticket := ticketOf(t, s.call("GetFlightInfo", queryOf("SELECT 1"), ann...))
	if a := s.call("DoGet", ticket); a.code != grpc.PermissionDenied {
		t.Errorf("somebody else's: %+v", a)
	}
	for n := range ticket {
		b := bytes.Clone(ticket)
		b[n] ^= 1
		if a := s.call("DoGet", b, ann...); a.code == grpc.OK {
			t.Fatalf("byte %d is another one, and the ticket is taken", n)
		}
		if a := s.call("DoGet", ticket[:n], ann...); a.code == grpc.OK {
			t.Fatalf("cut at %d, and the ticket is taken", n)
		}
	}
	var p message
	p.text(1, "SELECT 1")
	a := s.call("DoAction", actionOf("CreatePreparedStatement", pack("ActionCreatePreparedStatementRequest", p)), ann...)
	prepared := handleOf(t, a)
	var inner, other message
	inner.bytes(1, prepared)
	other.bytes(1, pack("TicketStatementQuery", inner))
	if a := s.call("DoGet", other, ann...); a.code != grpc.InvalidArgument {
		t.Errorf("a prepared statement as a ticket: %+v", a)
	}
	s.clock.Advance(ticketLife)
	if a := s.call("DoGet", ticket, ann...); a.code != grpc.NotFound || !strings.Contains(a.message, "expired") {
		t.Errorf("an old one: %+v", a)
	}
	elsewhere := serve(t)
	elsewhere.api.seal, _ = seal.New(bytes.Repeat([]byte{8}, KeyBytes), elsewhere.clock)
	if a := s.call("DoGet", ticketOf(t, elsewhere.call("GetFlightInfo", queryOf("SELECT 1")))); a.code != grpc.InvalidArgument {
		t.Errorf("another cluster's: %+v", a)
	}
}

func actionOf(kind string, body []byte) []byte {
	var m message
	m.text(1, kind)
	m.bytes(2, body)
	return m
}

// handleOf returns the handle in the answer of a prepared statement.
func handleOf(t *testing.T, a answer) []byte {
	t.Helper()
	if a.code != grpc.OK || len(a.messages) != 1 {
		t.Fatalf("%+v", a)
	}
	in, err := read(a.messages[0])
	if err != nil {
		t.Fatal(err)
	}
	_, inner, err := unpack(in.bytes(1))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(inner.bytes(1))
}

// dataOf are the messages of a put: a schema with a command, then batches.
func dataOf(t *testing.T, cmd []byte, columns []arrow.Column, batches ...*vector.Batch) (out [][]byte) {
	t.Helper()
	w := arrow.NewWriter(columns, func(m *arrow.Message) error {
		var d message
		if len(out) == 0 {
			d.bytes(1, cmd)
		}
		d.bytes(2, m.Metadata)
		var body []byte
		for _, part := range m.Padded() {
			body = append(body, part...)
		}
		d.bytes(1000, body)
		out = append(out, d)
		return nil
	})
	if err := w.Begin(); err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := errors.Join(w.Batch(b), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestParametersOfPreparedStatements(t *testing.T) {
	s := serve(t)
	var p message
	p.text(1, "SELECT ?, ?")
	handle := handleOf(t, s.call("DoAction", actionOf("CreatePreparedStatement", pack("ActionCreatePreparedStatementRequest", p))))
	var cmd message
	cmd.bytes(1, handle)
	put := descriptorOf("CommandPreparedStatementQuery", cmd)
	two := []arrow.Column{{Field: arrow.Field{Name: "1", Type: arrow.Int64}}, {Field: arrow.Field{Name: "2", Type: arrow.Text}}}
	row := &vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromLongs([]int64{41}), vector.FromStrings([]string{"x"})}}
	a := s.raw("DoPut", frame(dataOf(t, put, two, row)...))
	if a.code != grpc.OK {
		t.Fatalf("%+v", a)
	}
	answered, _ := read(a.messages[0])
	bound, _ := read(answered.bytes(1))
	cmd = nil
	cmd.bytes(1, bound.bytes(1))
	a = s.call("DoGet", ticketOf(t, s.call("GetFlightInfo", descriptorOf("CommandPreparedStatementQuery", cmd))))
	if given := s.asked.Parameters; a.code != grpc.OK || len(given) != 2 || string(given[0].Value) != "41" || given[1].Type != "VARCHAR" {
		t.Errorf("%+v %+v", a, given)
	}
	many := &vector.Batch{N: 2, Cols: []*vector.Vector{vector.FromLongs([]int64{1, 2}), vector.FromStrings([]string{"x", "y"})}}
	for name, messages := range map[string][][]byte{
		"two rows": dataOf(t, put, two, many), "two batches": dataOf(t, put, two, row, row),
	} {
		if a := s.raw("DoPut", frame(messages...)); a.code != grpc.Unimplemented {
			t.Errorf("%s: %+v", name, a)
		}
	}
	closing := actionOf("ClosePreparedStatement", pack("ActionClosePreparedStatementRequest", cmd))
	if a := s.call("DoAction", closing); a.code != grpc.OK {
		t.Errorf("%+v", a)
	}
}

func TestIngest(t *testing.T) {
	s := serve(t)
	var cmd message
	cmd.text(2, "taken")
	put := descriptorOf("CommandStatementIngest", cmd)
	one := []arrow.Column{{Field: arrow.Field{Name: "at", Type: arrow.Instant}}, {Field: arrow.Field{Name: "s", Type: arrow.Text,
		Dictionary: &arrow.Encoding{Index: arrow.Int32}}}}
	row := &vector.Batch{N: 2, Cols: []*vector.Vector{vector.FromLongs([]int64{1, 2}), vector.FromStrings([]string{"x", "y"})}}
	messages := dataOf(t, put, one, row, row)
	a := s.raw("DoPut", frame(messages...))
	want := "[/service/v2/ingest/taken?timeColumn=at&timeFormat=millis 2 /service/v2/ingest/taken?timeColumn=at&timeFormat=millis 2]"
	if a.code != grpc.OK || fmt.Sprint(s.pushed) != want {
		t.Errorf("%+v %v", a, s.pushed)
	}
	broken := bytes.Clone(messages[len(messages)-1])
	for name, body := range map[string][]byte{
		"cut":        frame(messages[0], broken[:len(broken)-40]),
		"no schema":  frame(messages[1]),
		"no message": nil,
		"text":       frame([]byte("rows")),
	} {
		if a := s.raw("DoPut", body); a.code != grpc.InvalidArgument && a.code != grpc.NotFound {
			t.Errorf("%s: %+v", name, a)
		}
	}
	var unknown message
	unknown.text(2, "taken")
	var option message
	option.text(1, "mode")
	unknown.bytes(1000, option)
	if a := s.raw("DoPut", frame(dataOf(t, descriptorOf("CommandStatementIngest", unknown), one, row)...)); a.code != grpc.InvalidArgument {
		t.Errorf("an unknown option: %+v", a)
	}
}

func TestCallsThatAreWrong(t *testing.T) {
	s := serve(t)
	whole := frame(queryOf("SELECT 1"))
	for n := range whole {
		if a := s.raw("GetFlightInfo", whole[:n]); a.code != grpc.InvalidArgument {
			t.Errorf("cut at %d: %+v", n, a)
		}
	}
	huge := []byte{0, 0x7f, 0xff, 0xff, 0xff}
	packed := append([]byte{1}, whole[1:]...)
	path := message{}
	path.number(1, descriptorPath)
	for name, tc := range map[string]struct {
		method string
		body   []byte
		header []string
		code   grpc.Code
	}{
		"a frame of 2^31":        {"GetFlightInfo", huge, nil, grpc.ResourceExhausted},
		"a message that is big":  {"DoGet", frame(make([]byte, 1<<16+1)), nil, grpc.ResourceExhausted},
		"a packed message":       {"DoGet", packed, nil, grpc.Unimplemented},
		"another first byte":     {"DoGet", append([]byte{9}, whole[1:]...), nil, grpc.Internal},
		"a compression":          {"DoGet", whole, []string{"Grpc-Encoding", "gzip"}, grpc.Unimplemented},
		"an unknown method":      {"DoNothing", whole, nil, grpc.Unimplemented},
		"an exchange":            {"DoExchange", whole, nil, grpc.Unimplemented},
		"no message":             {"DoAction", nil, nil, grpc.InvalidArgument},
		"an unknown action":      {"DoAction", frame(actionOf("Explode", nil)), nil, grpc.Unimplemented},
		"a transaction":          {"DoAction", frame(actionOf("BeginTransaction", nil)), nil, grpc.Unimplemented},
		"an unknown command":     {"GetFlightInfo", frame(descriptorOf("CommandSubstrait", nil)), nil, grpc.Unimplemented},
		"an empty command":       {"GetFlightInfo", frame(nil), nil, grpc.NotFound},
		"a path":                 {"GetFlightInfo", frame(path), nil, grpc.NotFound},
		"an empty statement":     {"GetFlightInfo", frame(queryOf("")), nil, grpc.InvalidArgument},
		"an update":              {"DoPut", frame(dataOf(t, descriptorOf("CommandStatementUpdate", nil), nil)...), nil, grpc.Unimplemented},
		"a context that is none": {"GetFlightInfo", whole, []string{contextHeader, "[1"}, grpc.InvalidArgument},
		"a token that is none":   {"GetFlightInfo", whole, []string{"Authorization", "Bearer " + tokenPrefix + "AAAA"}, grpc.Unauthenticated},
	} {
		if a := s.raw(tc.method, tc.body, tc.header...); a.status != http.StatusOK || a.code != tc.code {
			t.Errorf("%s: %+v, want %d", name, a, tc.code)
		}
	}
	for _, media := range []string{"", "application/json", "application/grpc-web", "text/plain"} {
		if a := s.raw("GetFlightInfo", whole, "Content-Type", media); a.status != http.StatusUnsupportedMediaType {
			t.Errorf("Content-Type [%s]: %+v", media, a)
		}
	}
	for _, timeout := range []string{"5", "S", "xS", "-1S", "123456789S"} {
		if a := s.raw("GetFlightInfo", whole, "Grpc-Timeout", timeout); a.status != http.StatusBadRequest {
			t.Errorf("timeout [%s]: %+v", timeout, a)
		}
	}
	ticket := ticketOf(t, s.call("GetFlightInfo", queryOf("SELECT 1")))
	if a := s.call("DoGet", ticket, "Grpc-Timeout", "1n"); a.code != grpc.DeadlineExceeded {
		t.Errorf("a deadline that has passed: %+v", a)
	}
}

func TestTokensOfAHandshake(t *testing.T) {
	s := serve(t)
	a := s.raw("Handshake", nil, "Authorization", "Basic YW5uOng=")
	bearer := a.header.Get("Authorization")
	if a.code != grpc.OK || !strings.HasPrefix(bearer, "Bearer "+tokenPrefix) || strings.Contains(bearer, "YW5u") {
		t.Fatalf("%+v", a)
	}
	ticket := ticketOf(t, s.call("GetFlightInfo", queryOf("q"), "Authorization", bearer))
	if a := s.call("DoGet", ticket, "Authorization", bearer); a.code != grpc.OK || s.asked.User != "ann" {
		t.Errorf("%+v", a)
	}
	s.clock.Advance(tokenLife)
	if a := s.call("GetFlightInfo", queryOf("q"), "Authorization", bearer); a.code != grpc.Unauthenticated {
		t.Errorf("an old token: %+v", a)
	}
}

func FuzzCalls(f *testing.F) {
	methods := []string{
		"Handshake", "GetFlightInfo", "GetSchema", "PollFlightInfo", "DoGet", "DoAction", "DoPut", "ListActions", "ListFlights",
	}
	f.Add(4, frame(queryOf("SELECT 1")))
	f.Add(1, frame(descriptorOf("CommandGetTables", nil)))
	f.Add(5, frame(actionOf("CancelFlightInfo", []byte{10, 0})))
	f.Add(6, frame([]byte{10, 0}))
	s := serve(f)
	s.batches = 1
	f.Fuzz(func(t *testing.T, n int, body []byte) {
		a := s.raw(methods[(n%len(methods)+len(methods))%len(methods)], body)
		broken := a.code == grpc.Internal && !strings.Contains(a.message, "frame of a message")
		if a.status != http.StatusOK || a.code < 0 || broken || s.open != 0 {
			t.Fatalf("%+v", a)
		}
	})
}
