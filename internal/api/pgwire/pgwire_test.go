package pgwire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tables is an engine with a catalog and no rows: statements of these tests read none.
type tables struct{}

func (tables) Start(context.Context, *query.Query, *query.Request) (query.Rows, error) {
	return nil, fault.InvalidInput("There are no rows here")
}

func (tables) Describe(context.Context, *query.Request) (*query.Description, error) {
	return &query.Description{Columns: []result.Column{{Name: "page", Type: expr.Of(expr.Varchar)}}}, nil
}

func (tables) PinState(context.Context) (query.Pin, error) { return 1, nil }

func (tables) Tables(context.Context, query.Pin) ([]query.Table, error) {
	return []query.Table{{Name: "wiki", Columns: []result.Column{{Name: "page", Type: expr.Of(expr.Varchar)}}}}, nil
}

func (tables) Shown(context.Context, query.Pin, string, *auth.Access) ([]result.Column, error) {
	return nil, nil
}

// open starts a server and returns its address.
func open(t testing.TB, change func(o *Options)) (*Server, string) {
	t.Helper()
	return openOn(t, tables{}, change)
}

// openOn is open with an engine.
func openOn(t testing.TB, e Engine, change func(o *Options)) (*Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{MaxConnections: 20, MaxMessageBytes: 16 << 20, Clock: clock.System(), Version: "test"}
	if change != nil {
		change(&o)
	}
	s := New(e, query.NewRunning(o.Clock, query.RunningOptions{}), o, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, false) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return s, l.Addr().String()
}

// client is one connection of a test.
type client struct {
	t    testing.TB
	conn net.Conn
	f    *pgproto3.Frontend
	key  *pgproto3.BackendKeyData
}

func dial(t testing.TB, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(clock.Deadline(30 * time.Second)) // a test that hangs fails
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func login(t testing.TB, address string) *client {
	t.Helper()
	c := &client{t: t, conn: dial(t, address)}
	c.f = pgproto3.NewFrontend(c.conn, c.conn)
	c.f.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "ann",
		"database": "henge"}})
	for _, m := range c.exchange() {
		if k, ok := m.(*pgproto3.BackendKeyData); ok {
			c.key = &pgproto3.BackendKeyData{ProcessID: k.ProcessID, SecretKey: append([]byte{}, k.SecretKey...)}
		}
	}
	if c.key == nil {
		t.Fatal("no key came")
	}
	return c
}

// exchange sends what was put in and returns the answer up to ReadyForQuery or the end.
func (c *client) exchange() []pgproto3.BackendMessage {
	c.t.Helper()
	if err := c.f.Flush(); err != nil {
		c.t.Fatal(err)
	}
	return c.answer()
}

func (c *client) answer() (out []pgproto3.BackendMessage) {
	c.t.Helper()
	for {
		m, err := c.f.Receive()
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return out
			}
			c.t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.ReadyForQuery:
			return append(out, &pgproto3.ReadyForQuery{TxStatus: m.TxStatus})
		case *pgproto3.ErrorResponse:
			copied := *m
			out = append(out, &copied)
		case *pgproto3.DataRow:
			row := &pgproto3.DataRow{}
			for _, v := range m.Values {
				if v == nil {
					row.Values = append(row.Values, nil)
					continue
				}
				row.Values = append(row.Values, append([]byte{}, v...))
			}
			out = append(out, row)
		case *pgproto3.CommandComplete:
			out = append(out, &pgproto3.CommandComplete{CommandTag: append([]byte{}, m.CommandTag...)})
		default:
			out = append(out, m)
		}
	}
}

// shown writes an answer in short: rows, tags, errors, the state.
func shown(list []pgproto3.BackendMessage) string {
	var out []string
	for _, m := range list {
		switch m := m.(type) {
		case *pgproto3.DataRow:
			var fields []string
			for _, v := range m.Values {
				fields = append(fields, string(v))
			}
			out = append(out, strings.Join(fields, ","))
		case *pgproto3.CommandComplete:
			out = append(out, string(m.CommandTag))
		case *pgproto3.ErrorResponse:
			out = append(out, m.Severity+" "+m.Code)
		case *pgproto3.PortalSuspended:
			out = append(out, "suspended")
		case *pgproto3.EmptyQueryResponse:
			out = append(out, "empty")
		case *pgproto3.ReadyForQuery:
			out = append(out, string(m.TxStatus))
		}
	}
	return strings.Join(out, "|")
}

