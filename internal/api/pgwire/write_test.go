package pgwire

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/result"
)

// notebook is a Writer that notes what is written.
type notebook struct {
	mu     sync.Mutex
	text   string
	calls  int
	schema WriteSchema
	most   int64
	err    error
	began  chan struct{} // if not nil, Write says that it has begun, and waits for the end of its context
}

func (n *notebook) Schema(context.Context, string) (WriteSchema, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.schema, nil
}

func (n *notebook) MaxBytes() int64 { return n.most }

func (n *notebook) Write(ctx context.Context, table string, lines []byte) error {
	if n.began != nil {
		n.began <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil {
		return n.err
	}
	n.calls++
	n.text += table + ":" + string(lines)
	return nil
}

// taken returns what was written since the last call.
func (n *notebook) taken() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := n.text
	n.text = ""
	return text
}

// wide is an engine whose datasources have columns of all types.
type wide struct{ tables }

func (wide) Tables(context.Context, query.Pin) ([]query.Table, error) {
	of := func(b expr.Base) expr.Type { t := expr.Of(b); t.Nullable = true; return t }
	return []query.Table{
		{Name: "wiki", Columns: []result.Column{{Name: "__time", Type: expr.Of(expr.Timestamp)}, {Name: "cityName", Type: of(expr.Varchar)},
			{Name: "added", Type: of(expr.BigInt)}, {Name: "delta", Type: of(expr.Double)}, {Name: "tags", Type: expr.Type{Base: expr.Varchar,
				Multi: true, Nullable: true}}}},
		{Name: "other", Columns: []result.Column{{Name: "__time", Type: expr.Of(expr.Timestamp)}, {Name: "x", Type: of(expr.BigInt)}}},
	}, nil
}

// writable starts a server that takes rows.
func writable(t testing.TB, change func(n *notebook, o *Options)) (*Server, string, *notebook) {
	t.Helper()
	n := &notebook{schema: WriteSchema{Time: "__time", Format: "auto"}, most: 1 << 20}
	s, address := openOn(t, wide{}, func(o *Options) {
		o.Writer, o.Memory = n, budget.Root(64<<20)
		if change != nil {
			change(n, o)
		}
	})
	return s, address, n
}

// copyIn sends COPY and the data in two parts, and returns the answer.
func (c *client) copyIn(sql, data string) string {
	c.t.Helper()
	c.f.Send(&pgproto3.Query{String: sql})
	c.f.Send(&pgproto3.CopyData{Data: []byte(data[:len(data)/2])})
	c.f.Send(&pgproto3.CopyData{Data: []byte(data[len(data)/2:])})
	c.f.Send(&pgproto3.CopyDone{})
	list := c.exchange()
	for _, m := range list {
		if e, ok := m.(*pgproto3.ErrorResponse); ok {
			return shown(list) + " " + e.Message + " " + e.Where
		}
	}
	return shown(list)
}

const at = "2024-01-01T00:00:00.000Z"

