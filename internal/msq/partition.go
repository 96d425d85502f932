package msq

import (
	"bytes"
	"slices"

	"github.com/hengedb/henge/internal/timeline"
)

// partition is a range of the keys of sorted outputs.
type partition struct {
	lo, hi []byte // nil: open
	bucket int64
	// start is the values of the shard columns at lo; nil: open.
	start timeline.Tuple
	// rows is about how many rows it has: exact up to the size of frames.
	rows int64
	// hash is the bucket of hashes that its rows are in, of so many; 0: rows are not divided by
	// hashes.
	hash, hashes int
}

// divide cuts sorted outputs into partitions of about target rows. With buckets a partition lies
// within one; a bucket with more rows than target is cut evenly at keys that the frames begin with.
// Rows with equal boundary keys stay together.
func divide(outputs []*output, bucketed bool, target int64) []partition {
	var frames []*frameRef
	for _, o := range outputs {
		for i := range o.frames {
			frames = append(frames, &o.frames[i])
		}
	}
	if len(frames) == 0 {
		return nil
	}
	slices.SortStableFunc(frames, func(a, b *frameRef) int { return bytes.Compare(a.first, b.first) })
	var out []partition
	for len(frames) > 0 {
		n := 1
		for n < len(frames) && (!bucketed || frames[n].bucket == frames[0].bucket) && !frames[n].full() && !frames[n-1].full() {
			n++
		}
		out = append(out, divideBucket(frames[:n], target)...)
		frames = frames[n:]
	}
	if !bucketed {
		out[0].lo = nil
	}
	for i := range out {
		if i+1 < len(out) {
			out[i].hi = out[i+1].lo
		}
	}
	return out
}

// divideBucket cuts the frames of one bucket, or what lies between those that are segments of their
// own.
func divideBucket(frames []*frameRef, target int64) []partition {
	rows := int64(0)
	for _, f := range frames {
		rows += int64(f.rows)
	}
	parts := max(1, (rows+target-1)/target)
	out := []partition{{lo: frames[0].boundary, bucket: frames[0].bucket}}
	seen := int64(0)
	for _, f := range frames {
		last := &out[len(out)-1]
		if seen >= rows*int64(len(out))/parts && int64(len(out)) < parts && last.rows > 0 && bytes.Compare(f.boundary, last.lo) > 0 {
			out = append(out, partition{lo: f.boundary, bucket: f.bucket, start: f.start})
			last = &out[len(out)-1]
		}
		last.rows += int64(f.rows)
		seen += int64(f.rows)
	}
	return out
}