func (c *client) query(sql string) string {
	c.t.Helper()
	c.f.Send(&pgproto3.Query{String: sql})
	return shown(c.exchange())
}

func TestSimpleQueries(t *testing.T) {
	_, address := open(t, nil)
	c := login(t, address)
	for _, step := range []struct{ sql, want string }{
		{"", "empty|I"}, {";;", "empty|I"}, {"select 1; select 'a', null", "1|SELECT 1|a,|SELECT 1|I"},
		{"select 1; select nope; select 2", "1|SELECT 1|ERROR 42703|I"}, {"foo", "ERROR 42601|I"}, {"select $1", "ERROR 42P02|I"},
		{"begin", "BEGIN|T"}, {"savepoint a", "SAVEPOINT|T"}, {"select nope", "ERROR 42703|E"}, {"select 1", "ERROR 25P02|E"},
		{"rollback to a", "ROLLBACK|T"}, {"release a", "RELEASE|T"}, {"release a", "ERROR 3B001|E"}, {"commit", "ROLLBACK|I"}, {"rollback",
			"ROLLBACK|I"},
		{"set application_name = 'x'; show application_name", "SET|x|SHOW|I"},
		{"begin; set local timezone = 'Europe/Berlin'; show timezone; commit; show timezone", "BEGIN|SET|Europe/Berlin|SHOW|COMMIT|UTC|SHOW|I"},
		{"begin; set timezone = 'Europe/Berlin'; rollback; show timezone", "BEGIN|SET|ROLLBACK|UTC|SHOW|I"},
		{"set henge.useCache = false; show henge.useCache; reset henge.useCache", "SET|false|SHOW|RESET|I"},
		{"set nope = 1", "ERROR 42704|I"}, {"show nope", "ERROR 42704|I"}, {"set server_version = '9'", "ERROR 55P02|I"},
		{"set client_encoding to latin1", "ERROR 22023|I"}, {"set timezone = 'Mars'", "ERROR 22023|I"}, {"reset all", "RESET|I"},
		{"set session characteristics as transaction isolation level read committed", "SET|I"}, {"listen a; unlisten *; notify a",
			"LISTEN|UNLISTEN|NOTIFY|I"},
		{"declare c cursor for select 1", "ERROR 25P01|I"},
		{"declare c scroll cursor with hold for select g from generate_series(1, 5) g", "DECLARE CURSOR|I"},
		{"fetch c; fetch 2 from c; fetch backward 1 from c; fetch absolute 4 from c; move 1 in c; fetch all c",
			"1|FETCH 1|2|3|FETCH 2|2|FETCH 1|4|FETCH 1|MOVE 1|FETCH 0|I"},
		{"fetch last c; fetch first c; fetch relative 2 c; fetch prior c", "5|FETCH 1|1|FETCH 1|3|FETCH 1|2|FETCH 1|I"},
		{"declare c cursor with hold for select 1", "ERROR 42P03|I"}, {"close c", "CLOSE CURSOR|I"}, {"fetch c", "ERROR 34000|I"}, {"close c",
			"ERROR 34000|I"},
		{"begin; declare d cursor for select 1; commit; fetch d", "BEGIN|DECLARE CURSOR|COMMIT|ERROR 34000|I"},
		{"prepare p(int) as select $1 + 1; execute p(2); deallocate p; execute p(1)", "PREPARE|3|SELECT 1|DEALLOCATE|ERROR 26000|I"},
		{"prepare q as select 1; execute q(2)", "PREPARE|ERROR 42601|I"}, {"discard all", "DISCARD ALL|I"}, {"deallocate nope", "ERROR 26000|I"},
		{"create table x()", "ERROR 0A000|I"}, {"insert into wiki values (1)", "ERROR 0A000|I"}, {"copy wiki from stdin", "ERROR 0A000|I"},
		{"copy (select 1) to '/tmp/x'", "ERROR 42501|I"}, {"copy (select 1) to stdout (format nope)", "ERROR 22023|I"},
		{"select current_user, current_database(), pg_typeof(1)", "ann,henge,integer|SELECT 1|I"},
		{"select relname from pg_class where relnamespace = 2200", "wiki|SELECT 1|I"}, {"select * from wiki", "ERROR 22023|I"},
	} {
		if got := c.query(step.sql); got != step.want {
			t.Errorf("%s\n got %s\nwant %s", step.sql, got, step.want)
		}
	}
}

