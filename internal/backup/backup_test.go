package backup

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

func TestMain(m *testing.M) {
	code := m.Run()
	postgres.Stop()
	os.Exit(code)
}

// small writes a backup of a store with a rule and a file in deep storage.
func small(t testing.TB) (path string) {
	t.Helper()
	dir := t.TempDir()
	at := metastore.Options{Path: filepath.Join(dir, "metastore.db")}
	store, err := metastore.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.SetRules(t.Context(), metastore.Fence{}, "wiki", json.RawMessage(`[{"type":"loadForever"}]`), nil); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	deep, err := deepstore.OpenLocal(filepath.Join(dir, "segments"))
	if err != nil {
		t.Fatal(err)
	}
	defer deep.Close()
	path = filepath.Join(dir, "one.backup")
	_, err = Write(t.Context(), path, WriteOptions{
		Metastore: at, Deep: deep, Settings: "service.host=h\n", Segments: true, Release: "test", Clock: fakeclock.New(time.Unix(1e9, 0)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAServerIsBackedUpAndRestored(t *testing.T) {
	for name, target := range map[string]func(t *testing.T) []string{
		"sqlite": func(*testing.T) []string { return nil },
		"postgres": func(t *testing.T) []string {
			return []string{"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + postgres.URL(t)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			settings := target(t)
			first := server.Start(t, server.Options{})
			load := `INSERT INTO wiki SELECT TIME_PARSE(t) AS __time, page, n FROM TABLE(EXTERN('{"type":"inline","data":"t,page,n\n` +
				`2026-01-01,a,1\n2026-01-01,b,2\n2026-01-02,c,39\n"}','{"type":"csv","findColumnsFromHeader":true}')) ` +
				`EXTEND (t VARCHAR, page VARCHAR, n BIGINT) PARTITIONED BY DAY`
			if err := first.Ingest(t.Context(), load, map[string]any{"waitUntilSegmentsLoad": true}); err != nil {
				t.Fatal(err)
			}
			const question = "SELECT page, SUM(n) FROM wiki GROUP BY 1 ORDER BY 1"
			want, err := first.Query(t.Context(), question)
			if err != nil || len(want) != 3 {
				t.Fatalf("%v, %v", want, err)
			}
			deep, err := deepstore.OpenLocal(filepath.Join(first.Dir, "segments"))
			if err != nil {
				t.Fatal(err)
			}
			defer deep.Close()
			path := filepath.Join(t.TempDir(), "all.backup")
			summary, err := Write(t.Context(), path, WriteOptions{
				Metastore: metastore.Options{Path: filepath.Join(first.Dir, "metastore.db")}, Deep: deep, Segments: true, Clock: clock.System(),
			})
			if err != nil || summary.Files != 2 || summary.Rows["segments"] != 2 {
				t.Fatalf("the backup of a running server: %+v, %v", summary, err)
			}
			if err := first.Stop(); err != nil {
				t.Fatal(err)
			}

			dir := t.TempDir()
			into, err := deepstore.OpenLocal(filepath.Join(dir, "segments"))
			if err != nil {
				t.Fatal(err)
			}
			defer into.Close()
			o := RestoreOptions{Metastore: metastore.Options{Path: filepath.Join(dir, "metastore.db")}, Deep: into}
			if len(settings) > 0 {
				_, url, _ := strings.Cut(settings[1], "=")
				o.Metastore = metastore.Options{URL: url}
			}
			done, err := Restore(t.Context(), path, o)
			if err != nil || done.Absent != 0 {
				t.Fatalf("%+v, %v", done, err)
			}
			// Nothing is left of the place it came from.
			if err := os.RemoveAll(first.Dir); err != nil {
				t.Fatal(err)
			}
			second := server.Start(t, server.Options{Dir: dir, Settings: settings})
			got, err := second.Query(t.Context(), question)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if err := second.Ingest(t.Context(), load, map[string]any{"waitUntilSegmentsLoad": true}); err != nil {
				t.Errorf("a restored server does not take rows: %v", err)
			}
		})
	}
}

func TestARestoreSaysWhichFilesAreAbsent(t *testing.T) {
	first := server.Start(t, server.Options{})
	err := first.Ingest(t.Context(), `INSERT INTO w SELECT TIMESTAMP '2026-01-01' AS __time, 1 AS n PARTITIONED BY ALL`, nil)
	if err != nil {
		t.Fatal(err)
	}
	deep, err := deepstore.OpenLocal(filepath.Join(first.Dir, "segments"))
	if err != nil {
		t.Fatal(err)
	}
	defer deep.Close()
	path := filepath.Join(t.TempDir(), "rows.backup")
	from := metastore.Options{Path: filepath.Join(first.Dir, "metastore.db")}
	if _, err := Write(t.Context(), path, WriteOptions{Metastore: from, Deep: deep, Clock: clock.System()}); err != nil {
		t.Fatal(err)
	}
	into, err := deepstore.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	done, err := Restore(t.Context(), path, RestoreOptions{Metastore: metastore.Options{Path: filepath.Join(t.TempDir(), "m.db")}, Deep: into})
	if err != nil || done.Absent != 1 || done.AbsentKey == "" {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestABackupIsNotOverwritten(t *testing.T) {
	path := small(t)
	_, err := Write(t.Context(), path, WriteOptions{})
	if found := fault.Find(err); found == nil || found.Category != fault.CategoryConflict {
		t.Errorf("got %v", err)
	}
}

func TestCheckTellsWhatABackupHolds(t *testing.T) {
	content, err := Check(t.Context(), small(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if content.Settings != "service.host=h\n" || content.Manifest.Release != "test" || content.Manifest.Created != 1e12 ||
		content.Manifest.Source.Database != "SQLite" || content.Summary.Rows["rules"] != 1 {
		t.Errorf("got %+v", content)
	}
}

func TestDamagedBackupsAreRefused(t *testing.T) {
	whole, err := os.ReadFile(small(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bad.backup")
	check := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Check(t.Context(), path, nil)
		if !errors.Is(err, ErrDamaged) || fault.Find(err) == nil {
			t.Errorf("%s: got %v", what, err)
		}
	}
	for n := 0; n < len(whole); n += 1 + len(whole)/200 {
		check(fmt.Sprintf("cut off at %d", n), whole[:n])
		flipped := bytes.Clone(whole)
		flipped[n] ^= 0x10
		check(fmt.Sprintf("bit flipped at %d", n), flipped)
	}
	check("something follows", append(bytes.Clone(whole), 0))
	// A frame that is left out has no wrong checksum: the digest at the end tells.
	check("a frame is left out", append(bytes.Clone(whole[:headerSize]), whole[headerSize+frameHead+int(whole[headerSize+4]):]...))

	// Nothing is written from a damaged backup.
	target := filepath.Join(t.TempDir(), "m.db")
	if _, err := Restore(t.Context(), path, RestoreOptions{Metastore: metastore.Options{Path: target}}); !errors.Is(err, ErrDamaged) {
		t.Errorf("restoring: %v", err)
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("a damaged backup was restored")
	}
}

func TestBackupsOfNewerReleasesAreRefused(t *testing.T) {
	b := newer(t)
	path := filepath.Join(t.TempDir(), "newer.backup")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Check(t.Context(), path, nil)
	if !errors.Is(err, ErrNewer) || errors.Is(err, ErrDamaged) || fault.Find(err).Category != fault.CategoryUnsupported {
		t.Errorf("got %v", err)
	}
}

func newer(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := newFrameWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.end(nil); err != nil {
		t.Fatal(err)
	}
	b := out.Bytes()
	b[8]++
	binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[:12], castagnoli))
	return b
}

func TestRowsComeBack(t *testing.T) {
	rows := [][]any{{int64(-1), "", nil}, {int64(1) << 62, "a\x00ü", "x"}}
	var b []byte
	for _, row := range rows {
		b = appendRow(b, row)
	}
	for _, want := range rows {
		got := make([]any, len(want))
		var err error
		if b, err = takeRow(b, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if len(b) != 0 {
		t.Errorf("[%d] bytes are left", len(b))
	}
}

func FuzzCheck(f *testing.F) {
	whole, err := os.ReadFile(small(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:40])
	f.Add(newer(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		frames, err := newFrameReader(bytes.NewReader(b), nil)
		if err != nil {
			return
		}
		defer frames.close()
		c := &checker{rows: map[string]int64{}}
		for err == nil {
			var k kind
			var payload []byte
			if k, payload, err = frames.frame(); err == nil {
				err = c.frame(k, payload)
			}
		}
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, io.EOF) {
			t.Errorf("got %v", err)
		}
	})
}

func FuzzTakeRow(f *testing.F) {
	f.Add(appendRow(nil, []any{int64(5), "x", nil}))
	f.Add([]byte{tagText, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		row := make([]any, 3)
		if _, err := takeRow(b, row); err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("got %v", err)
		}
	})
}
