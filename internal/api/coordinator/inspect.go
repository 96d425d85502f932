package coordinator

import (
	"context"
	"errors"
	"io/fs"
	"net/http"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
)

// inspectSegment answers the anatomy of a segment's file, used or not: columns, types, encodings,
// sizes, indexes, statistics.
func (a *API) inspectSegment(w http.ResponseWriter, r *http.Request) error {
	dataSource, id := r.PathValue("dataSource"), r.PathValue("segment")
	readings := timeline.ParseIDs(dataSource, id)
	if len(readings) == 0 {
		return fault.InvalidInput("Text [%s] is not the id of a segment of datasource [%s]", id, dataSource)
	}
	s, err := a.knownSegment(r.Context(), dataSource, id)
	switch {
	case err != nil:
		return err
	case s == nil:
		return fault.NotFound("There is no published segment [%s]", id)
	case s.IsTombstone():
		return fault.NotFound("Segment [%s] is a tombstone: it has no file", id)
	}
	anatomy, err := a.anatomy(r.Context(), s)
	if err != nil {
		return err
	}
	return write(w, anatomy)
}

// knownSegment returns a segment that the metastore knows, or nil.
func (a *API) knownSegment(ctx context.Context, dataSource, id string) (*timeline.Segment, error) {
	rows, err := a.store.Segments(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.ID.DataSource == dataSource {
			return row.Segment, nil
		}
	}
	return nil, nil
}

// anatomy takes the file of a segment apart: all of it where deep storage is a directory, else by
// its footer, so that no more than that is fetched.
func (a *API) anatomy(ctx context.Context, s *timeline.Segment) (*segment.Anatomy, error) {
	id := s.ID.String()
	key, err := a.o.Deep.Key(s.LoadSpec())
	if err != nil {
		return nil, fault.Unsupported("Segment [%s] is outside of deep storage: [%s]", id, err)
	}
	missing := func(err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return fault.NotFound("The file of segment [%s] is not in deep storage", id)
		}
		return err
	}
	if disk, ok := a.o.Deep.(deepstore.OnDisk); ok {
		path, err := disk.Path(key)
		if err != nil {
			return nil, err
		}
		file, err := segment.Open(path)
		if err != nil {
			return nil, missing(err)
		}
		defer file.Release()
		anatomy, err := segment.Inspect(file)
		return named(anatomy, key), err
	}
	object, err := a.o.Deep.Open(ctx, key)
	if err != nil {
		return nil, missing(err)
	}
	defer object.Close()
	file, err := segment.OpenAt(object, object.Size(), key)
	if err != nil {
		return nil, missing(err)
	}
	defer file.Release()
	return named(segment.Outline(file), key), nil
}

// named gives an anatomy the key of deep storage in place of a path of this machine.
func named(a *segment.Anatomy, key string) *segment.Anatomy {
	if a != nil {
		a.File = key
	}
	return a
}
