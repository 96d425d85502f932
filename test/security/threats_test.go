package security

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
	"github.com/hengedb/henge/internal/testkit/slapd"
)

// rowsOf finds the rows of the table of threats that a comment or the name of a test names.
var (
	rowsOf   = regexp.MustCompile(`section\s+12,\s+rows?\s+(\d+(?:(?:,|\s+and)\s+\d+)*)`)
	threatOf = regexp.MustCompile(`\bfunc TestThreat(\d\d)`)
	number   = regexp.MustCompile(`\d+`)
)

// Every row of the table of threats (spec/security.md, section 12) has a test that names it: by its
// own name, TestThreatNN.., or in its comment.
func TestEveryThreatHasATest(t *testing.T) {
	spec, err := os.ReadFile(filepath.Join(server.Shared(t), "spec", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(spec), "\n## 12. ")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(table, -1)
	if len(rows) < 28 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	tested := map[int]bool{}
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// Comments are wrapped: their marks stand between the words.
		for _, m := range rowsOf.FindAllSubmatch(bytes.ReplaceAll(text, []byte("\n//"), nil), -1) {
			for _, n := range number.FindAllString(string(m[1]), -1) {
				row, _ := strconv.Atoi(n)
				tested[row] = true
			}
		}
		for _, m := range threatOf.FindAllSubmatch(text, -1) {
			row, _ := strconv.Atoi(string(m[1]))
			tested[row] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if n, _ := strconv.Atoi(row[1]); !tested[n] {
			t.Errorf("no test names row [%d] of the table of threats", n)
		}
	}
}

// TestThreatsOfOneProcess shares a server whose users are in its metastore.
func TestThreatsOfOneProcess(t *testing.T) {
	who := maps.Clone(people)
	who["guessed"] = nil // whose password is tried
	s := startStored(t, who, "service.server.http.maxRequestBytes=1MiB")
	load(t, &s.Client, "wiki")
	for name, check := range map[string]func(*testing.T, *server.Server){
		"TestThreat09": threat09, "TestThreat14": threat14, "TestThreat15": threat15, "TestThreat18": threat18, "TestThreat25": threat25,
		"TestThreat27": threat27,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, s)
		})
	}
}

// Hashes of passwords show to nobody but the processes of a cluster; snapshots are in test/cluster.
// (spec/security.md, section 12, row 9)
func threat09(t *testing.T, s *server.Server) {
	const maps, of = "/service-ext/basic-security/authentication/db/meta/cachedSerializedUserMap", `"iterations":1000`
	hash := regexp.MustCompile(`"(hash|salt|storedKey|serverKey)":"`)
	for _, path := range []string{maps, usersPath + "wiki", rolesPath + "/cachedSerializedUserMap", rolesPath + "/users/wiki?full"} {
		for user, want := range map[string]int{"": 401, "nobody": 403, "stater": 403, "configurer": 403, "reader": 200, "admin": 200} {
			status, answer, err := s.As(user).Send(t.Context(), "coordinator", http.MethodGet, path, "")
			if err != nil || status != want || hash.Match(answer) {
				t.Errorf("%s as %q: %d %s %v", path, user, status, answer, err)
			}
			if status == http.StatusOK && strings.Contains(path, "authentication") && !strings.Contains(string(answer), of) {
				t.Errorf("%s as %q does not say how the password is kept: %s", path, user, answer)
			}
		}
	}
	// The internal user gets them.
	status, answer, err := s.As(server.System).Send(t.Context(), "coordinator", http.MethodGet, maps, "")
	if err != nil || status != http.StatusOK || !hash.Match(answer) {
		t.Errorf("as the internal user: %d %s %v", status, answer, err)
	}
}

