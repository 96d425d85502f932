package lookup

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

func newSet(t *testing.T, o Options) *Set {
	t.Helper()
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	o.Log = slog.New(slog.DiscardHandler)
	s := NewSet(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// until waits for a view that is as it should be; the test's own deadline bounds it.
func until(t *testing.T, s *Set, ok func(*View) bool) *View {
	t.Helper()
	for t.Context().Err() == nil {
		if v := s.View(); ok(v) {
			return v
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the lookup never came")
	return nil
}

func container(version, factory string) Container {
	return Container{version, json.RawMessage(factory)}
}

func mapOf(version, values string) Container {
	return container(version, `{"type":"map","map":`+values+`}`)
}

// content is a table as a map; an error is its text under the key "error".
func content(v *View, name string) map[string]string {
	t, err := v.Table(name)
	if err != nil {
		return map[string]string{"error": fault.Find(err).Message}
	}
	return maps.Collect(t.All())
}

func TestSetFollowsWhatIsWanted(t *testing.T) {
	s := newSet(t, Options{})
	s.Apply(t.Context(), map[string]Container{"a": mapOf("1", `{"x":"X","n":1.50,"b":true,"gone":null}`), "bad": container("1", `{"type":"frob"}`)})
	before := s.View()
	for name, want := range map[string]map[string]string{
		"a":    {"x": "X", "n": "1.50", "b": "true"},
		"bad":  {"error": "Lookup [bad] could not be loaded: lookupExtractorFactory type [frob] is unknown; known types are [map, cachedNamespace, kafka]"},
		"nope": {"error": "Lookup [nope] not found"},
	} {
		if diff := cmp.Diff(want, content(before, name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	s.Apply(t.Context(), map[string]Container{"a": mapOf("2", `{"x":"XX"}`)})
	if got := content(before, "a"); got["x"] != "X" {
		t.Errorf("a view that a query holds changed: %v", got)
	}
	if got := content(s.View(), "a"); got["x"] != "XX" {
		t.Errorf("the new version is not there: %v", got)
	}
	if diff := cmp.Diff(Status{Current: map[string]Container{"a": mapOf("2", `{"x":"XX"}`)}, Next: map[string]Container{}}, s.Status()); diff != "" {
		t.Error(diff)
	}
	if !s.Drop("a") || s.Drop("a") || len(s.View().Names()) != 0 {
		t.Error("a dropped lookup is still there")
	}
}

func TestTablesTakeMemory(t *testing.T) {
	memory := budget.Root(4 << 20)
	s := newSet(t, Options{Memory: memory})
	big := mapOf("1", `{"k":"`+strings.Repeat("x", 5<<20)+`"}`)
	s.Apply(t.Context(), map[string]Container{"small": mapOf("1", `{"a":"b"}`), "big": big})
	if _, err := s.View().Table("big"); err == nil || memory.Used() > 1000 {
		t.Errorf("a table beyond the memory was loaded: %v, %d bytes", err, memory.Used())
	}
	s.Apply(t.Context(), nil)
	if memory.Used() != 0 {
		t.Errorf("%d bytes are held by nothing", memory.Used())
	}
}

func TestFilesAreReadAndReadAgain(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	want := map[string]string{"de": "Germany", "fr": "France"}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	s := newSet(t, Options{})
	cases := map[string]struct{ uri, parse string }{
		"csv":    {"file:" + write("a.csv", "de,Germany\nfr,France\nxx,\n"), `{"format":"csv","columns":["k","v"]}`},
		"header": {write("b.csv", "name,code\nGermany,de\nFrance,fr\n"), `{"format":"csv","hasHeaderRow":true,"keyColumn":"code","valueColumn":"name"}`},
		"tsv":    {"file://" + write("c.tsv", "de|Germany\nfr|France\n"), `{"format":"tsv","delimiter":"|","columns":["k","v"]}`},
		"custom": {write("d.json", `{"c":"de","n":"Germany"}`+"\n"+`{"c":"fr","n":"France"}`+"\n"+`{"c":"xx"}`), `{"format":"customJson","keyFieldName":"c","valueFieldName":"n"}`},
		"simple": {write("e.json", `{"de":"Germany"}`+"\n\n"+`{"fr":"France"}`), `{"format":"simpleJson"}`},
		"http":   {server.URL + "/a.csv", `{"format":"csv","columns":["k","v"]}`},
	}
	wanted := map[string]Container{}
	for name, c := range cases {
		wanted[name] = container("1", `{"type":"cachedNamespace","extractionNamespace":{"type":"uri","uri":"`+c.uri+`","namespaceParseSpec":`+c.parse+`,"pollPeriod":1}}`)
	}
	wanted["newest"] = container("1", `{"type":"cachedNamespace","extractionNamespace":{"type":"uri","uriPrefix":"`+dir+`","fileRegex":"a.*","namespaceParseSpec":{"format":"csv","columns":["k","v"]}}}`)
	wanted["beside"] = container("1", `{"type":"cachedNamespace","extractionNamespace":{"type":"uri","uriPrefix":"`+dir+`/no-folder","fileRegex":"a.*","namespaceParseSpec":{"format":"csv","columns":["k","v"]}}}`)
	wanted["missing"] = container("1", `{"type":"cachedNamespace","extractionNamespace":{"type":"uri","uri":"`+dir+`/none","namespaceParseSpec":{"format":"simpleJson"}}}`)
	s.Apply(t.Context(), wanted)
	v := until(t, s, func(v *View) bool { return len(v.Names()) == len(wanted)-1 && v.failed["missing"] != nil })
	for name := range wanted {
		if name != "missing" {
			if diff := cmp.Diff(want, content(v, name)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	if got := content(v, "missing")["error"]; !strings.Contains(got, "Lookup [missing] could not be loaded") || !strings.Contains(got, "none") {
		t.Error(got)
	}
	write("a.csv", "de,Deutschland\n")
	until(t, s, func(v *View) bool {
		return content(v, "csv")["de"] == "Deutschland" && content(v, "http")["de"] == "Deutschland"
	})
}

// TestSourcesThatHang hold up no others, and their readings end.
func TestSourcesThatHang(t *testing.T) {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/good" {
			_, _ = w.Write([]byte("a,b\n"))
			return
		}
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // the head comes, the body never
		<-stop
	}))
	defer server.Close()
	defer close(stop)
	of := func(path, more string) Container {
		return container("1", `{"type":"cachedNamespace","extractionNamespace":{"type":"uri","uri":"`+server.URL+path+`","namespaceParseSpec":{"format":"csv","columns":["k","v"]}`+more+`}}`)
	}
	c := fakeclock.New(time.UnixMilli(0))
	s := newSet(t, Options{Clock: c})
	wanted := map[string]Container{"short": of("/hang", `,"loadTimeoutSeconds":1`)}
	for i := range 2 * parallelLoads {
		wanted["hang"+strconv.Itoa(i)] = of("/hang", "")
	}
	s.Apply(t.Context(), wanted)
	wanted["good"] = of("/good", "")
	s.Apply(t.Context(), wanted)
	v := until(t, s, func(v *View) bool {
		c.Advance(slowLoad)
		return len(v.Names()) == 1 && v.failed["short"] != nil
	})
	if names, _ := s.unread(); len(names) != 2*parallelLoads {
		t.Errorf("not read yet: %v", names)
	}
	ended := make(chan struct{})
	go func() { s.Settled(t.Context()); close(ended) }()
	for waits := true; waits; {
		c.Advance(settleTime)
		select {
		case <-ended:
			waits = false
		case <-time.After(time.Millisecond):
		}
	}
	if got, want := content(v, "short")["error"], "Lookup [short] could not be loaded: reading took longer than [1s]; loadTimeoutSeconds changes that"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFilesOutsideOfAllowedFolders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(path, []byte(`{"a":"b"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSet(t, Options{Access: &ingest.Access{LocalDirs: []string{t.TempDir()}}})
	s.Apply(t.Context(), map[string]Container{
		"file": container("1", `{"type":"cachedNamespace","extractionNamespace":{"type":"uri","uri":"`+path+`","namespaceParseSpec":{"format":"simpleJson"}}}`),
		"db":   container("1", `{"type":"cachedNamespace","extractionNamespace":{"type":"jdbc","connectorConfig":{"connectURI":"jdbc:sqlite:`+path+`"},"table":"t","keyColumn":"k","valueColumn":"v"}}`),
	})
	s.Settled(t.Context())
	v := s.View()
	for _, name := range []string{"file", "db"} {
		if got := content(v, name)["error"]; !strings.Contains(got, "outside the directories") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestTablesOfDatabases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "names.db")
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)") // it is polled meanwhile
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(query string) {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TABLE "the names" ("the key" INTEGER, v TEXT, at INTEGER)`)
	exec(`INSERT INTO "the names" VALUES (1, 'one', 1), (2, 'two', 2), (3, NULL, 3), (4, 'four', 4)`)
	s := newSet(t, Options{})
	s.Apply(t.Context(), map[string]Container{"names": container("1", `{"type":"cachedNamespace","extractionNamespace":{"type":"jdbc",
		"connectorConfig":{"connectURI":"jdbc:sqlite:`+path+`"},"table":"the names","keyColumn":"the key","valueColumn":"v","tsColumn":"at","filter":"at < 4 OR at > 5","pollPeriod":"PT0.001S"}}`)})
	s.Add(t.Context(), "made", container("1", `{"type":"cachedNamespace","extractionNamespace":{"type":"jdbc",
		"connectorConfig":{"connectURI":"jdbc:sqlite:`+path+`"},"table":"the names","keyColumn":"\"the key\" || '!'","valueColumn":"UPPER(v)","filter":"at < 3"}}`))
	v := until(t, s, func(v *View) bool { return len(v.Names()) == 2 })
	if diff := cmp.Diff(map[string]string{"1": "one", "2": "two"}, content(v, "names")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"1!": "ONE", "2!": "TWO"}, content(v, "made")); diff != "" {
		t.Errorf("made of expressions: %s", diff)
	}
	exec(`INSERT INTO "the names" VALUES (9, 'nine', 9)`)
	until(t, s, func(v *View) bool { return content(v, "names")["9"] == "nine" })
}

// Containers that can't be loaded say what is wrong with them.
func TestRefusedFactories(t *testing.T) {
	namespace := func(text string) string { return `{"type":"cachedNamespace","extractionNamespace":` + text + `}` }
	jdbc := func(uri, rest string) string {
		return namespace(`{"type":"jdbc","connectorConfig":{"connectURI":"` + uri + `"` + rest + `},"table":"t","keyColumn":"k","valueColumn":"v"}`)
	}
	for text, want := range map[string]string{
		`{}`:                                   "has no [type]",
		`{"type":"map"}`:                       "needs a [map]",
		`{"type":"map","map":[]}`:              "not readable",
		`{"type":"cachedNamespace"}`:           "needs an [extractionNamespace]",
		namespace(`{"type":"kafka"}`):          "[kafka] is unknown",
		namespace(`{"type":"staticMap"}`):      "needs a [map]",
		namespace(`{"type":"uri"}`):            "exactly one of [uri] and [uriPrefix]",
		namespace(`{"type":"uri","uri":"/a"}`): "needs a [namespaceParseSpec]",
		namespace(`{"type":"uri","uri":"gopher://a/b","namespaceParseSpec":{"format":"simpleJson"}}`):                                      "unknown scheme",
		namespace(`{"type":"uri","uriPrefix":"http://a/b","namespaceParseSpec":{"format":"simpleJson"}}`):                                  "can't be listed",
		namespace(`{"type":"uri","uri":"/a","fileRegex":"(","namespaceParseSpec":{"format":"simpleJson"}}`):                                "not a valid regular expression",
		namespace(`{"type":"uri","uri":"/a","namespaceParseSpec":{"format":"xml"}}`):                                                       "format [xml] is unknown",
		namespace(`{"type":"uri","uri":"/a","namespaceParseSpec":{"format":"csv"}}`):                                                       "needs [columns] or [hasHeaderRow]",
		namespace(`{"type":"uri","uri":"/a","namespaceParseSpec":{"format":"csv","columns":["a"]}}`):                                       "two columns",
		namespace(`{"type":"uri","uri":"/a","namespaceParseSpec":{"format":"csv","columns":["a","b"],"keyColumn":"c","valueColumn":"a"}}`): "no column [c]",
		namespace(`{"type":"uri","uri":"/a","namespaceParseSpec":{"format":"customJson","keyFieldName":"k"}}`):                             "needs [keyFieldName] and [valueFieldName]",
		namespace(`{"type":"uri","uri":"/a","pollPeriod":"P1M","namespaceParseSpec":{"format":"simpleJson"}}`):                             "whose length varies",
		namespace(`{"type":"uri","uri":"/a","pollPeriod":-1,"namespaceParseSpec":{"format":"simpleJson"}}`):                                "must not be negative",
		namespace(`{"type":"jdbc"}`): "needs a [",
		namespace(`{"type":"uri","uri":"/a","namespaceParseSpec":{"format":"csv","hasHeaderRow":true}}`): "needs [keyColumn] and [valueColumn]",
		`{"type":"map","map":{"a":{}}}`:                               "The value of key [a] of a lookup must be a text, a number or a boolean",
		namespace(`{"type":"uri","uri":[]}`):                          "extractionNamespace of type [uri] is not readable: field 'uri' can't be a JSON array",
		namespace(`{"type":"jdbc","filter":[]}`):                      "extractionNamespace of type [jdbc] is not readable: field 'filter' can't be a JSON array",
		namespace(`{"type":{}}`):                                      "extractionNamespace is not readable: field 'type' can't be a JSON object",
		jdbc("postgresql://h/d", ""):                                  "must begin with [jdbc:]",
		jdbc("jdbc:oracle://h/d", ""):                                 "database of kind [oracle]",
		jdbc("jdbc:postgresql://h/d", `,"password":{"type":"vault"}`): "password type 'vault' is unknown",
	} {
		if f, err := parse(json.RawMessage(text)); f != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", text, f, err, want)
		}
	}
}

func TestConnectionPropertiesAreGuarded(t *testing.T) {
	for uri, want := range map[string]string{
		"postgresql://h:1/d?sslmode=disable":         "",
		"postgresql://h:1/d?ssl=true":                "",
		"postgresql://h:1/d?options=-c%20x":          "Property [options]",
		"postgresql://h:1/d?sslrootcert=/etc/passwd": "Property [sslrootcert]",
		"postgresql:nothing":                         "not readable",
	} {
		d := &database{uri: uri}
		_, err := d.postgres(nil, secret.NewText("secret"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", uri, err, want)
		}
	}
	var fromEnvironment secret.Password
	if err := json.Unmarshal([]byte(`{"type":"environment","variable":"PW"}`), &fromEnvironment); err != nil {
		t.Fatal(err)
	}
	if _, err := (&database{uri: "postgresql://h/d", password: fromEnvironment}).open(t.Context(), &ingest.Access{}); err == nil {
		t.Error("a password from an environment that may not be read was accepted")
	}
}

// TestNamesOfTablesAndColumns mean what they mean in a statement, but that words of SQL and what is
// no plain name need no quotes.
func TestNamesOfTablesAndColumns(t *testing.T) {
	for _, c := range [][3]string{
		{"postgresql://h/d", "Id", `"id"`},
		{"postgresql://h/d", "S.My Table", `"s"."My Table"`},
		{"postgresql://h/d", `"Id"`, `"Id"`},
		{"postgresql://h/d", `"S"."a.b"`, `"S"."a.b"`},
		{"postgresql://h/d", `"S".T`, `"S"."t"`},
		{"postgresql://h/d", `a"b`, `"a""b"`},
		{"postgresql://h/d", "user", `"user"`},
		{"sqlite:/f", "Id", `"Id"`},
		{"mysql://h/d", "s.Id", "`s`.`Id`"},
		{"postgresql://h/d", "LOWER(Id)", "LOWER(Id)"},
		{"sqlite:/f", "a || '-' || b", "a || '-' || b"},
		{"sqlite:/f", `"a(b)"`, `"a(b)"`},
		{"mysql://h/d", "`s`.`a.b`", "`s`.`a.b`"},
	} {
		s, err := parseDatabase(json.RawMessage(`{"type":"jdbc","connectorConfig":{"connectURI":"jdbc:` + c[0] + `"},"table":"t","keyColumn":"k","valueColumn":"v"}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.(*database).name(c[1]); got != c[2] {
			t.Errorf("%s of %s: %s, want %s", c[1], c[0], got, c[2])
		}
	}
}

func TestContainersAsText(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"map","map":{"a":"AA"},"isOneToOne":false}`: "{type=map, map={a=AA}, isOneToOne=false}",
		`{"a":[1,null,{"b":2.50}]}`:                          "{a=[1, null, {b=2.50}]}",
		`{}`:                                                 "{}",
		strings.Repeat(`{"a":`, 100) + strings.Repeat("}", 100): strings.Repeat("{a=", 33) + "..." + strings.Repeat("...}", 32) + "...}",
	} {
		got := container("v", text).String()
		if full := "LookupExtractorFactoryContainer{version='v', lookupExtractorFactory=" + want + "}"; got != full && len(text) < 100 {
			t.Errorf("%s: %s, want %s", text, got, full)
		}
		if len(got) > 3*maxText {
			t.Errorf("a text of %d bytes", len(got))
		}
	}
}

func FuzzContainer(f *testing.F) {
	f.Add(`{"version":"v1","lookupExtractorFactory":{"type":"map","map":{"a":"b"}}}`)
	f.Add(`{"version":"v1","lookupExtractorFactory":{"type":"cachedNamespace","extractionNamespace":{"type":"uri","uri":"/a","namespaceParseSpec":{"format":"simpleJson"}}}}`)
	f.Add(`{"version":null,"lookupExtractorFactory":{"type":"cachedNamespace","extractionNamespace":{"type":"jdbc","connectorConfig":{"connectURI":"jdbc:sqlite:a"}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var c Container
		if json.Unmarshal([]byte(text), &c) != nil {
			return
		}
		_, _ = parse(c.Factory)
		if len(c.String()) > 10*len(text)+3*maxText {
			t.Error("the text is out of proportion")
		}
	})
}
