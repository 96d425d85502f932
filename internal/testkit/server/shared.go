package server

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/golden"
)

// Wikiticker is the sample of a day's edits, below the shared folder.
const Wikiticker = "data/wikiticker-2015-09-12-sampled.json.gz"

// Shared returns the folder beside the repository that holds recorded answers and sample data. The
// test is skipped if there is none.
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

// LoadGolden plays the recorded loads (golden/setup) and waits until each is done. It returns the
// player, for what else a test wants to play.
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
			err = c.LoadNative(ctx, e.Request.Body)
		}
		if err != nil {
			t.Fatalf("loading the data of %s: %v", e.Name, err)
		}
	}
	return p
}

// LoadNative submits a native task and waits until it has succeeded.
func (c *Client) LoadNative(ctx context.Context, spec []byte) error {
	var submitted struct{ Task string }
	if err := c.Call(ctx, http.MethodPost, "/service/indexer/v1/task", json.RawMessage(spec), &submitted); err != nil {
		return err
	}
	task, err := c.Await(ctx, submitted.Task)
	if err == nil && task.StatusCode != "SUCCESS" {
		err = fmt.Errorf("task [%s] failed: %s", task.ID, task.ErrorMsg)
	}
	return err
}

// LoadCorpus loads the datasources that the statements of golden/corpus ask, by the statement or
// the native task beside their data.
func (c *Client) LoadCorpus(ctx context.Context, shared string) error {
	data := filepath.Join(shared, "golden", "corpus", "data")
	for _, name := range []string{"c_types.sql", "c_dim.sql", "c_events.sql", "c_arrays.task.json", "c_sk.task.json", "c_skd.task.json", "c_skin.task.json"} {
		text, err := os.ReadFile(filepath.Join(data, name))
		if err != nil {
			return err
		}
		load := strings.ReplaceAll(string(text), "/data/", data+"/")
		if strings.HasSuffix(name, ".sql") {
			err = c.Ingest(ctx, load, nil)
		} else {
			err = c.LoadNative(ctx, []byte(load))
		}
		if err != nil {
			return fmt.Errorf("loading %s: %w", name, err)
		}
	}
	return nil
}