func TestCopyFrom(t *testing.T) {
	_, address, n := writable(t, nil)
	c := login(t, address)
	binary := "PGCOPY\n\xff\r\n\x00" + string(be(0, 3)) + "ext"
	tuple := "\x00\x02" + string(be(8)) + string(be(0, 86_400_000_000>>32, 86_400_000_000&0xffffffff)[4:]) + string(be(8, 0, 7))
	for _, step := range []struct{ sql, data, want, lines string }{
		{"copy wiki (__time, cityName, added) from stdin", "2024-01-01 00:00:00Z\tBonn\t1\n2024-01-01 01:00:00+01\t\\N\t2\n", "COPY 2|I",
			`wiki:{"__time":"` + at + `","cityName":"Bonn","added":1}` + "\n" + `{"__time":"` + at + `","cityName":null,"added":2}` + "\n"},
		{"copy wiki from stdin", "2024-01-01Z\ta\\tb\\\\\\x41\\101\\q\t-1\t1.5\t{a,NULL,\"b c\"}", "COPY 1|I",
			`wiki:{"__time":"` + at + `","cityName":"a\tb\\AAq","added":-1,"delta":1.5,"tags":["a",null,"b c"]}` + "\n"},
		{"copy wiki (__time, cityName) from stdin", "2024-01-01Z\ta\\\nb\r\n\\.\nrubbish", "COPY 1|I",
			`wiki:{"__time":"` + at + `","cityName":"a\nb"}` + "\n"},
		{"copy wiki (__time, cityName) from stdin csv header", "x,y\n2024-01-01Z,\"a \"\"b\"\",\nc\"\n2024-01-01Z,\n2024-01-01Z,\"\"\n",
			"COPY 3|I",
			`wiki:{"__time":"` + at + `","cityName":"a \"b\",\nc"}` + "\n" + `{"__time":"` + at + `","cityName":null}` + "\n" +
				`{"__time":"` + at + `","cityName":""}` + "\n"},
		{"copy wiki (__time, cityName) from stdin (format csv, header match, delimiter ';', quote '''', escape '\\', null 'nil')",
			"__time;cityName\r\n2024-01-01Z;'a\\'b'\r\n2024-01-01Z;nil\r\n", "COPY 2|I",
			`wiki:{"__time":"` + at + `","cityName":"a'b"}` + "\n" + `{"__time":"` + at + `","cityName":null}` + "\n"},
		{"copy wiki (__time, added) from stdin (on_error ignore)", "2024-01-01Z\tx\n2024-01-01Z\t3\nnever\t4\n", "COPY 1|I",
			`wiki:{"__time":"` + at + `","added":3}` + "\n"},
		{"copy wiki (__time, added) from stdin binary", binary + tuple + "\xff\xff", "COPY 1|I", ""},
		{"copy wiki (__time, added) from stdin", "", "COPY 0|I", ""},

		{"copy wiki (__time, added) from stdin", "2024-01-01Z\t1\n2024-01-01Z\tx\n",
			`ERROR 22P02|I invalid input syntax for type bigint: "x" COPY wiki, line 2, column added: "x"`, ""},
		{"copy wiki (__time, added) from stdin", "2024-01-01Z\n",
			`ERROR 22P04|I missing data for column "added" COPY wiki, line 1: "2024-01-01Z"`, ""},
		{"copy wiki (__time, added) from stdin", "2024-01-01Z\t1\t2\n",
			"ERROR 22P04|I extra data after last expected column COPY wiki, line 1: \"2024-01-01Z\t1\t2\"", ""},
		{"copy wiki (__time, added) from stdin", "\\N\t1\n",
			`ERROR 23502|I null value in column "__time" of relation "wiki" violates not-null constraint COPY wiki, line 1`, ""},
		{"copy wiki (__time, delta) from stdin", "2024-01-01Z\tNaN\n", "ERROR 22003|I numbers of datasources are finite COPY wiki, line 1", ""},
		{"copy wiki (__time, cityName) from stdin", "2024-01-01Z\t\\xff\n",
			`ERROR 22021|I invalid byte sequence for encoding "UTF8" COPY wiki, line 1`, ""},
		{"copy wiki (__time, cityName) from stdin csv", "2024-01-01Z,a\n2024-01-01Z,\"a\n",
			"ERROR 22P04|I unterminated CSV quoted field COPY wiki, line 2: \"2024-01-01Z,\"a\"", ""},
		{"copy wiki (__time, cityName) from stdin (format csv, header match)", "__time,x\n",
			`ERROR 22P04|I column name mismatch in header line field 2: got "x", expected "cityName" COPY wiki, line 1`, ""},
		{"copy wiki (__time, added) from stdin binary", "rubbish, and more of it than a header",
			"ERROR 22P04|I COPY file signature not recognized COPY wiki, line 1", ""},
		{"copy wiki (__time, added) from stdin binary", binary + tuple + tuple[:9],
			"ERROR 22P04|I unexpected EOF in COPY data COPY wiki, line 2", ""},
		{"copy wiki (__time, added) from stdin binary", binary + "\x00\x07", "ERROR 22P04|I row field count is 7, expected 2 COPY wiki, line 1",
			""},
		{"copy wiki (__time, added) from stdin binary", binary + "\x00\x02\xff\xff\xff\xf0",
			"ERROR 22P04|I invalid field size COPY wiki, line 1, column __time", ""},
		{"copy wiki (__time, added) from stdin binary", binary + "\x00\x02" + string(be(3)) + "abc" + string(be(8, 0, 1)),
			"ERROR 22P03|I incorrect binary data format for type timestamp with time zone COPY wiki, line 1, column __time", ""},
		{"copy wiki (__time, added) from stdin (nope 1)", "", `ERROR 42601|I option "nope" not recognized `, ""},
		{"copy wiki (added) from stdin", "1\n", `ERROR 23502|I null value in column "__time" of relation "wiki" violates not-null constraint `,
			""},
		{"copy wiki (__time, nope) from stdin", "", `ERROR 42703|I column "nope" of relation "wiki" does not exist `, ""},
		{"copy wiki (__time, added, added) from stdin", "", `ERROR 42701|I column "added" specified more than once `, ""},
		{"copy nope from stdin", "1\n", `ERROR 42P01|I relation "nope" does not exist `, ""},
		{"copy pg_class from stdin", "1\n", `ERROR 42809|I cannot insert into "pg_class": rows are added to datasources only `, ""},
		{"copy wiki from '/etc/passwd'", "", "ERROR 42501|I COPY reads from STDIN only ", ""},
		{"copy wiki (__time, cityName) from stdin", "2024-01-01Z\t" + strings.Repeat("x", 1<<20) + "\n",
			"ERROR 54000|I a row of COPY is longer than [1048576] bytes ", ""},
	} {
		got := c.copyIn(step.sql, step.data)
		lines := n.taken()
		if got != step.want || step.lines != "" && lines != step.lines {
			t.Errorf("%s\n got %s\nwant %s\n got %s\nwant %s", step.sql, got, step.want, lines, step.lines)
		}
		if strings.HasPrefix(step.want, "ERROR") && lines != "" {
			t.Errorf("%s: rows were written: %s", step.sql, lines)
		}
		if got := c.query("select 1"); got != "1|SELECT 1|I" { // nothing is left of the data
			t.Fatalf("%s: afterwards %s", step.sql, got)
		}
	}
}

