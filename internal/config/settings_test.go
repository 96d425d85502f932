package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runtime.properties")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLaterSourcesWin(t *testing.T) {
	file := write(t, "service.broker.plaintextPort=1\nservice.router.plaintextPort=1\nservice.overlord.plaintextPort = 1\nservice.labels={\"a\":\\\n\"b\"}\n")
	s, err := Load(Sources{
		Files:   []string{file},
		Environ: []string{"service_router_plaintextPort=2", "service_overlord_plaintextPort=2", "PATH=/bin", "_=x", "npm_config=1"},
		Flags:   []string{"service.overlord.plaintextPort=3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int64{
		"service.broker.plaintextPort": 1, "service.router.plaintextPort": 2, "service.overlord.plaintextPort": 3, "service.historical.plaintextPort": 8083,
	} {
		if got := s.Int(key); got != want {
			t.Errorf("%s = %d, want %d", key, got, want)
		}
	}
	if got := s.Text("service.labels"); got != `{"a":"b"}` {
		t.Errorf("continued line: %q", got)
	}
}

func TestAliasesNameTheSameSettings(t *testing.T) {
	s, err := Load(Sources{Flags: []string{`service.api.aliases=["druid"]`, "druid.broker.plaintextPort=7"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Int("service.broker.plaintextPort"); got != 7 {
		t.Errorf("port %d, want 7", got)
	}
}

func TestProblemsNameTheSettingAndTheNearestKnownOne(t *testing.T) {
	for name, tc := range map[string]struct {
		flags []string
		want  []string
	}{
		"misspelt":     {[]string{"service.router.plainTextPort=1"}, []string{"[service.router.plainTextPort]", "did you mean [service.router.plaintextPort]"}},
		"other role":   {[]string{"service.worker.plaintextPort=1"}, []string{"[service.worker.plaintextPort]", "did you mean [service.indexer.plaintextPort]"}},
		"foreign":      {[]string{"druid.host=x"}, []string{"[druid.host]", "unknown"}},
		"no number":    {[]string{"service.router.plaintextPort=x"}, []string{"[x]", "[service.router.plaintextPort]", "whole number"}},
		"no bool":      {[]string{"service.sql.enable=yes"}, []string{"[yes]", "is neither true nor false"}},
		"bad duration": {[]string{"service.coordinator.period=5m"}, []string{"[5m]", "duration"}},
		"month":        {[]string{"service.coordinator.period=P1M"}, []string{"no fixed length"}},
		"bad bytes":    {[]string{"service.memory.limit=2 potatoes"}, []string{"[2 potatoes]", "unit"}},
		"too much":     {[]string{"service.memory.limit=130%"}, []string{"100%"}},
		"bad list":     {[]string{"service.extensions.loadList=[1"}, []string{"list"}},
		"bad json":     {[]string{"service.labels={"}, []string{"is not JSON: it ends too early"}},
		"odd json":     {[]string{"service.labels={a}"}, []string{"is not JSON: character [2] is not expected there"}},
		"open list":    {[]string{"service.broker.segment.watchedTiers=[a"}, []string{`[[a]`, `is not a list: write ["a","b"], or a,b`}},
		"aliases": {[]string{"service.api.aliases=[a"}, []string{
			`Value [[a] of setting [service.api.aliases] (command line) is not a list`,
		}},
		"large number":  {[]string{"service.server.priority=99999999999999999999"}, []string{"is too large or too small"}},
		"no lease":      {[]string{"service.leader.leaseDuration=PT0S"}, []string{"must be longer than zero"}},
		"no size":       {[]string{"service.memory.limit=lots"}, []string{"is not a size: write a number"}},
		"locations":     {[]string{`service.segmentCache.locations={"path":1}`}, []string{"is not a list of"}},
		"no value":      {[]string{"service.host"}, []string{"key=value"}},
		"negative":      {[]string{"service.processing.numThreads=-5"}, []string{"[-5]", "must be between [0] and [4096]"}},
		"too many":      {[]string{"service.processing.numThreads=100000"}, []string{"must be between [0] and [4096]"}},
		"no port":       {[]string{"service.router.plaintextPort=99999"}, []string{"must be between [-1] and [65535]"}},
		"no capacity":   {[]string{"service.worker.capacity=-1"}, []string{"[service.worker.capacity]", "must be between"}},
		"less than 0":   {[]string{"service.server.maxSize=-1"}, []string{"must be at least [0]"}},
		"no timeout":    {[]string{"service.server.http.defaultQueryTimeout=-1"}, []string{"must be at least [0]"}},
		"no memory":     {[]string{"service.memory.limit=10"}, []string{"must be at least [1048576]"}},
		"back in time":  {[]string{"service.coordinator.period=PT-5M"}, []string{"must not be negative"}},
		"several":       {[]string{"service.x=1", "service.y=2"}, []string{"[service.x]", "[service.y]"}},
		"secret hidden": {[]string{"service.metadata.storage.connector.password=s3cr3t", "service.bad=1"}, []string{"[service.bad]"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(Sources{Flags: tc.flags})
			f := fault.Find(err)
			if f == nil {
				t.Fatalf("Load = %v, want a fault", err)
			}
			for _, w := range tc.want {
				if !strings.Contains(f.Message, w) {
					t.Errorf("message %q lacks %q", f.Message, w)
				}
			}
			for _, foreign := range []string{"s3cr3t", "strconv", "invalid character", "a bytes", "json:", "unmarshal", "syntax"} {
				if strings.Contains(f.Message, foreign) {
					t.Errorf("message %q has %q", f.Message, foreign)
				}
			}
		})
	}
}

// Every default is in the range that its setting has, and what has no effect may be anything.
func TestDefaultsAreInRange(t *testing.T) {
	for _, p := range slices.Concat(Properties, Accepted) {
		if err := checkRange(&p, p.Default); err != nil {
			t.Errorf("default [%s] of [%s]: %v", p.Default, p.Key, err)
		}
	}
	for key := range below {
		if find(key) == nil {
			t.Errorf("[%s] is no setting", key)
		}
	}
	for key := range above {
		if find(key) == nil {
			t.Errorf("[%s] is no setting", key)
		}
	}
	flags := []string{"service.router.http.numConnections=-7", "service.coordinator.kill.durationToRetain=P-1D", "service.server.priority=-3"}
	if _, err := Load(Sources{Flags: flags}); err != nil {
		t.Error(err)
	}
}

// Problems in a file name the line.
func TestProblemsNameTheLineOfTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.properties")
	text := "# service.labels=[\n\nservice.host = h\n  service.labels : {\nservice.processing.numThreads=-5\r\nservice.unknown\n" +
		"service.sql.enable=true\nservice.sql.enable=no\nservice.x\\u0041=1\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(Sources{Files: []string{file}})
	f := fault.Find(err)
	if f == nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"[service.labels] (file " + file + ", line 4) is not JSON", "[service.processing.numThreads] (file " + file + ", line 5) must be",
		"[service.unknown] (file " + file + ", line 6) is unknown", "[service.sql.enable] (file " + file + ", line 8) is neither",
		"[service.xA] (file " + file + ") is unknown",
	} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("%q is not in\n%s", want, f.Message)
		}
	}
	if _, err := Load(Sources{Files: []string{filepath.Dir(file)}}); err == nil ||
		!strings.HasSuffix(fault.Find(err).Message, "can't be read: it is a folder") {
		t.Errorf("a folder: %v", err)
	}
}