func TestCopyFormats(t *testing.T) {
	_, address := open(t, nil)
	c := login(t, address)
	for sql, want := range map[string]string{
		`copy (select E'a\tb\\', null, 1) to stdout`:                                "a\\tb\\\\\t\\N\t1\n",
		`copy (select 'a,b' x, null y, 'c"d' z, '') to stdout csv header`:           "x,y,z,?column?\n\"a,b\",,\"c\"\"d\",\"\"\n",
		`copy (select 'a;b', 1) to stdout (format csv, delimiter ';', null 'NULL')`: "\"a;b\";1\n",
		`copy (select 1::int2) to stdout binary`: "PGCOPY\n\xff\r\n" + strings.Repeat("\x00", 10) +
			"\x01\x00\x00\x00\x02\x00\x01\xff\xff",
	} {
		c.f.Send(&pgproto3.Query{String: sql})
		if err := c.f.Flush(); err != nil {
			t.Fatal(err)
		}
		got := ""
		for {
			m, err := c.f.Receive()
			if err != nil {
				t.Fatal(err)
			}
			switch m := m.(type) {
			case *pgproto3.CopyData:
				got += string(m.Data)
			case *pgproto3.ErrorResponse:
				t.Errorf("%s: %s", sql, m.Message)
			}
			if _, ok := m.(*pgproto3.ReadyForQuery); ok {
				break
			}
		}
		if got != want {
			t.Errorf("%s\n got %q\nwant %q", sql, got, want)
		}
	}
}

func TestExtendedQueries(t *testing.T) {
	_, address := open(t, nil)
	c := login(t, address)
	send := func(list ...pgproto3.FrontendMessage) string {
		t.Helper()
		for _, m := range append(list, &pgproto3.Sync{}) {
			c.f.Send(m)
		}
		return shown(c.exchange())
	}
	parse := func(name, sql string, oids ...uint32) *pgproto3.Parse {
		return &pgproto3.Parse{Name: name, Query: sql, ParameterOIDs: oids}
	}
	bind := func(statement string, values ...string) *pgproto3.Bind {
		b := &pgproto3.Bind{PreparedStatement: statement}
		for _, v := range values {
			b.Parameters = append(b.Parameters, []byte(v))
		}
		return b
	}
	run := &pgproto3.Execute{}
	for i, step := range []struct {
		got, want string
	}{
		{send(parse("", "select $1::int + 1"), bind("", "2"), run), "3|SELECT 1|I"},
		{send(parse("a", "select g from generate_series(1, 5) g"), bind("a"), &pgproto3.Execute{MaxRows: 2}, &pgproto3.Execute{MaxRows: 2},
			&pgproto3.Execute{MaxRows: 2}),
			"1|2|suspended|3|4|suspended|5|SELECT 1|I"},
		{send(parse("a", "select 1")), "ERROR 42P05|I"},
		{send(bind("a"), &pgproto3.Describe{ObjectType: 'S', Name: "a"}, &pgproto3.Close{ObjectType: 'P'}, run), "ERROR 34000|I"},
		{send(bind("nope"), run, run), "ERROR 26000|I"},
		{send(bind("a", "1")), "ERROR 08P01|I"},
		{send(&pgproto3.Bind{PreparedStatement: "a", ParameterFormatCodes: []int16{1, 0}}), "ERROR 08P01|I"},
		{send(&pgproto3.Bind{PreparedStatement: "a", ResultFormatCodes: []int16{7}}), "ERROR 22023|I"},
		{send(&pgproto3.Bind{PreparedStatement: "a", ResultFormatCodes: []int16{0, 1, 1}}), "ERROR 08P01|I"},
		{send(parse("b", "select $1::int4"), bind("b", "x")), "ERROR 22P02|I"},
		{send(&pgproto3.Bind{PreparedStatement: "b", ParameterFormatCodes: []int16{1}, Parameters: [][]byte{{1}}}), "ERROR 22P03|I"},
		{send(&pgproto3.Bind{PreparedStatement: "b", ParameterFormatCodes: []int16{1}, Parameters: [][]byte{{0, 0, 0, 9}},
			ResultFormatCodes: []int16{1}}, run), "\x00\x00\x00\x09|SELECT 1|I"},
		{send(parse("", "")), "I"},
		{send(bind(""), run), "empty|I"},
		{send(parse("", "select 1; select 2")), "ERROR 42601|I"},
		{send(parse("", "select 'x'"), bind(""), run, parse("", "selec"), run), "x|SELECT 1|ERROR 42601|I"},
		{send(&pgproto3.Describe{ObjectType: 'S', Name: "nope"}), "ERROR 26000|I"},
		{send(&pgproto3.Describe{ObjectType: 'P', Name: "nope"}), "ERROR 34000|I"},
		{send(&pgproto3.Execute{Portal: "nope"}), "ERROR 34000|I"},
		{send(&pgproto3.Close{ObjectType: 'S', Name: "a"}, bind("a")), "ERROR 26000|I"},
		{send(parse("", "begin"), bind(""), run), "BEGIN|T"},
		{send(parse("", "select nope")), "ERROR 42703|E"},
		{send(parse("", "select 1")), "ERROR 25P02|E"},
		{send(parse("", "rollback"), bind(""), run), "ROLLBACK|I"},
		{send(parse("", "select relname from pg_class where oid = $1"), bind("", "1259"), run), "pg_class|SELECT 1|I"},
	} {
		if step.got != step.want {
			t.Errorf("%d: got %s, want %s", i, step.got, step.want)
		}
	}
	c.f.Send(&pgproto3.Query{String: "select 1"})
	c.f.Send(&pgproto3.Query{String: "select 2"}) // before the first is answered
	if got := shown(c.exchange()) + " " + shown(c.answer()); got != "1|SELECT 1|I 2|SELECT 1|I" {
		t.Errorf("two requests at once: %s", got)
	}
}