func TestInsert(t *testing.T) {
	_, address, n := writable(t, nil)
	c := login(t, address)
	row := func(added string) string { return `{"__time":"` + at + `","added":` + added + "}\n" }
	const into = "insert into wiki (__time, added) values ('2024-01-01Z', "
	for _, step := range []struct{ sql, want, lines string }{
		{into + "1)", "INSERT 0 1|I", "wiki:" + row("1")},
		{"insert into public.wiki (added, __time) values (1 + 1, '2024-01-01Z'::timestamptz), " +
			"(default, timestamptz '2024-01-01Z' + interval '0 s')",
			"INSERT 0 2|I", `wiki:{"added":2,"__time":"` + at + `"}` + "\n" + `{"added":null,"__time":"` + at + `"}` + "\n"},
		{"insert into wiki values ('2024-01-01Z', 'Bonn')", "INSERT 0 1|I", `wiki:{"__time":"` + at + `","cityName":"Bonn"}` + "\n"},
		{"insert into wiki (__time, tags, delta) values ('2024-01-01Z', array['a','b'], 2)", "INSERT 0 1|I",
			`wiki:{"__time":"` + at + `","tags":["a","b"],"delta":2}` + "\n"},
		{into + "1); " + into + "2)", "INSERT 0 1|INSERT 0 1|I", "wiki:" + row("1") + row("2")},
		{into + "1); select nope", "INSERT 0 1|ERROR 42703|I", ""},
		{"begin; " + into + "1); savepoint a; " + into + "2); rollback to a; " + into + "3); commit",
			"BEGIN|INSERT 0 1|SAVEPOINT|INSERT 0 1|ROLLBACK|INSERT 0 1|COMMIT|I", "wiki:" + row("1") + row("3")},
		{"begin; " + into + "1); rollback", "BEGIN|INSERT 0 1|ROLLBACK|I", ""},
		{"begin; " + into + "1); select nope", "BEGIN|INSERT 0 1|ERROR 42703|E", ""},
		{"commit", "ROLLBACK|I", ""},
		{"begin; " + into + "1); insert into other values ('2024-01-01Z', 1)", "BEGIN|INSERT 0 1|ERROR 0A000|E", ""},
		{"rollback; begin read only; " + into + "1)", "ROLLBACK|BEGIN|ERROR 25006|E", ""},
		{"rollback; show transaction_read_only; set default_transaction_read_only = on; " + into + "1)", "ROLLBACK|off|SHOW|SET|ERROR 25006|I",
			""},
		{"begin read write; " + into + "1); commit; set default_transaction_read_only = off", "BEGIN|INSERT 0 1|COMMIT|SET|I", "wiki:" +
			row("1")},
		{"prepare p as insert into wiki (__time, added) values ($1, $2); execute p('2024-01-01Z', 5)", "PREPARE|INSERT 0 1|I", "wiki:" +
			row("5")},
		{into + "'x')", "ERROR 22P02|I", ""}, {into + "1, 2)", "ERROR 42601|I", ""}, {"insert into wiki (__time, added) values (now())",
			"ERROR 42601|I", ""},
		{"insert into wiki values (now()), (now(), 'x')", "ERROR 42601|I", ""}, {into + "1) returning added", "ERROR 0A000|I", ""},
		{into + "1) on conflict do nothing", "ERROR 0A000|I", ""}, {"insert into wiki default values", "ERROR 0A000|I", ""},
		{"insert into wiki select 1", "ERROR 0A000|I", ""}, {into + "1) partitioned by day", "ERROR 0A000|I", ""},
		{"insert into wiki (added) values (1)", "ERROR 23502|I", ""}, {"insert into wiki (__time) values (null)", "ERROR 23502|I", ""},
		{"insert into wiki (__time) values ('infinity')", "ERROR 22008|I", ""}, {"insert into nope values (1)", "ERROR 42P01|I", ""},
		{"insert into sys.segments values (1)", "ERROR 42809|I", ""}, {"delete from wiki", "ERROR 0A000|I", ""},
		{"update wiki set added = 1", "ERROR 0A000|I", ""}, {"truncate wiki", "ERROR 0A000|I", ""}, {"create table t (a int)", "ERROR 0A000|I",
			""},
	} {
		if got := c.query(step.sql); got != step.want {
			t.Errorf("%s\n got %s\nwant %s", step.sql, got, step.want)
		}
		if lines := n.taken(); lines != step.lines {
			t.Errorf("%s\n got %s\nwant %s", step.sql, lines, step.lines)
		}
	}
}