func TestMissingFile(t *testing.T) {
	if _, err := Load(Sources{Files: []string{"/nonexistent/x.properties"}}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("Load = %v", err)
	}
}

func TestValues(t *testing.T) {
	s, err := Load(Sources{Flags: []string{"service.memory.limit=25%", "service.server.maxSize=2GiB", "service.coordinator.period=PT2M", "service.extensions.loadList=a, b"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Bytes("service.memory.limit", 1000); got != 250 {
		t.Errorf("25%% of 1000 = %d", got)
	}
	if got := s.Bytes("service.server.maxSize", 0); got != 2<<30 {
		t.Errorf("2GiB = %d", got)
	}
	if got := s.Duration("service.coordinator.period"); got != 2*time.Minute {
		t.Errorf("PT2M = %s", got)
	}
	if got := s.List("service.extensions.loadList"); len(got) != 2 || got[1] != "b" {
		t.Errorf("list = %q", got)
	}
}

func TestVisibleHidesSecrets(t *testing.T) {
	s, err := Load(Sources{Flags: []string{
		"service.metadata.storage.connector.password=x", "service.metadata.storage.connector.connectURI=postgres://u:p@host/db", "service.host=h",
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Visible()
	if len(got) != 2 || got["service.host"] != "h" || got["service.metadata.storage.connector.connectURI"] != "postgres://********@host/db" {
		t.Errorf("Visible = %v", got)
	}
}

func TestDefaultsAreValid(t *testing.T) {
	for _, p := range slices.Concat(Properties, Accepted) {
		if p.Default != "" {
			if err := check(&p, p.Default); err != nil {
				t.Errorf("default [%s] of %s: %v", p.Default, p.Key, err)
			}
		}
		if p.Doc == "" {
			t.Errorf("%s has no documentation", p.Key)
		}
	}
}

func TestDocumentationIsGenerated(t *testing.T) {
	got, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Markdown() {
		t.Error("docs/configuration.md is out of date: run go generate ./internal/config")
	}
}
