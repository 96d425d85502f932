package security

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hengedb/henge/internal/testkit/certs"
	"github.com/hengedb/henge/internal/testkit/server"
)

// wireHost is the address of the PostgreSQL wire.
func wireHost(s *server.Server) (host, port string) {
	_, at, _ := strings.Cut(s.Addresses["pgwire"], "://")
	host, port, _ = strings.Cut(at, ":")
	return host, port
}

// connect opens a session of the PostgreSQL wire. More are parameters of a connection string.
func connect(t *testing.T, s *server.Server, user, password string, more ...string) (*pgconn.PgConn, error) {
	t.Helper()
	host, port := wireHost(s)
	text := fmt.Sprintf("host=%s port=%s user='%s' password='%s' dbname=henge %s", host, port, user, password, strings.Join(more, " "))
	if !strings.Contains(text, "sslmode=") {
		text += " sslmode=disable"
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a server that never answers fails the test
	defer cancel()
	c, err := pgconn.Connect(ctx, text)
	if err == nil {
		t.Cleanup(func() {
			if err := c.Close(context.Background()); err != nil && !c.IsClosed() {
				t.Errorf("closing the connection: %v", err)
			}
		})
	}
	return c, err
}

// answer is what a statement gives: its rows, or the code and the message of its error.
func answer(t *testing.T, c *pgconn.PgConn, sql string) string {
	t.Helper()
	results, err := c.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		return told(err)
	}
	var out []string
	for _, r := range results {
		for _, row := range r.Rows {
			out = append(out, string(slices.Concat(row...)))
		}
	}
	return strings.Join(out, "\n")
}

// told is the code and the message of an error of the server; else the error.
func told(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.TrimSpace(e.Code + " " + e.Message + " " + e.Hint)
	}
	return err.Error()
}

// wireRoles are the roles of the users of these tests, each of its own name; nobody has none.
var wireRoles = map[string]string{
	"nobody": "",
	"reader": `[{"resource":{"name":"orders","type":"DATASOURCE"},"action":"READ"}]`,
	"north": `[{"resource":{"name":"orders","type":"DATASOURCE"},"action":"READ","policy":{"rows":"region = 'north'",` +
		`"columns":{"card":{"mask":"'*' || SUBSTRING(card, 3)"},"note":{"hide":true}}}}]`,
}

const (
	passwords = "/service-ext/basic-security/authentication/db/meta/users/"
	allowed   = "/service-ext/basic-security/authorization/db/az"
)

// change sends a request of the administrator.
func change(t *testing.T, c *server.Client, method, path, body string) {
	t.Helper()
	status, text, err := c.Send(t.Context(), "coordinator", method, path, body)
	if err != nil || status >= 300 {
		t.Fatalf("%s %s: %d %s %v", method, path, status, text, err)
	}
}

// setPassword gives a user another password.
func setPassword(t *testing.T, c *server.Client, user, password string) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"password": password})
	if err != nil {
		t.Fatal(err)
	}
	change(t, c, http.MethodPost, passwords+user+"/credentials", string(body))
}

