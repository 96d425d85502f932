package metastore

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/tasklock"
)

// recorder keeps a dump in memory and gives it back.
type recorder struct {
	from   Source
	tables []Table
	rows   map[string][][]any
	at     int
	left   [][]any
}

func (r *recorder) Begin(from Source) error { r.from, r.rows = from, map[string][][]any{}; return nil }
func (r *recorder) Table(t Table) error     { r.tables = append(r.tables, t); return nil }
func (r *recorder) Row(row []any) error {
	name := r.tables[len(r.tables)-1].Name
	r.rows[name] = append(r.rows[name], slices.Clone(row))
	return nil
}

// without takes columns out of a table.
func (r *recorder) without(table string, columns ...string) {
	t := &r.tables[slices.IndexFunc(r.tables, func(t Table) bool { return t.Name == table })]
	for _, c := range columns {
		at := slices.Index(t.Columns, c)
		t.Columns = slices.Delete(t.Columns, at, at+1)
		for i, row := range r.rows[table] {
			r.rows[table][i] = slices.Delete(row, at, at+1)
		}
	}
}

// replay reads what a recorder has.
type replay struct{ *recorder }

func (r replay) Source() Source { return r.from }
func (r replay) Table() (Table, error) {
	if r.at == len(r.tables) {
		return Table{}, io.EOF
	}
	t := r.tables[r.at]
	r.at++
	r.left = r.rows[t.Name]
	return t, nil
}

func (r replay) Row() ([]any, error) {
	if len(r.left) == 0 {
		return nil, io.EOF
	}
	row := r.left[0]
	r.left = r.left[1:]
	return row, nil
}

// fill puts something into most tables.
func (f *fixture) fill() {
	f.replace(day(1, 2), 2)
	f.replace(day(1, 2), 1)
	owner := f.owner(20)
	f.lock(owner, tasklock.Append, day(3, 4))
	_, err := f.SetRules(f.ctx(), Fence{}, "wiki", json.RawMessage(`[{"type":"loadForever"}]`), &AuditEntry{Type: "rules", Key: "wiki", Author: "ünï"})
	f.ok(err)
	_, err = f.SetSetting(f.ctx(), Fence{}, "coordinator", json.RawMessage(`{"a":9007199254740993,"text":"\\u0000 \"x\""}`), nil)
	f.ok(err)
	f.ok(f.PutStatement(f.ctx(), Statement{ID: "query-1", State: "SUCCESS", Payload: json.RawMessage(`{}`)}))
	_, held, err := f.AcquireLease(f.ctx(), "coordinator", "a", "a:1", 1)
	if err != nil || !held {
		f.t.Fatalf("the lease: %v, %v", held, err)
	}
}

func (f *fixture) dump() *recorder {
	f.t.Helper()
	r := &recorder{}
	f.ok(Dump(f.ctx(), f.options, r))
	return r
}

func TestADumpRestoresIntoEitherDatabase(t *testing.T) {
	targets := map[string]func(t *testing.T) Options{
		"sqlite":   func(t *testing.T) Options { return Options{Path: filepath.Join(t.TempDir(), "restored.db")} },
		"postgres": func(t *testing.T) Options { return Options{URL: postgresURL(t)} },
	}
	onEach(t, func(t *testing.T, f *fixture) {
		f.fill()
		for name, target := range targets {
			t.Run(name, func(t *testing.T) {
				dump, options := f.dump(), target(t)
				if err := Restore(t.Context(), options, replay{dump}, false); err != nil {
					t.Fatal(err)
				}
				restored := openFixture(t, options)
				if got, want := restored.visible(), f.visible(); got != want {
					t.Errorf("visible:\n%s\nwant:\n%s", got, want)
				}
				again := restored.dump()
				for table, rows := range dump.rows {
					if table == "store_info" || table == "leases" {
						continue // this release signs what it opens; leases have run out
					}
					if diff := cmp.Diff(rows, again.rows[table]); diff != "" {
						t.Errorf("table %s (-dumped +restored):\n%s", table, diff)
					}
				}
				lease, held, err := restored.AcquireLease(t.Context(), "coordinator", "b", "b:1", 1000)
				if err != nil || !held || lease.Epoch != 2 {
					t.Errorf("the lease is not taken with the next epoch: %+v, %v, %v", lease, held, err)
				}
			})
		}
	})
}

func TestADumpHasEveryTable(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		query := "SELECT name FROM sqlite_master WHERE type = 'table'"
		if f.dialect.numbered {
			query = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
		}
		names, err := list(f.ctx(), f.read(), scanText, query)
		f.ok(err)
		for _, name := range names {
			if !slices.Contains(dumped, name) && !slices.Contains([]string{"members", "goose_db_version", "sqlite_sequence"}, name) {
				t.Errorf("table %s is in no dump", name)
			}
		}
	})
}

func TestARestoreReplacesOnlyWhenTold(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.fill()
		dump := f.dump()
		f.replace(day(5, 6), 1)
		want := f.visible()
		f.refused(Restore(f.ctx(), f.options, replay{dump}, false), "is not empty")
		f.sees(want)
		f.ok(f.Close())
		f.ok(Restore(f.ctx(), f.options, replay{dump}, true))
		f.open()
		if got := f.visible(); got == want || got == "" {
			t.Errorf("after the restore: %s", got)
		}
	})
}

func TestARestoreIsRefusedWhileProcessesRun(t *testing.T) {
	f := openFixture(t, Options{URL: postgresURL(t)}) // of SQLite there is one process, which has locked its directory
	dump := f.dump()
	f.ok(f.Announce(f.ctx(), "x", []Member{{Role: "broker", Address: "b:1"}}, time.Minute))
	f.refused(Restore(f.ctx(), f.options, replay{dump}, true), "in use by [broker b:1]")
}

func TestARestoreTakesOlderSchemasAndRefusesNewerOnes(t *testing.T) {
	f := openFixture(t, Options{Path: filepath.Join(t.TempDir(), "metadata.db")})
	f.fill()
	dump := f.dump()
	dump.from.Schema = 1
	dump.without("tasks", "run", "runner")                                                           // which came with version 3
	dump.tables = slices.DeleteFunc(dump.tables, func(t Table) bool { return t.Name == savedTable }) // with version 5
	dump.without("segments", "times_from", "times_to")                                               // with version 6
	older := Options{Path: filepath.Join(t.TempDir(), "older.db")}
	f.ok(Restore(t.Context(), older, replay{dump}, false))
	restored := openFixture(t, older)
	f.ok(restored.Announce(t.Context(), "x", []Member{{Role: "broker", Address: "b:1"}}, time.Minute)) // a table of version 2

	dump = f.dump()
	dump.from.Schema, dump.from.Release = 99, "9.9"
	f.refused(Restore(t.Context(), Options{Path: filepath.Join(t.TempDir(), "n.db")}, replay{dump}, false), "release [9.9] or a later one")
}

func TestARestoreTrustsNoName(t *testing.T) {
	target := func() Options { return Options{Path: filepath.Join(t.TempDir(), "n.db")} }
	f := openFixture(t, target())
	for name, change := range map[string]func(*recorder){
		"which is not one of a metadata store": func(r *recorder) { r.tables[0].Name = "rules; DROP TABLE rules" },
		"metadata store of its version":        func(r *recorder) { r.tables[0].Columns[0] = "name) SELECT" },
	} {
		dump := f.dump()
		change(dump)
		options := target()
		f.refused(Restore(t.Context(), options, replay{dump}, false), name)
		if found, _ := filepath.Glob(options.Path + "*"); len(found) > 0 {
			t.Errorf("files are left: %s", found)
		}
	}
}