// TestManyInserts sends what drivers make of executemany: all of a pipeline is written at its Sync.
func TestManyInserts(t *testing.T) {
	_, address, n := writable(t, nil)
	c := login(t, address)
	batch := func(values ...string) string {
		c.f.Send(&pgproto3.Parse{Query: "insert into wiki (__time, added) values ($1, $2)", ParameterOIDs: []uint32{0, 21}})
		c.f.Send(&pgproto3.Describe{ObjectType: 'S'})
		for _, v := range values {
			c.f.Send(&pgproto3.Bind{Parameters: [][]byte{[]byte("2024-01-01Z"), []byte(v)}})
			c.f.Send(&pgproto3.Execute{})
		}
		c.f.Send(&pgproto3.Sync{})
		return shown(c.exchange())
	}
	if got := batch("1", "2", "3"); got != "INSERT 0 1|INSERT 0 1|INSERT 0 1|I" || strings.Count(n.taken(), "\n") != 3 || n.calls != 1 {
		t.Errorf("%s in %d calls", got, n.calls)
	}
	if got := batch("1", "x", "3"); got != "INSERT 0 1|ERROR 22P02|I" || n.taken() != "" {
		t.Errorf("with a bad value: %s", got)
	}
	n.err = fault.Capacity("No room")
	if got := batch("1"); got != "INSERT 0 1|ERROR 53300|I" {
		t.Errorf("when the write fails at Sync: %s", got)
	}
	if got := c.query("begin; insert into wiki values (now())"); got != "BEGIN|INSERT 0 1|T" {
		t.Error(got)
	}
	if got := c.query("commit"); got != "ERROR 53300|I" {
		t.Errorf("when COMMIT fails: %s", got)
	}
	n.err = nil
	if got := batch("4"); got != "INSERT 0 1|I" || strings.Count(n.taken(), "\n") != 1 {
		t.Errorf("afterwards: %s", got)
	}
}

