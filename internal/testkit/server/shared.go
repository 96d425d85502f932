package server

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/golden"
)

// Wikiticker is the sample of a day's edits, below the shared folder.
const Wikiticker = "data/wikiticker-2015-09-12-sampled.json.gz"

// Shared returns the folder beside the repository that holds recorded answers and sample data. The test is skipped if there is none.
func Shared(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("the test does not run inside the repository")
		}
		dir = up
	}
	shared := filepath.Join(filepath.Dir(dir), "shared")
	if _, err := os.Stat(filepath.Join(shared, "golden")); err != nil {
		t.Skip("the recorded answers (../shared/golden, beside the repository) are not here")
	}
	return shared
}

// GoldenData unpacks what recorded requests call /data into a folder of the test.
func GoldenData(t testing.TB, shared string) string {
	t.Helper()
	dir := t.TempDir()
	in, err := os.Open(filepath.Join(shared, Wikiticker))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(dir, "wikiticker.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, plain); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// LoadGolden plays the recorded loads (golden/setup) and waits until each is done. Loads that need a kind of task this server does not
// have are done by SQL instead. It returns the player, for what else a test wants to play.
func (c *Client) LoadGolden(ctx context.Context, t testing.TB, shared string) *golden.Player {
	t.Helper()
	setup, err := golden.Load(filepath.Join(shared, "golden", "setup"))
	if err != nil {
		t.Fatal(err)
	}
	p := &golden.Player{Addresses: c.Addresses, Replace: strings.NewReplacer("/data/", GoldenData(t, shared)+"/"), Wait: time.Minute}
	for _, e := range setup {
		if strings.HasSuffix(e.Request.Path, "/sql/task") {
			err = p.Ingest(ctx, e)
		} else {
			err = c.loadNative(ctx, e)
		}
		if err != nil {
			t.Fatalf("loading the data of %s: %v", e.Name, err)
		}
	}
	return p
}

// loadNative does by SQL what a recorded index_parallel task over inline JSON does.
func (c *Client) loadNative(ctx context.Context, e *golden.Exchange) error {
	spec, err := golden.ReadNativeLoad(e.Request.Body)
	if err != nil {
		return err
	}
	spec.Types = map[string]string{"al": "BIGINT ARRAY", "ad": "DOUBLE ARRAY", "as": "TYPE('COMPLEX<json>')"}
	return c.load(ctx, spec)
}

// load runs the statement of a native load.
func (c *Client) load(ctx context.Context, spec *golden.NativeLoad) error {
	statement, err := spec.SQL()
	if err != nil {
		return err
	}
	settings := map[string]any{"arrayIngestMode": "array"}
	if spec.Rollup() {
		settings = map[string]any{"finalizeAggregations": false, "finalize": false}
	}
	if err := c.Ingest(ctx, statement, settings); err != nil {
		return fmt.Errorf("loading %s: %w", spec.DataSource, err)
	}
	return nil
}

// LoadCorpus loads the datasources that the statements of golden/corpus ask: those with a statement beside their data by it, the
// others, whose recorded load is a native one, by SQL of the same effect.
func (c *Client) LoadCorpus(ctx context.Context, shared string) error {
	data := filepath.Join(shared, "golden", "corpus", "data")
	for _, name := range []string{"c_types", "c_dim", "c_events"} {
		text, err := os.ReadFile(filepath.Join(data, name+".sql"))
		if err != nil {
			return err
		}
		if err := c.Ingest(ctx, strings.ReplaceAll(string(text), "/data/", data+"/"), nil); err != nil {
			return fmt.Errorf("loading %s: %w", name, err)
		}
	}
	for _, l := range []struct {
		name  string
		types map[string]string
	}{
		{"c_arrays", map[string]string{"sa": "VARCHAR ARRAY", "la": "BIGINT ARRAY", "da": "DOUBLE ARRAY"}},
		{"c_sk", map[string]string{"user": "VARCHAR", "page": "VARCHAR", "tags": "VARCHAR ARRAY", "eid": "BIGINT", "bytes": "BIGINT", "ms": "DOUBLE"}},
		{"c_skd", map[string]string{"name": "VARCHAR", "n": "BIGINT", "w": "DOUBLE"}},
		{"c_skin", nil},
	} {
		text, err := os.ReadFile(filepath.Join(data, l.name+".task.json"))
		if err != nil {
			return err
		}
		spec, err := golden.ReadNativeLoad([]byte(strings.ReplaceAll(string(text), "/data/", data+"/")))
		if err != nil {
			return err
		}
		spec.Types = l.types
		if err := c.load(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}
