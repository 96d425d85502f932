package lookup

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// TestObjectsAreReadAndReadAgain reads lookups from the store that the settings name, by its
// protocol.
func TestObjectsAreReadAndReadAgain(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("b"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	store := s3.Options{Endpoint: server.URL, Region: "us-east-1", AccessKey: secret.NewText("a"), SecretKey: secret.NewText("s")}
	client, err := s3.Connect(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	put := func(key, text string) {
		if err := client.Put(t.Context(), "b", key, strings.NewReader(text), int64(len(text)), false); err != nil {
			t.Fatal(err)
		}
	}
	put("names/one.csv", "de,Germany\n")
	put("names/two.txt", "de,Deutschland\n")
	put("names/with blank.csv", "de,Allemagne\n")
	s := newSet(t, Options{Access: &ingest.Access{S3: store}})
	of := func(where string) Container {
		return container("1", `{"type":"cachedNamespace","extractionNamespace":{"type":"uri",`+where+`,"namespaceParseSpec":{"format":"csv","columns":["k","v"]},"pollPeriod":1}}`)
	}
	s.Apply(t.Context(), map[string]Container{
		"named": of(`"uri":"s3://b/names/one.csv"`), "escaped": of(`"uri":"s3://b/names/with%20blank.csv"`), "chosen": of(`"uriPrefix":"s3://b/names/","fileRegex":".*txt"`),
		"missing": of(`"uri":"s3://b/none"`), "nothing": of(`"uriPrefix":"s3://b/names/","fileRegex":"x"`),
	})
	v := until(t, s, func(v *View) bool {
		return len(v.Names()) == 3 && v.failed["missing"] != nil && v.failed["nothing"] != nil
	})
	for name, want := range map[string]string{"named": "Germany", "escaped": "Allemagne", "chosen": "Deutschland"} {
		if diff := cmp.Diff(map[string]string{"de": want}, content(v, name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := content(v, "nothing")["error"]; !strings.Contains(got, "No file below [s3://b/names/] matches the lookup") {
		t.Error(got)
	}
	put("names/one.csv", "de,Germania\n")
	put("names/three.txt", "de,Duitsland\n")
	until(t, s, func(v *View) bool {
		return content(v, "named")["de"] == "Germania" && content(v, "chosen")["de"] == "Duitsland"
	})
}

// TestReadingsAreSpread says when a lookup is read again, and that one that is large is told of.
func TestReadingsAreSpread(t *testing.T) {
	var log bytes.Buffer
	at := fakeclock.New(time.UnixMilli(0))
	s := NewSet(Options{Clock: at, Memory: budget.Root(4 << 20), Log: slog.New(slog.NewTextHandler(&log, nil))})
	f, err := parse([]byte(`{"type":"cachedNamespace","extractionNamespace":{"type":"uri","uri":"/none","namespaceParseSpec":{"format":"simpleJson"},"pollPeriod":"PT1H","jitterSeconds":60,"maxHeapPercentage":0.1}}`))
	if err != nil {
		t.Fatal(err)
	}
	f.source = oneKey(strings.Repeat("x", 20_000))
	e := &entry{factory: f}
	s.mu.next["l"] = e
	later := false
	for range 200 {
		s.load(t.Context(), "l", e)
		pause := e.due.Sub(at.Now())
		if pause < time.Hour || pause > time.Hour+time.Minute {
			t.Fatalf("it is read again after %v", pause)
		}
		later = later || pause > time.Hour
	}
	if !later {
		t.Error("it is always read again after an hour")
	}
	if !strings.Contains(log.String(), "larger than its maxHeapPercentage") {
		t.Error(log.String())
	}
}

// oneKey is a source with one entry, which has this value.
type oneKey string

func (o oneKey) read(_ context.Context, _ *ingest.Access, _ string, add func(key, value string) error) (bool, string, error) {
	return true, "", add("k", string(o))
}
