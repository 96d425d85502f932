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
		"misspelt":      {[]string{"service.router.plainTextPort=1"}, []string{"[service.router.plainTextPort]", "did you mean [service.router.plaintextPort]"}},
		"other role":    {[]string{"service.worker.plaintextPort=1"}, []string{"[service.worker.plaintextPort]", "did you mean [service.indexer.plaintextPort]"}},
		"foreign":       {[]string{"druid.host=x"}, []string{"[druid.host]", "unknown"}},
		"no number":     {[]string{"service.router.plaintextPort=x"}, []string{"[x]", "[service.router.plaintextPort]", "whole number"}},
		"no bool":       {[]string{"service.sql.enable=yes"}, []string{"[yes]", "true or false"}},
		"bad duration":  {[]string{"service.coordinator.period=5m"}, []string{"[5m]", "duration"}},
		"month":         {[]string{"service.coordinator.period=P1M"}, []string{"no fixed length"}},
		"bad bytes":     {[]string{"service.memory.limit=2 potatoes"}, []string{"[2 potatoes]", "unit"}},
		"too much":      {[]string{"service.memory.limit=130%"}, []string{"100%"}},
		"bad list":      {[]string{"service.extensions.loadList=[1"}, []string{"list"}},
		"bad json":      {[]string{"service.labels={"}, []string{"malformed JSON"}},
		"no value":      {[]string{"service.host"}, []string{"key=value"}},
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
			if strings.Contains(f.Message, "s3cr3t") {
				t.Errorf("message %q shows a secret", f.Message)
			}
		})
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