func TestPreparedStatementsAreBounded(t *testing.T) {
	t.Parallel()
	_, address := open(t, nil)
	c := login(t, address)
	const sent = 100_000
	refused := 0
	for i := range sent {
		c.f.Send(&pgproto3.Parse{Name: fmt.Sprint(i), Query: "select 1"})
		c.f.Send(&pgproto3.Sync{})
	}
	go func() { _ = c.f.Flush() }() // the answers are read meanwhile
	for range sent {
		if strings.Contains(shown(c.answer()), "ERROR 54000") {
			refused++
		}
	}
	if refused != sent-maxStatements {
		t.Errorf("%d of the statements were refused, want %d", refused, sent-maxStatements)
	}
	if got := c.query("deallocate all; select 1"); got != "DEALLOCATE ALL|1|SELECT 1|I" {
		t.Errorf("afterwards: %s", got)
	}
}

// TestTextsOfPreparedStatementsAreBounded prepares statements of 10 MB until they are too many.
func TestTextsOfPreparedStatementsAreBounded(t *testing.T) {
	t.Parallel()
	_, address := open(t, nil)
	c := login(t, address)
	text := "select length('" + strings.Repeat("x", 10<<20) + "')"
	for i := range maxPrepared/(10<<20) + 1 {
		c.f.Send(&pgproto3.Parse{Name: fmt.Sprint(i), Query: text})
		c.f.Send(&pgproto3.Sync{})
		want := "I"
		if i == maxPrepared/(10<<20) {
			want = "ERROR 54000|I"
		}
		if got := shown(c.exchange()); got != want {
			t.Errorf("statement %d: %s, want %s", i, got, want)
		}
	}
}

// TestTypesThatAreUnknown binds parameters of types that nobody has, and of some without a
// counterpart.
func TestTypesThatAreUnknown(t *testing.T) {
	_, address := open(t, nil)
	c := login(t, address)
	for _, step := range []struct {
		sql    string
		oid    uint32
		format int16
		value  []byte
		want   string
	}{
		{"select $1", 4_000_000_000, 0, []byte("a"), "a|SELECT 1|I"}, {"select $1", 600, 0, []byte("(1,2)"), "(1,2)|SELECT 1|I"},
		{"select $1", 600, 1, make([]byte, 16), "ERROR 42883|I"}, {"select $1::int4", 23, 1, make([]byte, 3), "ERROR 22P03|I"},
		{"select $1", 4_000_000_000, 1, []byte("a"), "ERROR 42883|I"}, {"select $1", 25, 1, []byte("a\x00"), "ERROR 22021|I"},
		{"select $1", 25, 0, []byte("\xff"), "ERROR 22021|I"}, {"select '\xff', $1", 25, 0, []byte("a"), "ERROR 22021|I"},
		{"select $1::nothing", 0, 0, []byte("(1,2)"), "ERROR 42704|I"},
		{"select $1::int4[]", 1007, 1, []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1}, "ERROR 22P03|I"},
	} {
		c.f.Send(&pgproto3.Parse{Query: step.sql, ParameterOIDs: []uint32{step.oid}})
		c.f.Send(&pgproto3.Bind{ParameterFormatCodes: []int16{step.format}, Parameters: [][]byte{step.value}})
		c.f.Send(&pgproto3.Execute{})
		c.f.Send(&pgproto3.Sync{})
		if got := shown(c.exchange()); got != step.want {
			t.Errorf("%s with type %d: got %q, want %s", step.sql, step.oid, got, step.want)
		}
	}
}

