package coordinator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// far is deep storage that counts what is read of it, and is not known to be a directory.
type far struct {
	deepstore.Store

	read int
}

func (s *far) Open(ctx context.Context, key string) (deepstore.Object, error) {
	o, err := s.Store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return farObject{o, s}, nil
}

type farObject struct {
	deepstore.Object

	s *far
}

func (o farObject) ReadAt(p []byte, off int64) (int, error) {
	o.s.read += len(p)
	return o.Object.ReadAt(p, off)
}

// keep publishes one segment of a datasource whose file has these bytes.
func (f *fixture) keep(dataSource string, file []byte) string {
	f.t.Helper()
	key := dataSource + "/one.segment"
	if err := f.deep.Put(f.t.Context(), key, bytes.NewReader(file)); err != nil {
		f.t.Fatal(err)
	}
	iv := chrono.Interval{Start: millis(2026, 3, 1), End: millis(2026, 3, 2)}
	owner := tasklock.Owner{TaskID: "keeps " + dataSource, GroupID: "keeps " + dataSource, Priority: 50}
	request := metastore.LockRequest{Request: tasklock.Request{Owner: owner, DataSource: dataSource, Interval: iv, Type: tasklock.Exclusive}}
	l, granted, err := f.store.TryLock(f.t.Context(), request)
	if err != nil || !granted {
		f.t.Fatalf("lock: %v, %v", granted, err)
	}
	id := timeline.SegmentID{DataSource: dataSource, Interval: iv, Version: l.Version}
	schema := timeline.NewSchema([]timeline.Column{{Name: "__time", Type: "LONG"}})
	s := &timeline.Segment{ID: id, Shard: timeline.Numbered{Core: 1}, Schema: schema, Size: int64(len(file)), Rows: 2000,
		BinaryVersion: timeline.BinaryVersion}
	_, err = f.store.Publish(f.t.Context(), metastore.Publication{TaskID: owner.TaskID, DataSource: dataSource,
		Segments: []*timeline.Segment{s.Locate(f.deep.LoadSpec(key))}})
	if err != nil {
		f.t.Fatal(err)
	}
	return id.String()
}

// fileOf writes a segment of 2,000 rows.
func fileOf(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	columns := []segment.ColumnSpec{{Name: "__time", Type: vector.Long}, {Name: "n", Type: vector.Long}}
	w, err := segment.NewWriter(&out, segment.Options{Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	times, numbers := make([]int64, 2000), make([]int64, 2000)
	for i := range times {
		times[i], numbers[i] = millis(2026, 3, 1)+int64(i), int64(i*i%977)
	}
	batch := &vector.Batch{N: len(times), Cols: []*vector.Vector{vector.FromLongs(times), vector.FromLongs(numbers)}}
	if err := w.Append(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The anatomy of a segment is that of its file; of deep storage that is no directory only the
// footer is read.
func TestASegmentIsInspected(t *testing.T) {
	f := open(t)
	file := fileOf(t)
	id := f.keep("inspected", file)
	path := "/service/coordinator/v1/metadata/datasources/inspected/segments/" + id + "/inspect"
	ask := func() (a segment.Anatomy) {
		t.Helper()
		code, body := f.send(http.MethodGet, path, "")
		if code != http.StatusOK {
			t.Fatalf("status %d: %s", code, body)
		}
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	check := func(a segment.Anatomy, detailed bool) {
		t.Helper()
		if a.Rows != 2000 || a.Size != int64(len(file)) || a.File != "inspected/one.segment" ||
			len(a.Columns) != 2 {
			t.Fatalf("anatomy %+v", a)
		}
		n := a.Columns[1]
		if n.Name != "n" || n.Type != "LONG" || n.Nulls != 0 ||
			n.Min != 0.0 || n.Max == nil || len(n.Parts) == 0 || (n.Detail != "") != detailed {
			t.Errorf("column %+v", n)
		}
	}
	check(ask(), false)
	if f.deep.read == 0 || f.deep.read > len(file)*2/3 {
		t.Errorf("%d of %d bytes were read", f.deep.read, len(file))
	}
	f.api.o.Deep = f.deep.Store // the directory that it is
	check(ask(), true)
}

func TestWhatCanNotBeInspected(t *testing.T) {
	f := open(t)
	damaged := fileOf(t)
	damaged[len(damaged)-1] ^= 1
	broken := f.keep("broken", damaged)
	gone := f.keep("gone", fileOf(t))
	if err := f.deep.Delete(t.Context(), "gone/one.segment"); err != nil {
		t.Fatal(err)
	}
	const base = "C/metadata/datasources/"
	later := strings.ReplaceAll(f.loaded[0], "2026-03-0", "2027-03-0")
	for _, deep := range []deepstore.Store{f.deep, f.deep.Store} {
		f.api.o.Deep = deep
		f.expect("GET", base+"wiki/segments/nonsense/inspect", "", 400, "~is not the id of a segment of datasource [wiki]")
		f.expect("GET", base+"wiki/segments/"+later+"/inspect", "", 404, "~There is no published segment")
		f.expect("GET", base+"gone/segments/"+gone+"/inspect", "", 404, "~is not in deep storage")
		f.expect("GET", base+"broken/segments/"+broken+"/inspect", "", 500, "~not a segment")
		f.expect("GET", base+"wiki/segments/"+f.loaded[0]+"/inspect", "", 501, "~is outside of deep storage")
	}
	id, _ := timeline.ParseID("broken", broken)
	_, err := f.api.anatomy(t.Context(), &timeline.Segment{ID: id})
	if err == nil || errors.Is(err, os.ErrNotExist) || errors.Is(err, io.EOF) {
		t.Errorf("a segment that lies nowhere: %v", err)
	}
}
