package msq

import (
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/plan"
)

// Existing is a time chunk of the datasource that an append must respect: rows in its interval go
// into this chunk, regardless of the granularity of the job.
type Existing struct {
	Interval chrono.Interval
	// Torn is true if Interval is the part of a chunk that newer chunks leave visible: it does not
	// take more rows.
	Torn bool `json:",omitempty"`
}

// chunker tells which time chunk a row goes to: the existing one that it is in, else the bucket of
// the granularity, or of the coarsest finer one, that overlaps no existing chunk. The metastore
// decides in the same way when it allocates ids (metastore.AllocateSegment).
//
// The buckets do not overlap, and no two have the same start: the start of a bucket stands for it
// on the way to segments.
type chunker struct {
	granularities []chrono.Granularity // the wanted one first, then finer ones
	existing      []Existing           // in the order of time, without overlap
}

func newChunker(g chrono.Granularity, existing []Existing) *chunker {
	c := &chunker{granularities: []chrono.Granularity{g}, existing: existing}
	if len(existing) > 0 {
		c.granularities = g.AndFiner()
	}
	return c
}

// constant reports whether all rows have one bucket.
func (c *chunker) constant() bool { return c.granularities[0].IsAll() && len(c.existing) == 0 }

// bucket returns the bucket of an instant; false: rows at that time can't be appended.
func (c *chunker) bucket(ms int64) (chrono.Interval, bool) {
	if i := c.from(ms); i < len(c.existing) && c.existing[i].Interval.ContainsInstant(ms) {
		return c.existing[i].Interval, !c.existing[i].Torn
	}
	for _, g := range c.granularities {
		iv := g.Bucket(ms)
		if i := c.from(iv.Start); i == len(c.existing) || c.existing[i].Interval.Start >= iv.End {
			return iv, true
		}
	}
	return chrono.Interval{}, false
}

// from returns the place of the first existing chunk that ends after an instant.
func (c *chunker) from(ms int64) int {
	i, _ := slices.BinarySearchFunc(c.existing, ms, func(e Existing, ms int64) int {
		if e.Interval.End <= ms {
			return -1
		}
		return 1
	})
	return i
}

// chunkerOf returns the chunker of a job.
func chunkerOf(w *plan.Write, t *Target) *chunker {
	if t == nil {
		return newChunker(w.PartitionBy, nil)
	}
	return newChunker(w.PartitionBy, t.Existing)
}

// bucketOf returns the time chunk of a partition.
func (k *core) bucketOf(p *partition) chrono.Interval {
	iv, _ := k.chunks.bucket(p.bucket) // it has rows: they have one
	return iv
}

// ExistingChunks returns the chunks that an append with a granularity must respect: visible chunks
// of a datasource, and intervals that were allocated to other appends, unless they are buckets of
// the granularity. Holders are in the order of time.
func ExistingChunks(g chrono.Granularity, holders []VisibleChunk, promised []chrono.Interval) []Existing {
	parts := map[chrono.Interval]int{}
	for _, h := range holders {
		parts[h.Chunk]++
	}
	var out []Existing
	for _, h := range holders {
		switch whole := h.Visible == h.Chunk && parts[h.Chunk] == 1; {
		case !whole:
			out = append(out, Existing{h.Visible, true})
		case g.Bucket(h.Chunk.Start) != h.Chunk:
			out = append(out, Existing{Interval: h.Chunk})
		}
	}
	free := func(iv chrono.Interval) bool {
		return !slices.ContainsFunc(holders, func(h VisibleChunk) bool { return h.Visible.Overlaps(iv) }) &&
			!slices.ContainsFunc(out, func(e Existing) bool { return e.Interval.Overlaps(iv) })
	}
	for _, iv := range promised {
		if g.Bucket(iv.Start) != iv && free(iv) {
			out = append(out, Existing{Interval: iv})
		}
	}
	slices.SortFunc(out, func(a, b Existing) int { return a.Interval.Compare(b.Interval) })
	return out
}

// VisibleChunk is a chunk and a part of its interval in which it is visible.
type VisibleChunk struct{ Visible, Chunk chrono.Interval }