// TestCopyAsAnExtendedQuery is how pgjdbc and asyncpg begin a COPY.
func TestCopyAsAnExtendedQuery(t *testing.T) {
	_, address, n := writable(t, nil)
	c := login(t, address)
	begin := func(list ...pgproto3.FrontendMessage) string {
		c.f.Send(&pgproto3.Parse{Query: "copy wiki (__time, added) from stdin"})
		c.f.Send(&pgproto3.Bind{})
		c.f.Send(&pgproto3.Execute{})
		for _, m := range append(list, &pgproto3.Sync{}) {
			c.f.Send(m)
		}
		return shown(c.exchange())
	}
	good := &pgproto3.CopyData{Data: []byte("2024-01-01Z\t1\n")}
	for i, step := range []struct {
		got, want string
	}{
		{begin(good, &pgproto3.CopyDone{}), "COPY 1|I"},
		{begin(good, &pgproto3.CopyData{Data: []byte("x\t1\n")}, good, &pgproto3.CopyDone{}), "ERROR 22007|I"},
		{begin(good, &pgproto3.CopyFail{Message: "no"}), "ERROR 57014|I"},
		{begin(good, &pgproto3.Flush{}, &pgproto3.Sync{}, good, &pgproto3.CopyDone{}), "COPY 2|I"},
	} {
		if step.got != step.want {
			t.Errorf("%d: got %s, want %s", i, step.got, step.want)
		}
	}
	if got := strings.Count(n.taken(), "\n"); got != 3 {
		t.Errorf("%d rows were written", got)
	}
	if got := begin(&pgproto3.Query{String: "select 1"}); got != "FATAL 08P01" {
		t.Errorf("a query instead of data: %s", got)
	}
}

// TestWritesThatAreTooLarge refuses what a call can't take, in all that a transaction gathers.
func TestWritesThatAreTooLarge(t *testing.T) {
	_, address, n := writable(t, func(n *notebook, _ *Options) { n.most = 1000 })
	c := login(t, address)
	row := "2024-01-01Z\t" + strings.Repeat("x", 200) + "\n"
	if got := c.copyIn("copy wiki (__time, cityName) from stdin", strings.Repeat(row, 3)); got != "COPY 3|I" {
		t.Error(got)
	}
	if got := c.copyIn("begin; copy wiki (__time, cityName) from stdin", strings.Repeat(row, 3)); got != "BEGIN|COPY 3|T" {
		t.Error(got)
	}
	got := c.copyIn("copy wiki (__time, cityName) from stdin", strings.Repeat(row, 3))
	if !strings.HasPrefix(got, "ERROR 54000|E") {
		t.Error(got)
	}
	if got := c.query("commit"); got != "ROLLBACK|I" || strings.Count(n.taken(), "\n") != 3 {
		t.Error(got)
	}
}

// TestMemoryOfWrites counts what waits for COMMIT, and gives it back however the transaction ends.
func TestMemoryOfWrites(t *testing.T) {
	memory := budget.Root(1 << 20)
	s, address, _ := writable(t, func(n *notebook, o *Options) { n.most, o.Memory = 64<<20, memory })
	c := login(t, address)
	row := "2024-01-01Z\t" + strings.Repeat("x", 600<<10) + "\n"
	if got := c.copyIn("begin; copy wiki (__time, cityName) from stdin", row); got != "BEGIN|COPY 1|T" || memory.Used() == 0 {
		t.Errorf("%s with %d bytes", got, memory.Used())
	}
	if got := c.copyIn("copy wiki (__time, cityName) from stdin", row); !strings.HasPrefix(got, "ERROR 53200|E") {
		t.Error(got)
	}
	if got := c.query("rollback"); got != "ROLLBACK|I" || memory.Used() != 0 {
		t.Errorf("%s with %d bytes", got, memory.Used())
	}
	if got := c.copyIn("begin; copy wiki (__time, cityName) from stdin", row); got != "BEGIN|COPY 1|T" {
		t.Error(got)
	}
	_ = c.conn.Close()
	for s.Count() > 0 || memory.Used() > 0 {
		continue
	}
}

