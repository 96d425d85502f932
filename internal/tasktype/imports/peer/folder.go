package peer

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/timeline"
)

// ReadFolder finds the segments of a deep storage on disk by the names of its folders:
// datasource/start_end/version/partition, with index.zip or the folder index in it. Of each
// interval only the newest version counts. Shard specs are in no name: the partitions of an
// interval are taken for all there are, which hides what older versions have there, and are not
// pruned by dimensions.
func ReadFolder(ctx context.Context, dir string) (*Catalog, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fault.NotFound("There is no folder [%s]", dir)
	}
	found := &Catalog{}
	type chunk struct {
		dataSource string
		interval   chrono.Interval
	}
	newest := map[chunk]string{}
	partitions := map[timeline.SegmentID]string{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fault.InvalidInput("Folder [%s] can't be read", path).WithCause(err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !isSegment(d) {
			return nil
		}
		rel, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		id, ok := idOf(filepath.ToSlash(rel))
		if !ok {
			found.skip(fault.InvalidInput("Folder [%s] is not named as segments are: datasource/start_end/version/partition", filepath.Dir(path)))
			return skipFolder(d)
		}
		partitions[id] = path
		at := chunk{id.DataSource, id.Interval}
		newest[at] = max(newest[at], id.Version)
		return skipFolder(d)
	})
	if err != nil {
		return nil, err
	}
	counts := map[chunk]int{}
	for id := range partitions {
		if at := (chunk{id.DataSource, id.Interval}); newest[at] == id.Version {
			counts[at] = max(counts[at], id.Partition+1)
		}
	}
	for id, path := range partitions {
		at := chunk{id.DataSource, id.Interval}
		if newest[at] != id.Version {
			continue
		}
		spec, err := json.Marshal(map[string]string{"type": "local", "path": path})
		if err != nil {
			return nil, err
		}
		core := counts[at]
		if !complete(partitions, id, core) {
			core = 0 // each partition is visible by itself
		}
		s := &timeline.Segment{
			ID: id, Shard: timeline.Numbered{Partition: id.Partition, Core: core}, Schema: timeline.SchemaOfNames(nil, nil), Rows: -1,
			BinaryVersion: timeline.BinaryVersion,
		}
		found.Segments = append(found.Segments, s.Locate(spec))
	}
	found.sort()
	return found, nil
}

// complete reports whether the partitions from 0 on are all there.
func complete(partitions map[timeline.SegmentID]string, id timeline.SegmentID, core int) bool {
	for p := range core {
		id.Partition = p
		if _, ok := partitions[id]; !ok {
			return false
		}
	}
	return true
}

func isSegment(d fs.DirEntry) bool {
	return d.IsDir() && d.Name() == "index" || !d.IsDir() && d.Name() == "index.zip"
}

func skipFolder(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// idOf reads a path below deep storage.
func idOf(path string) (id timeline.SegmentID, ok bool) {
	parts := strings.Split(path, "/")
	if len(parts) != 4 {
		return id, false
	}
	start, end, _ := strings.Cut(parts[1], "_")
	if strings.Count(parts[1], "_") != 1 {
		return id, false
	}
	from, err := chrono.ParseInstant(start)
	if err != nil {
		return id, false
	}
	to, err := chrono.ParseInstant(end)
	if err != nil || to <= from {
		return id, false
	}
	partition, err := strconv.Atoi(parts[3])
	if err != nil || partition < 0 {
		return id, false
	}
	return timeline.SegmentID{DataSource: parts[0], Interval: chrono.Interval{Start: from, End: to}, Version: parts[2], Partition: partition}, true
}