func TestLongStatements(t *testing.T) {
	t.Parallel()
	_, address := open(t, nil)
	c := login(t, address)
	if got := c.query("select length('" + strings.Repeat("x", 10<<20) + "')"); got != "10485760|SELECT 1|I" {
		t.Errorf("10 MB: %s", got)
	}
	if got := c.query("select 1" + strings.Repeat(" + 1", 30_000)); got != "ERROR 54001|I" {
		t.Errorf("a long chain: %s", got)
	}
	if got := c.query("select " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000)); got != "ERROR 54001|I" {
		t.Errorf("a deep one: %s", got)
	}
}

func TestCancel(t *testing.T) {
	s, address := open(t, nil)
	c := login(t, address)
	cancel := func(pid uint32, key []byte) {
		conn := dial(t, address)
		text, err := (&pgproto3.CancelRequest{ProcessID: pid, SecretKey: key}).Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(text); err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(conn) // its end: the request is done
	}
	cancel(c.key.ProcessID, c.key.SecretKey) // nothing runs
	c.f.Send(&pgproto3.Query{String: "select pg_sleep(20)"})
	if err := c.f.Flush(); err != nil {
		t.Fatal(err)
	}
	for s.activities(session1(s))[0].State != "active" {
		continue
	}
	cancel(c.key.ProcessID, []byte{1, 2, 3, 4})
	cancel(c.key.ProcessID+1, c.key.SecretKey)
	if s.activities(session1(s))[0].State != "active" {
		t.Error("a wrong key has cancelled the statement")
	}
	cancel(c.key.ProcessID, c.key.SecretKey)
	if got := shown(c.answer()); got != "ERROR 57014|I" {
		t.Errorf("got %s", got)
	}
	if got := c.query("select 1"); got != "1|SELECT 1|I" {
		t.Errorf("afterwards: %s", got)
	}
}

func session1(s *Server) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.mu.sessions {
		return c
	}
	return nil
}

// TestAClientThatGoesAway ends its statement: the server would wait 20 seconds else.
func TestAClientThatGoesAway(t *testing.T) {
	s, address := open(t, nil)
	c := login(t, address)
	c.f.Send(&pgproto3.Query{String: "select pg_sleep(20)"})
	if err := c.f.Flush(); err != nil {
		t.Fatal(err)
	}
	for s.activities(session1(s))[0].State != "active" {
		continue
	}
	_ = c.conn.Close()
	for s.Count() > 0 {
		continue
	}
}

func TestTooManyConnections(t *testing.T) {
	_, address := open(t, func(o *Options) { o.MaxConnections = 1 })
	login(t, address)
	conn := dial(t, address)
	f := pgproto3.NewFrontend(conn, conn)
	f.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "bob"}})
	second := &client{t: t, conn: conn, f: f}
	if got := shown(second.exchange()); got != "FATAL 53300" {
		t.Errorf("got %s", got)
	}
}

func be(n ...uint32) (out []byte) {
	for _, v := range n {
		out = binary.BigEndian.AppendUint32(out, v)
	}
	return out
}