// TestCopiesAreCancelled ends one whose client says nothing, and one that is being written.
func TestCopiesAreCancelled(t *testing.T) {
	began := make(chan struct{})
	s, address, n := writable(t, nil)
	c := login(t, address)
	active := func() bool { return s.activities(session1(s))[0].State == "active" }
	c.f.Send(&pgproto3.Query{String: "copy wiki (__time, added) from stdin"})
	if err := c.f.Flush(); err != nil {
		t.Fatal(err)
	}
	for !active() {
		continue
	}
	if s.cancel(c.key.ProcessID, []byte{1, 2, 3, 4}) || !s.cancel(c.key.ProcessID, c.key.SecretKey) {
		t.Error("the key was not looked at")
	}
	if got := shown(c.answer()); got != "ERROR 57014|I" {
		t.Error(got)
	}
	n.began = began
	c.f.Send(&pgproto3.Query{String: "insert into wiki values (now())"})
	if err := c.f.Flush(); err != nil {
		t.Fatal(err)
	}
	<-began
	s.cancel(c.key.ProcessID, c.key.SecretKey)
	if got := shown(c.answer()); got != "ERROR 57014|I" {
		t.Error(got)
	}
	n.began = nil
	if got := c.query("set statement_timeout = 50"); got != "SET|I" {
		t.Error(got)
	}
	c.f.Send(&pgproto3.Query{String: "copy wiki (__time, added) from stdin"})
	if got := shown(c.exchange()); got != "ERROR 57014|I" {
		t.Error(got)
	}
}

// TestClientsThatGoAwayInACopy leave nothing behind.
func TestClientsThatGoAwayInACopy(t *testing.T) {
	s, address, n := writable(t, nil)
	for _, end := range [][]byte{nil, {'X', 0, 0, 0, 4}, {'d', 0, 0, 0, 100, 'a'}, {'d', 0xff, 0xff, 0xff, 0xff}} {
		c := login(t, address)
		c.f.Send(&pgproto3.Query{String: "copy wiki (__time, added) from stdin"})
		c.f.Send(&pgproto3.CopyData{Data: []byte("2024-01-01Z\t1\n")})
		if err := c.f.Flush(); err != nil {
			t.Fatal(err)
		}
		_, _ = c.conn.Write(end)
		_ = c.conn.Close()
	}
	for s.Count() > 0 {
		continue
	}
	if got := n.taken(); got != "" {
		t.Errorf("rows were written: %s", got)
	}
}

// TestTimesOfDatasources writes times as the settings of the datasource want them.
func TestTimesOfDatasources(t *testing.T) {
	for _, test := range []struct{ format, sql, want string }{
		{"millis", "insert into wiki (__time) values ('2024-01-01 00:00:00.5Z')", `{"ts":1704067200500}`},
		{"micro", "insert into wiki (__time) values ('2024-01-01Z')", `{"ts":1704067200000000}`},
		{"nano", "insert into wiki (__time) values ('2024-01-01Z')", `{"ts":1704067200000000000}`},
		{"nano", "insert into wiki (__time) values ('9999-01-01Z')", "ERROR 22008|I"},
		{"posix", "insert into wiki (__time) values ('2024-01-01Z')", `{"ts":1704067200}`},
		{"posix", "insert into wiki (__time) values ('2024-01-01 00:00:00.5Z')", "ERROR 22008|I"},
		{"ruby", "insert into wiki (__time) values ('2024-01-01 00:00:00.5Z')", `{"ts":1704067200.500000}`},
		{"iso", "set timezone = 'Europe/Berlin'; insert into wiki (__time) values ('2024-01-01 00:00')", `{"ts":"2023-12-31T23:00:00.000Z"}`},
		{"yyyy", "insert into wiki (__time) values (now())", "ERROR 0A000|I"},
		{"yyyy", "insert into wiki (ts) values ('2024')", `{"ts":"2024"}`},
	} {
		_, address, n := writable(t, func(n *notebook, _ *Options) { n.schema = WriteSchema{Time: "ts", Format: test.format} })
		got := login(t, address).query(test.sql)
		if lines := strings.TrimSpace(strings.TrimPrefix(n.taken(), "wiki:")); lines != "" {
			got = lines
		}
		if got != test.want {
			t.Errorf("%s: %s: got %s, want %s", test.format, test.sql, got, test.want)
		}
	}
	_, address, _ := writable(t, func(n *notebook, _ *Options) { n.schema.Aggregates = true })
	if got := login(t, address).query("insert into wiki (__time) values (now())"); got != "ERROR 0A000|I" {
		t.Errorf("a datasource that aggregates: %s", got)
	}
}