// wired starts a server with users of the metadata store, whose password is "pw of" the user, and
// with the datasources orders and north.
func wired(t *testing.T, more ...string) *server.Server {
	t.Helper()
	s := server.Start(t, server.Options{
		Settings: slices.Concat(server.Secured, []string{"service.pgwire.plaintextPort=0"}, more), HTTP: server.LoggedIn("admin", "pw1"),
	})
	for user, permissions := range wireRoles {
		change(t, &s.Client, http.MethodPost, passwords+user, "")
		setPassword(t, &s.Client, user, "pw of "+user)
		change(t, &s.Client, http.MethodPost, allowed+"/users/"+user, "")
		if permissions != "" {
			change(t, &s.Client, http.MethodPost, allowed+"/roles/"+user, "")
			change(t, &s.Client, http.MethodPost, allowed+"/roles/"+user+"/permissions", permissions)
			change(t, &s.Client, http.MethodPost, allowed+"/users/"+user+"/roles/"+user, "")
		}
	}
	for name, columns := range map[string]string{"orders": "region, card, n, note", "other": "region"} {
		if err := s.Ingest(t.Context(), "REPLACE INTO "+name+" OVERWRITE ALL SELECT TIME_PARSE(t) AS __time, "+columns+` FROM (VALUES
			('2026-01-01', 'south', '9999', 0, 'hidden one'), ('2026-01-02', 'north', '1234', 1, 'kept one'),
			('2026-01-02', 'north', '1235', 2, 'kept two')) AS v(t, region, card, n, note) PARTITIONED BY ALL`, nil); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestPostgreSQLClientsLogIn(t *testing.T) {
	s := wired(t)
	const wrong = "28P01 password authentication failed for user \"%s\""
	for _, test := range []struct{ user, password, want string }{
		{"reader", "pw of reader", ""}, {"nobody", "pw of nobody", ""}, {"admin", "pw1", ""},
		{"reader", "pw of nobody", wrong}, {"reader", "", wrong}, {"Reader", "pw of reader", wrong},
		{"unknown", "pw of reader", wrong}, {"unknown", "", wrong}, {"reader:pw of reader", "", wrong},
	} {
		_, err := connect(t, s, test.user, test.password)
		got := ""
		if err != nil {
			got = told(err)
		}
		want := test.want
		if want != "" {
			want = fmt.Sprintf(want, test.user)
		}
		if got != want {
			t.Errorf("%s with %q: got %q, want %q", test.user, test.password, got, want)
		}
	}
}

// What clients see is what their roles show, in queries and in the catalog, with and without
// parameters and cursors.
func TestPostgreSQLClientsSeeWhatTheirRolesShow(t *testing.T) {
	s := wired(t)
	const denied = "42501 permission denied"
	const tables = "select relname from pg_class where relnamespace = 'public'::regnamespace order by 1"
	const columns = "select column_name from information_schema.columns where table_name = 'orders' order by ordinal_position"
	for _, test := range []struct{ user, sql, want string }{
		{"nobody", "select 1", "1"}, {"nobody", "select current_user", "nobody"}, {"nobody", "select count(*) from orders", denied},
		{"nobody", tables, ""}, {"nobody", columns, ""}, {"nobody", "select * from sys.servers", denied},
		{"nobody", "begin; declare c cursor for select * from orders", denied}, {"nobody", "explain select * from orders", denied},
		{"nobody", "copy orders to stdout", denied}, {"nobody", "select datasource from sys.segments", ""},
		{"nobody", "prepare p as select * from orders; execute p", denied},
		{"reader", "select count(*) from orders", "3"}, {"reader", "select count(*) from other", denied},
		{"reader", "select count(*) from orders where n in (select count(*) from other)", denied},
		{"reader", tables, "orders"}, {"reader", columns, "__time\nregion\ncard\nn\nnote"},
		{"reader", "select distinct datasource from sys.segments", "orders"},
		{"reader", "select distinct usename from pg_stat_activity", "reader"},
		{"north", "select region, card, n from orders order by n", "north*341\nnorth*352"}, {"north", "select count(*) from orders", "2"},
		{"north", "explain analyze select count(*) from orders", denied},
		{"north", tables, "orders"}, {"north", columns, "__time\nregion\ncard\nn"},
		{"north", "select attname from pg_attribute where attrelid = 'orders'::regclass and attnum > 0 order by attnum",
			"__time\nregion\ncard\nn"},
		{"north", "select n_live_tup from pg_stat_user_tables", "0"},
		{"admin", tables, "orders\nother"}, {"admin", "select count(*) from other", "3"},
	} {
		c, err := connect(t, s, test.user, cmp.Or(map[string]string{"admin": "pw1"}[test.user], "pw of "+test.user))
		if err != nil {
			t.Fatal(err)
		}
		got := answer(t, c, test.sql)
		if test.want == denied {
			if !strings.HasPrefix(got, "42501 ") {
				t.Errorf("%s: %s: got %q", test.user, test.sql, got)
			}
			continue
		}
		if got != test.want {
			t.Errorf("%s: %s: got %q, want %q", test.user, test.sql, got, test.want)
		}
	}
	c, err := connect(t, s, "nobody", "pw of nobody")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Prepare(t.Context(), "p", "select * from orders where n > $1", nil); !strings.HasPrefix(told(err), "42501 ") {
		t.Errorf("describing: %v", err)
	}
	if got := answer(t, c, "select note from orders"); !strings.HasPrefix(got, "42501 ") {
		t.Errorf("afterwards: %s", got)
	}
}

// A session has what the user has now, not what the user had at its beginning.
func TestPostgreSQLSessionsFollowChanges(t *testing.T) {
	s := wired(t)
	c, err := connect(t, s, "reader", "pw of reader")
	if err != nil {
		t.Fatal(err)
	}
	const tables = "select relname from pg_class where relnamespace = 'public'::regnamespace"
	if got := answer(t, c, tables); got != "orders" {
		t.Errorf("tables %q", got)
	}
	change(t, &s.Client, http.MethodDelete, allowed+"/users/reader/roles/reader", "")
	if got := answer(t, c, "select count(*) from orders"); !strings.HasPrefix(got, "42501") {
		t.Errorf("without the role: %s", got)
	}
	if got := answer(t, c, tables); got != "" {
		t.Errorf("tables %q", got)
	}
	change(t, &s.Client, http.MethodPost, allowed+"/users/reader/roles/north", "")
	if got := answer(t, c, "select count(*) from orders"); got != "2" {
		t.Errorf("with another role: %s", got)
	}
	setPassword(t, &s.Client, "reader", "another")
	if got := answer(t, c, "select 1"); got != `28P01 the credentials of user "reader" are no longer valid` {
		t.Errorf("with another password: %s", got)
	}
	if _, err := connect(t, s, "reader", "pw of reader"); err == nil {
		t.Error("the old password is good")
	}
	if c, err = connect(t, s, "reader", "another"); err != nil {
		t.Fatal(err)
	}
	change(t, &s.Client, http.MethodDelete, passwords+"reader", "")
	if got := answer(t, c, "select 1"); !strings.HasPrefix(got, "28P01") {
		t.Errorf("a deleted user: %s", got)
	}
}

// Ten wrong passwords in a minute are all that an address has for a user.
func TestPostgreSQLLoginsAreCounted(t *testing.T) {
	s := wired(t)
	for range 10 {
		if _, err := connect(t, s, "reader", "wrong"); err == nil {
			t.Fatal("a wrong password is good")
		}
	}
	if _, err := connect(t, s, "reader", "pw of reader"); err == nil || !strings.HasPrefix(told(err), "28P01") {
		t.Errorf("the eleventh attempt: %v", err)
	}
	if _, err := connect(t, s, "north", "pw of north"); err != nil {
		t.Errorf("another user: %v", err)
	}
	c := &server.Client{Addresses: s.Addresses, HTTP: server.LoggedIn("reader", "pw of reader")}
	if status, _, err := c.Send(t.Context(), "router", http.MethodPost, sqlPath, statement("SELECT 1")); err != nil || status != 401 {
		t.Errorf("over HTTP: %d %v", status, err)
	}
}

// Users of other authenticators than the metadata store's send their password, and rules hold for
// them likewise: what north sees of orders is what the datasource north has.
func TestPostgreSQLShowsWhatAFilteredCopyHas(t *testing.T) {
	s := server.Start(t, server.Options{People: sellers, Settings: []string{"service.pgwire.plaintextPort=0"}})
	orders(t, &s.Client)
	of := map[string]*pgconn.PgConn{}
	for _, user := range []string{"admin", "north"} {
		var err error
		if of[user], err = connect(t, s, user, server.Password); err != nil {
			t.Fatal(err)
		}
	}
	for _, user := range []string{"north", "gone"} {
		if _, err := connect(t, s, user, "wrong"); err == nil || told(err) != `28P01 password authentication failed for user "`+user+`"` {
			t.Errorf("%s with a wrong password: %v", user, err)
		}
	}
	right := 0
	for _, text := range slices.Concat(shown, []string{
		"SELECT * FROM {t} WHERE card = ANY('{*34,1234}') ORDER BY n", "SELECT DISTINCT ON (region) region, n FROM {t} ORDER BY region, n",
	}) {
		want := answer(t, of["admin"], strings.ReplaceAll(text, "{t}", "north"))
		if got := answer(t, of["north"], strings.ReplaceAll(text, "{t}", "orders")); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
		if !strings.Contains(want, " ") || !strings.Contains("0A000 42601 22023", want[:5]) {
			right++
		}
	}
	if right < 25 {
		t.Errorf("only [%d] statements are ones of PostgreSQL", right)
	}
}

// psql runs a command.
func psql(t *testing.T, s *server.Server, user, password, parameters, sql string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skipf("no psql: %v", err)
	}
	host, port := wireHost(s)
	c := exec.CommandContext(t.Context(), "psql", "-X", "-A", "-t", "-w", "-v", "VERBOSITY=verbose", "-c", sql,
		fmt.Sprintf("host=%s port=%s user=%s dbname=henge %s", host, port, user, parameters))
	c.Env = append(os.Environ(), "PGPASSWORD="+password)
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestPsqlLogsIn(t *testing.T) {
	s := wired(t)
	for _, test := range []struct {
		user, password, sql, want string
		right                     bool
	}{
		{"reader", "pw of reader", "select count(*) from orders", "3", true},
		{"reader", "pw of reader", `\dt`, "public|orders|table|reader", true},
		{"north", "pw of north", "select card from orders order by n", "*34\n*35", true},
		{"north", "pw of north", `\d orders`, "card|text|", true},
		{"nobody", "pw of nobody", "select count(*) from orders", "ERROR:  42501: permission denied", false},
		{"reader", "wrong", "select 1", `FATAL:  password authentication failed for user "reader"`, false},
		{"gone", "wrong", "select 1", `FATAL:  password authentication failed for user "gone"`, false},
		{"reader", "", "select 1", "no password supplied", false},
	} {
		got, err := psql(t, s, test.user, test.password, "", test.sql)
		if !strings.Contains(got, test.want) || (err == nil) != test.right {
			t.Errorf("%s: %s: %v\n%s\nwant %s", test.user, test.sql, err, got, test.want)
		}
	}
}

const psycopg = `
import asyncio, sys, asyncpg, psycopg, sqlalchemy
host, port = sys.argv[1:]
def at(user, password): return psycopg.connect(host=host, port=port, user=user, password=password, dbname="henge")
with at("north", "pw of north") as c:
    assert c.execute("select card from orders where n >= %s order by n", [1]).fetchall() == [("*34",), ("*35",)]
for user, password in ("north", "wrong"), ("gone", "wrong"):
    try:
        at(user, password)
        raise SystemExit("logged in")
    except psycopg.OperationalError as e:
        assert "password authentication failed for user" in str(e), e
with at("nobody", "pw of nobody") as c:
    try:
        c.execute("select * from orders")
        raise SystemExit("it was answered")
    except psycopg.errors.InsufficientPrivilege: pass
async def asynchronous():
    c = await asyncpg.connect(host=host, port=port, user="north", password="pw of north", database="henge")
    assert await c.fetchval("select card from orders where n = $1", 1) == "*34"
    await c.close()
asyncio.run(asynchronous())
url = sqlalchemy.URL.create("postgresql+psycopg", "north", "pw of north", host, int(port), "henge")
assert [k["name"] for k in sqlalchemy.inspect(sqlalchemy.create_engine(url)).get_columns("orders")] == ["__time", "region", "card", "n"]
print("right")
`

func TestPsycopgLogsIn(t *testing.T) {
	python := os.Getenv("HENGE_PG_PYTHON")
	if python == "" {
		t.Skip("HENGE_PG_PYTHON names no Python that has psycopg, asyncpg and SQLAlchemy")
	}
	host, port := wireHost(wired(t))
	out, err := exec.CommandContext(t.Context(), python, "-c", psycopg, host, port).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "right" {
		t.Errorf("%v\n%s", err, out)
	}
}

// overTLS are settings of a process that has a certificate for localhost, and its authority.
func overTLS(t *testing.T) (settings []string, authority string) {
	t.Helper()
	root, folder := certs.Authority(t, "root"), t.TempDir()
	root.Issue(t, "localhost", "127.0.0.1").WritePEM(t, folder)
	certs.Write(t, folder, "ca.pem", root.ChainPEM())
	authority = filepath.Join(folder, "ca.pem")
	return []string{
		"service.enableTlsPort=true", "service.server.https.keyStorePath=" + folder, "service.client.https.trustStorePath=" + authority,
	}, authority
}

func TestPostgreSQLOverTLS(t *testing.T) {
	settings, authority := overTLS(t)
	foreign := certs.Write(t, t.TempDir(), "ca.pem", certs.Authority(t, "foreign").ChainPEM())
	const verified = "sslmode=verify-full sslrootcert="
	for name, test := range map[string]struct {
		settings []string
		plain    string // the answer without encryption
		direct   bool   // whether TLS may begin without a request for it
	}{
		"both on one port": {nil, "3", false},
		"a port of its own": {[]string{"service.pgwire.plaintextPort=-1", "service.pgwire.tlsPort=0"},
			"28000 this port takes encrypted connections only Connect with sslmode=require.", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := wired(t, slices.Concat(settings, test.settings)...)
			try := func(parameters string) string {
				c, err := connect(t, s, "reader", "pw of reader", parameters)
				if err != nil {
					return told(err)
				}
				return answer(t, c, "select count(*) from orders")
			}
			if got := try(verified + authority); got != "3" {
				t.Errorf("verified: %s", got)
			}
			if got := try(verified + foreign); !strings.Contains(got, "certificate signed by unknown authority") {
				t.Errorf("with a foreign authority: %s", got)
			}
			if got := try("sslmode=disable"); got != test.plain {
				t.Errorf("in plain text: %s", got)
			}
			if got := try(verified + authority + " sslnegotiation=direct"); (got == "3") != test.direct {
				t.Errorf("TLS at once: %s", got)
			}
			got, err := psql(t, s, "reader", "pw of reader", verified+authority, "select count(*) from orders")
			if got != "3" || err != nil {
				t.Errorf("psql: %s %v", got, err)
			}
			got, err = psql(t, s, "reader", "pw of reader", verified+authority+" channel_binding=require", "select count(*) from orders")
			if got != "3" || err != nil { // SCRAM-SHA-256-PLUS
				t.Errorf("psql with channel binding: %s %v", got, err)
			}
			if got, err := psql(t, s, "reader", "pw of reader", verified+foreign, "select 1"); err == nil {
				t.Errorf("psql with a foreign authority: %s", got)
			}
		})
	}
}

// A process without plain HTTP takes no plain logins either.
func TestPlainLoginsAreRefusedWhereThereIsNoPlainHTTP(t *testing.T) {
	settings, authority := overTLS(t)
	s := server.Start(t, server.Options{Settings: slices.Concat(server.Secured, settings, []string{
		"service.enablePlaintextPort=false", "service.pgwire.plaintextPort=0",
	})})
	if _, err := connect(t, s, "admin", "pw1"); err == nil ||
		told(err) != "28000 this port takes encrypted connections only Connect with sslmode=require." {
		t.Errorf("in plain text: %v", err)
	}
	if _, err := connect(t, s, "admin", "pw1", "sslmode=verify-full sslrootcert="+authority); err != nil {
		t.Error(err)
	}
}

func TestAnEncryptedPortNeedsACertificate(t *testing.T) {
	s, err := server.Open(t.Context(), server.Options{Dir: t.TempDir(), Settings: []string{"service.pgwire.tlsPort=0"}})
	if err == nil {
		_ = s.Stop() // the test has failed already
	}
	if err == nil || !strings.Contains(err.Error(), "[service.pgwire.tlsPort] needs [service.enableTlsPort]") {
		t.Errorf("the process starts: %v", err)
	}
}

// API keys are passwords of any user, also where the chain has users with passwords.
func TestPostgreSQLClientsLogInWithKeys(t *testing.T) {
	settings, authority := overTLS(t)
	s := wired(t, slices.Concat(settings, []string{
		`service.auth.authenticatorChain=["keys","meta"]`, "service.auth.authenticator.keys.type=keys",
		"service.auth.authenticator.keys.authorizerName=az",
	})...)
	const path = "/service-ext/access/keys"
	status, text, err := s.Send(t.Context(), "coordinator", http.MethodPost, path, `{"roles":["north"]}`)
	var key struct{ ID, Key string }
	if err != nil || status != http.StatusCreated || json.Unmarshal(text, &key) != nil {
		t.Fatalf("%d %s %v", status, text, err)
	}
	encrypted := "sslmode=verify-full sslrootcert=" + authority
	c, err := connect(t, s, "any", key.Key, encrypted)
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(t, c, "select current_user || ' ' || count(*) from orders"); !strings.HasSuffix(got, " 2") {
		t.Errorf("with a key: %s", got)
	}
	if got := answer(t, c, "select current_user"); got != "hg_"+key.ID {
		t.Errorf("its user: %s", got)
	}
	if _, err := connect(t, s, "reader", "pw of reader", encrypted); err != nil {
		t.Errorf("with a password: %v", err)
	}
	for _, password := range []string{"wrong", key.Key + "x"} {
		if _, err := connect(t, s, "any", password, encrypted); err == nil ||
			!strings.HasPrefix(told(err), `28P01 password authentication failed for user "any"`) {
			t.Errorf("with %q: %v", password, err)
		}
	}
	change(t, &s.Client, http.MethodDelete, path+"/"+key.ID, "")
	if got := answer(t, c, "select 1"); !strings.HasPrefix(got, "28P01") {
		t.Errorf("with a key that was revoked: %s", got)
	}
}

// A Broker of a cluster has the users from the Coordinator.
func TestPostgreSQLClientsLogInAtABroker(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{
		Processes: [][]string{{"coordinator", "overlord"}, {"historical"}, {"broker"}},
		Settings:  slices.Concat(server.Secured, []string{"service.pgwire.plaintextPort=0"}),
	})
	admin := &server.Client{Addresses: c.Addresses, HTTP: server.LoggedIn("admin", "pw1")}
	change(t, admin, http.MethodPost, passwords+"bob", "")
	setPassword(t, admin, "bob", "first")
	broker := &server.Server{Client: server.Client{Addresses: c.Nodes[len(c.Nodes)-1].Addresses}}
	session, err := connect(t, broker, "bob", "first")
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(t, session, "select current_user"); got != "bob" {
		t.Errorf("the user is %s", got)
	}
	setPassword(t, admin, "bob", "second")
	if got := answer(t, session, "select 1"); !strings.HasPrefix(got, "28P01") {
		t.Errorf("with another password: %s", got)
	}
	if _, err := connect(t, broker, "bob", "second"); err != nil {
		t.Error(err)
	}
}
