package msq

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// PushSegment stores the file of a segment in deep storage and returns its descriptor. It calls
// named with the key before it stores anything under it, so that the caller can delete unpublished
// files. A local file must not be written afterwards, because the object in deep storage may be a
// hard link to it.
func PushSegment(ctx context.Context, store deepstore.Store, id timeline.SegmentID, shard timeline.ShardSpec, file io.ReadSeeker, info *segment.Info,
	named func(key string)) (*timeline.Segment, error) {
	key, err := segmentKey(id, info.Fingerprint)
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	named(key)
	if err := put(ctx, store, key, file); err != nil {
		// It may be there all the same, when only the answer was lost. What can't be deleted now is
		// garbage without a reference.
		_ = store.Delete(context.WithoutCancel(ctx), key)
		return nil, fmt.Errorf("pushing segment [%s]: %w", id, err)
	}
	columns := make([]timeline.Column, 0, len(info.Columns))
	for _, col := range info.Columns {
		kind := col.Type.String()
		if col.Multi {
			kind = vector.String.String()
		}
		columns = append(columns, timeline.Column{Name: col.Name, Type: kind, MultiValue: col.Multi, Metric: col.Metric != ""})
	}
	s := &timeline.Segment{ID: id, Shard: shard, Schema: timeline.NewSchema(columns), Size: info.Size, Rows: int64(info.Rows),
		Times: info.Times(), BinaryVersion: timeline.BinaryVersion}
	return s.Locate(store.LoadSpec(key)), nil
}

// put stores a file that is complete.
func put(ctx context.Context, store deepstore.Store, key string, file io.ReadSeeker) error {
	if f, ok := file.(*os.File); ok {
		if store, ok := store.(deepstore.Adopter); ok {
			return store.Adopt(ctx, key, f)
		}
	}
	return store.Put(ctx, key, file)
}

// segmentKey is where a segment's file lies in deep storage. Its last part is random, so that a
// retry never meets what a failure left behind, and says which file it is: who opens it finds out
// when it is the file of another segment.
func segmentKey(id timeline.SegmentID, fingerprint string) (string, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return segment.FileName(segmentPrefix(id)+hex.EncodeToString(random[:]), fingerprint), nil
}

// segmentPrefix is the beginning of the keys of a segment's files. Those of an interval lie in one
// directory: each more would have to be made, and be on disk, for every segment.
func segmentPrefix(id timeline.SegmentID) string {
	return fmt.Sprintf("segments/%s/%s_%s/%s_%d_", id.DataSource, chrono.FormatMillis(id.Interval.Start, nil), chrono.FormatMillis(id.Interval.End, nil),
		id.Version, id.Partition)
}