// TestSettingsThatChange refuses a statement that was prepared for others: its times would be read
// wrongly.
func TestSettingsThatChange(t *testing.T) {
	_, address, n := writable(t, nil)
	c := login(t, address)
	if got := c.query("prepare p as insert into wiki (__time) values ($1); execute p('2024-01-01Z')"); got != "PREPARE|INSERT 0 1|I" {
		t.Error(got)
	}
	n.mu.Lock()
	n.schema.Format = "posix"
	n.mu.Unlock()
	if got := c.query("execute p('2024-01-01Z')"); got != "ERROR 0A000|I" {
		t.Error(got)
	}
	if got := c.query("deallocate p; insert into wiki (__time) values ('2024-01-01Z')"); got != "DEALLOCATE|INSERT 0 1|I" {
		t.Error(got)
	}
	if got := n.taken(); strings.Count(got, "\n") != 2 || !strings.HasSuffix(got, `{"__time":1704067200}`+"\n") {
		t.Error(got)
	}
}

// readers may read all and write nothing.
type readers struct{}

func (readers) Decide(_ context.Context, _ *auth.Identity, n auth.Need) (auth.Grant, error) {
	return auth.Grant{Allowed: n.Action == auth.Read || n.Resource.Name == "other"}, nil
}

// asks lets everybody in as one of readers.
type asks struct{}

func (asks) Authenticate(_ context.Context, l *Login) (*auth.Access, Again, error) {
	return auth.NewAccess(&auth.Identity{Name: l.User}, readers{}), nil, nil
}

// TestWritesNeedPermission refuses who may not write, whether the table is there or not.
func TestWritesNeedPermission(t *testing.T) {
	_, address, n := writable(t, func(_ *notebook, o *Options) { o.Authenticator = asks{} })
	c := login(t, address)
	for sql, want := range map[string]string{
		"insert into wiki (__time) values (now())": "ERROR 42501|I", "insert into nope values (now())": "ERROR 42501|I",
		"copy wiki from stdin": "ERROR 42501|I", "insert into other (__time) values (now())": "INSERT 0 1|I",
	} {
		if got := c.query(sql); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
	if got := n.taken(); !strings.HasPrefix(got, "other:") || strings.Contains(got, "wiki") {
		t.Errorf("written: %s", got)
	}
}

// FuzzCopy sends any bytes as the data of a COPY.
func FuzzCopy(f *testing.F) {
	_, address, _ := writable(f, nil)
	f.Add(byte(0), []byte("2024-01-01Z\ta\\tb\t1\n\\.\n"))
	f.Add(byte(1), []byte("2024-01-01Z,\"a\"\"b\",1\r\n"))
	f.Add(byte(2), []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03"))
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		c := login(t, address)
		defer c.conn.Close() //nolint:errcheck // it ends in any case
		c.copyIn("copy wiki (__time, cityName, added) from stdin (format "+[]string{"text", "csv", "binary"}[kind%3]+")", string(data))
		if got := c.query("select 1"); got != "1|SELECT 1|I" {
			t.Errorf("afterwards: %s", got)
		}
	})
}