// Patterns that take forever elsewhere are refused as permissions, or end with their query.
// (spec/security.md, section 12, row 14)
func threat14(t *testing.T, s *server.Server) {
	permission := func(pattern string) string {
		text, _ := json.Marshal([]any{map[string]any{"action": "READ", "resource": map[string]string{"name": pattern, "type": "DATASOURCE"}}})
		return string(text)
	}
	const path = rolesPath + "/roles/nobody/permissions"
	for _, pattern := range []string{`(?=a)b`, `(?!a)b`, `(?<=a)b`, `(a)\1`, `(?>a+)b`, `a++`, `(`, `[`, `a{2,1}`} {
		status, answer, err := s.As("admin").Send(t.Context(), "coordinator", http.MethodPost, path, permission(pattern))
		if err != nil || status != http.StatusBadRequest || !strings.Contains(string(answer), "does not compile.") {
			t.Errorf("permission for [%s]: %d %s %v", pattern, status, answer, err)
		}
	}
	// A pattern that makes others backtrack is one like any other here.
	if status, answer, err := s.As("admin").Send(t.Context(), "coordinator", http.MethodPost, path, permission(`(x+x+)+y`)); err != nil ||
		status != 200 {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	name := strings.Repeat("x", 200)
	run(t, &s.Client, []exchange{
		{"nobody", "GET", "/service/v2/datasources/" + name, "", 403, "Unauthorized", ""},
		{"wiki", "POST", sqlPath, statement("SELECT COUNT(*) AS n FROM wiki WHERE REGEXP_LIKE(x || '" + name + "', '(x+x+)+y')"), 200,
			`"n":0`, ""},
		// One that needs to backtrack ends with its time.
		{"wiki", "POST", sqlPath, statement("SELECT COUNT(*) AS n FROM wiki WHERE REGEXP_LIKE(x || '"+name+"', '(?!z)(x+x+)+y')", "timeout=500"),
			504, "Query timeout", `"n"`},
		{"wiki", "POST", nativePath, `{"queryType":"timeseries","dataSource":"wiki","granularity":"all","intervals":["1000/3000"],
			"filter":{"type":"regex","dimension":"x","pattern":"(a+a+)+\\1b"},"aggregations":[{"type":"count","name":"n"}]}`, 200, "", ""},
	})
}

// A password is not found by trying: after ten wrong ones from an address even the right one is not
// looked at. Unknown users are refused like known ones. (spec/security.md, section 12, row 15)
func threat15(t *testing.T, s *server.Server) {
	try := func(user, password string) (int, string) {
		c := server.Client{Addresses: s.Addresses, HTTP: server.LoggedIn(user, password)}
		status, answer, err := c.Send(t.Context(), "router", http.MethodGet, "/service/v2/sql/engines", "")
		if err != nil {
			t.Fatal(err)
		}
		return status, string(answer)
	}
	if status, _ := try("guessed", server.Password); status != http.StatusOK {
		t.Fatalf("before: %d", status)
	}
	var known, unknown string
	for i := range 10 {
		var status, other int
		status, known = try("guessed", fmt.Sprint("guess ", i))
		other, unknown = try("nobody-of-that-name", fmt.Sprint("guess ", i))
		if status != http.StatusUnauthorized || other != status || known != unknown {
			t.Errorf("guess %d: %d %s, an unknown user: %d %s", i, status, known, other, unknown)
		}
	}
	if status, answer := try("guessed", server.Password); status != http.StatusUnauthorized || answer != known {
		t.Errorf("the right password after ten wrong ones: %d %s", status, answer)
	}
	if status, _ := try("reader", server.Password); status != http.StatusOK {
		t.Errorf("another user: %d", status)
	}
}

// Requests of processes to each other need what only the internal user and administrators have, and
// bodies that no process sends are refused. (spec/security.md, section 12, row 18)
func threat18(t *testing.T, s *server.Server) {
	large := `{"a":"` + strings.Repeat("x", 2<<20) + `"}`
	tried, tooLarge := 0, 0
	for _, role := range ports {
		for _, pattern := range s.Routes(role) {
			method, path := request(pattern)
			if method != http.MethodPost || !(strings.HasPrefix(path, "/service-internal/") || strings.Contains(path, "/listen/") ||
				strings.HasSuffix(path, "/action")) {
				continue
			}
			tried++
			for _, user := range []string{"nobody", "wiki", "editor"} {
				if status, answer, err := s.As(user).Send(t.Context(), role, method, path, "{}"); err != nil || status != http.StatusForbidden {
					t.Errorf("%s on the port of role [%s] as %q: %d %s %v", path, role, user, status, answer, err)
				}
			}
			for _, body := range []string{`{`, `[]`, `"x"`, `null`, `{"type":"nothing"}`, "\x00\x01\xff"} {
				status, answer, err := s.As("admin").Send(t.Context(), role, method, path, body)
				if err != nil || status >= 500 {
					t.Errorf("%s on the port of role [%s] with %q: %d %s %v", path, role, body, status, answer, err)
				}
			}
			status, answer, err := s.As("admin").Send(t.Context(), role, method, path, large)
			if err == nil && status >= 500 {
				t.Errorf("%s on the port of role [%s] with [%d] bytes: %d %.200s", path, role, len(large), status, answer)
			}
			if status == http.StatusRequestEntityTooLarge {
				tooLarge++
			}
		}
	}
	if tried < 10 || tooLarge == 0 {
		t.Errorf("[%d] internal endpoints were found, of which [%d] refuse large bodies", tried, tooLarge)
	}
}

// Names and intervals are no part of statements to the metastore. (spec/security.md, section 12,
// row 25)
func threat25(t *testing.T, s *server.Server) {
	for _, name := range []string{`x' OR '1'='1`,
		`x'; DROP TABLE segments; --`, `x" OR ""="`, `x\' OR 1=1 --`, `%`, `_`, "x;SELECT 1", `$1`, `?`} {
		at, quoted := escape(name), strconv.Quote(name)
		for _, request := range []string{
			"GET /service/coordinator/v1/metadata/datasources/" + at, "GET /service/coordinator/v1/datasources/" + at + "/intervals",
			"GET /service/coordinator/v1/datasources/wiki/intervals/" + at, "GET /service/coordinator/v1/rules/" + at,
			"GET /service/coordinator/v1/metadata/datasources/wiki/segments/" + at, "GET /service/indexer/v1/task/" + at + "/status",
			"GET /service/indexer/v1/tasks?datasource=" + at, "GET /service/indexer/v1/supervisor/" + at,
			"DELETE /service/coordinator/v1/datasources/" + at + "/intervals/" + at,
			"GET /service/coordinator/v1/lookups/config/" + at, "GET /service/coordinator/v1/config/history?count=" + at,
			"GET " + usersPath + at, "GET " + rolesPath + "/roles/" + at, "GET /service-ext/access/keys/" + at,
			"POST /service/indexer/v1/datasources/" + at + `/markUnused {"interval":` + quoted + `}`,
			`POST /service/coordinator/v1/datasources/wiki/markUnused {"segmentIds":[` + quoted + `]}`,
			`POST /service/indexer/v1/taskStatus [` + quoted + `]`,
		} {
			method, rest, _ := strings.Cut(request, " ")
			path, body, _ := strings.Cut(rest, " ")
			status, answer, err := s.As("admin").Send(t.Context(), "router", method, path, body)
			if err != nil || status >= 500 || strings.Contains(string(answer), "secret of wiki") ||
				strings.Contains(strings.ToLower(string(answer)), "sql logic") || strings.Contains(string(answer), "syntax error") {
				t.Errorf("%s: %d %s %v", request, status, answer, err)
			}
		}
	}
	run(t, &s.Client, []exchange{
		{"wiki", "POST", sqlPath, statement("SELECT COUNT(*) AS n FROM wiki"), 200, `"n":1`, ""},
		{"admin", "GET", "/service/coordinator/v1/metadata/datasources", "", 200, `["wiki"]`, ""},
		{"admin", "GET", "/proxy/coordinator" + usersPath[:len(usersPath)-1], "", 200, "admin", "DROP"},
	})
}

// escape writes a name as a part of a path or a parameter of a query.
func escape(name string) string {
	return strings.NewReplacer("%", "%25", "'", "%27", " ", "%20", ";", "%3B", `"`, "%22", `\`, "%5C", "?", "%3F", "$", "%24", "=", "%3D").
		Replace(name)
}

// There are no endpoints of debuggers. (spec/security.md, section 12, row 27)
func threat27(t *testing.T, s *server.Server) {
	for _, role := range ports {
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile", "/debug/pprof/cmdline", "/debug/pprof/trace",
			"/debug/vars", "/debug/requests", "/heapdump", "/jmx", "/status/threads"} {
			for _, user := range []string{"admin", "stater", ""} {
				status, answer, err := s.As(user).Send(t.Context(), role, http.MethodGet, path, "")
				if err != nil || status != http.StatusNotFound && status != http.StatusUnauthorized || user != "" && status != 404 {
					t.Errorf("%s on the port of role [%s] as %q: %d %.200s %v", path, role, user, status, answer, err)
				}
			}
		}
	}
}

// Names are no filters, and no password is none. (spec/security.md, section 12, rows 12 and 13)
func TestThreat12And13OfDirectories(t *testing.T) {
	d := slapd.Start(t)
	const of = "service.auth.authenticator.ldap."
	s := server.Start(t, server.Options{Settings: append([]string{of + "type=basic", of + "credentialsValidator.type=ldap",
		of + "skipOnFailure=true", of + "authorizerName=az", of + "credentialsValidator.url=" + d.URL,
		of + "credentialsValidator.bindUser=" + slapd.Admin, of + "credentialsValidator.bindPassword=" + slapd.AdminPassword,
		of + "credentialsValidator.baseDn=" + slapd.Base, of + "credentialsValidator.userSearch=(&(objectClass=inetOrgPerson)(uid=%s))",
		of + "credentialsValidator.userAttribute=uid"}, append(storedSettings, `service.auth.authenticatorChain=["ldap","meta"]`)...)})
	right := "alice" + slapd.PasswordEnd
	for _, c := range []struct {
		user, password string
		status         int
	}{
		{"alice", right, 200}, {"ALICE", right, 200},
		{"*", right, 401}, {"a*", right, 401}, {"a)(uid=*", right, 401}, {"alice)(objectClass=*", right, 401}, {"*)(uid=alice", right, 401},
		{"alice\x00", right, 401}, {`\00`, right, 401}, {`\61lice`, right, 401}, {"alice)(|(uid=bob", right, 401}, {"(alice)", right, 401},
		{"alice,ou=people", right, 401}, {"alice/", right, 401}, {"", right, 401}, {strings.Repeat("a", 5000), right, 401},
		{"alice", "", 401}, {"", "", 401}, {"alice", "\x00", 401}, {slapd.DN("alice"), right, 401}, {slapd.Admin, slapd.AdminPassword, 401},
	} {
		client := server.Client{Addresses: s.Addresses, HTTP: server.LoggedIn(c.user, c.password)}
		status, answer, err := client.Send(t.Context(), "router", http.MethodGet, "/service/v2/sql/engines", "")
		if err != nil || status != c.status {
			t.Errorf("%.50q with %q: %d %s %v", c.user, c.password, status, answer, err)
		}
	}
}

// raw sends a request as it is written and returns the answer.
func raw(t *testing.T, address, text string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.200q: %v", text, err)
	}
	_ = resp.Body.Close() // only the head counts
	return resp
}