func TestStartupsThatAreRefused(t *testing.T) {
	_, address := open(t, nil)
	user := "user\x00ann\x00\x00"
	for name, test := range map[string]struct {
		bytes []byte
		want  string
	}{
		"version 2":            {append(be(uint32(8+len(user)), 2<<16), user...), "FATAL 0A000"},
		"version 4":            {append(be(uint32(8+len(user)), 4<<16), user...), "FATAL 0A000"},
		"no user":              {append(be(9, 3<<16), 0), "FATAL 28000"},
		"no end":               {append(be(8+8, 3<<16), "user\x00ann"...), "FATAL 08P01"},
		"short":                {be(4), "FATAL 08P01"},
		"long":                 {be(1 << 20), "FATAL 08P01"},
		"length 2^31":          {be(1<<31, 3<<16), "FATAL 08P01"},
		"negative":             {be(0xffffffff), "FATAL 08P01"},
		"TLS to a plain port":  {[]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), "FATAL 08P01"},
		"HTTP":                 {[]byte("GET / HTTP/1.1\r\n\r\n"), "FATAL 08P01"},
		"requests without end": {be(8, codeTLS, 8, codeGSS, 8, codeTLS, 8, codeGSS), "NNNN" + "FATAL 08P01"},
		"replication":          {append(be(33, 3<<16), "user\x00a\x00replication\x00true\x00\x00"...), "FATAL 0A000"},
	} {
		conn := dial(t, address)
		if _, err := conn.Write(test.bytes); err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(conn) // a reset is an end, too
		got := string(answer)
		if at := strings.IndexByte(got, 'E'); at >= 0 {
			var e pgproto3.ErrorResponse
			if err := e.Decode(answer[at+5:]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got = got[:at] + e.Severity + " " + e.Code
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestMinorVersionsAreNegotiated(t *testing.T) {
	_, address := open(t, nil)
	conn := dial(t, address)
	body := "user\x00ann\x00_pq_.x\x00y\x00\x00"
	if _, err := conn.Write(append(be(uint32(8+len(body)), 3<<16|2), body...)); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 13)
	if _, err := io.ReadFull(conn, head); err != nil || head[0] != 'v' {
		t.Errorf("got %q, %v", head, err)
	}
}

func TestMessagesThatAreWrong(t *testing.T) {
	_, address := open(t, nil)
	for name, test := range map[string]struct {
		bytes []byte
		want  string
	}{
		"unknown type":   {append([]byte{'?'}, be(4)...), "FATAL 08P01"},
		"length 2^31":    {append([]byte{'Q'}, be(1<<31)...), "FATAL 08P01"},
		"length 3":       {append([]byte{'Q'}, be(3)...), "FATAL 08P01"},
		"longer than ok": {append([]byte{'Q'}, be(1<<30)...), "FATAL 54000"},
		"bind cut":       {append(append([]byte{'B'}, be(6)...), 0, 0), "FATAL 08P01"},
		"bind counts":    {append(append([]byte{'B'}, be(8)...), 0, 0, 0xff, 0xff), "FATAL 08P01"},
		"no terminator":  {append(append([]byte{'P'}, be(6)...), 'a', 'b'), "FATAL 08P01"},
		"password":       {append(append([]byte{'p'}, be(6)...), 'a', 0), "FATAL 08P01"},
		"function call":  {append(append([]byte{'F'}, be(14)...), 0, 0, 0, 1, 0, 0, 0, 0, 0, 0), "ERROR 0A000|I"},
	} {
		c := login(t, address)
		if _, err := c.conn.Write(test.bytes); err != nil {
			t.Fatal(err)
		}
		if got := shown(c.answer()); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestMessagesThatAreCut ends connections at every byte of an exchange: none may stay, nor end the
// server.
func TestMessagesThatAreCut(t *testing.T) {
	s, address := open(t, func(o *Options) { o.MaxConnections = 1000 })
	text, err := (&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters: map[string]string{"user": "ann"}}).Encode(nil)
	for _, m := range []pgproto3.FrontendMessage{
		&pgproto3.Query{String: "select 1"}, &pgproto3.Parse{Query: "select $1::int"}, &pgproto3.Bind{Parameters: [][]byte{[]byte("1")}},
		&pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, &pgproto3.Close{ObjectType: 'S'}, &pgproto3.Sync{},
	} {
		if err == nil {
			text, err = m.Encode(text)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for n := range text {
		conn := dial(t, address)
		if _, err := conn.Write(text[:n]); err != nil {
			t.Fatal(err)
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite() // the server sees the end
		}
		_, _ = io.ReadAll(conn) // whatever it says, it ends
		_ = conn.Close()
	}
	for s.Count() > 0 {
		continue
	}
}

// FuzzMessages sends any bytes behind a good startup.
func FuzzMessages(f *testing.F) {
	_, address := open(f, nil)
	for _, m := range []pgproto3.FrontendMessage{
		&pgproto3.Query{String: "select 1"}, &pgproto3.Parse{Query: "select $1"}, &pgproto3.Bind{Parameters: [][]byte{[]byte("1")}},
		&pgproto3.Sync{},
		&pgproto3.Describe{ObjectType: 'S'}, &pgproto3.Execute{}, &pgproto3.CopyFail{Message: "x"},
	} {
		text, err := m.Encode(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := login(t, address)
		_, _ = c.conn.Write(text) // it may be refused halfway
		if tcp, ok := c.conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		_, _ = io.ReadAll(c.conn)
		_ = c.conn.Close()
	})
}
