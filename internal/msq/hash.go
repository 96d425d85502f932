package msq

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// Hash partitions the rows of a time chunk by timeline.GroupHash.
//
// If the number of buckets depends on the rows, it is a power of two and known only when all rows
// are sorted. Rows are therefore sorted by the bits of the hash from the last to the first, so that
// any power of two divides them into ranges.
type Hash struct {
	// Columns are the columns of the plan that are hashed; empty: the time and all dimensions.
	Columns []int
	// Buckets is the number of buckets; 0: the smallest number for which a bucket has at most the rows
	// per segment of the job.
	Buckets int
}

// maxHashBuckets bounds the buckets whose number follows from the rows.
const maxHashBuckets = 1 << 12

// hasher computes the hash column of rows on their way to segments, and counts rows by it.
type hasher struct {
	spec *Hash
	// columns are hashed: of names if the spec gives none, which are then in order.
	columns []int
	names   []string // nil: the spec gives columns
	sets    []bool   // of columns: a row keeps each value once
	time    int
	counts  map[int64]map[int64]int64 // rows by time chunk and hash
	key     []byte
}

// newHasher returns the hasher of the rows of a job; nil: they are not hashed.
func (k *core) newHasher() *hasher {
	t := k.job.Target
	if t == nil || t.Hash == nil {
		return nil
	}
	w := k.job.write()
	h := &hasher{spec: t.Hash, columns: t.Hash.Columns, time: timeColumn(w), counts: map[int64]map[int64]int64{}}
	if len(h.columns) > 0 {
		h.sets = setsOf(t, h.columns)
		return h
	}
	metrics := metricsOf(w, t)
	for i, col := range w.Columns() {
		if metrics[i] == "" && col.Name != "__time" {
			h.columns = append(h.columns, i)
		}
	}
	slices.SortFunc(h.columns, func(a, b int) int { return cmp.Compare(w.Columns()[a].Name, w.Columns()[b].Name) })
	for _, i := range h.columns {
		h.names = append(h.names, w.Columns()[i].Name)
	}
	h.sets = setsOf(t, h.columns)
	return h
}

// setsOf says which columns keep each value of a row once. What is stored as one value is hashed as
// one: queries look for it so.
func setsOf(t *Target, columns []int) []bool {
	out := make([]bool, len(columns))
	for i, c := range columns {
		out[i] = t.handling(c) == SortedSet
	}
	return out
}

// column returns what rows with the given time chunks are sorted by.
func (h *hasher) column(columns []*vector.Vector, buckets *vector.Vector, n int) *vector.Vector {
	out := make([]int64, n)
	for i := range n {
		h.key = append(h.key[:0], '[')
		if h.names != nil {
			at := int64(0)
			if h.time >= 0 {
				at = columns[h.time].LongAt(i)
			}
			h.key = append(record.AppendJSON(h.key, at), ",{"...)
		}
		first := true
		for k, c := range h.columns {
			v := record.ValueOf(columns[c], i)
			if h.names != nil {
				if v == nil {
					continue
				}
				if !first {
					h.key = append(h.key, ',')
				}
				h.key = append(timeline.AppendGroupText(h.key, h.names[k]), ':')
			} else if !first {
				h.key = append(h.key, ',')
			}
			first = false
			if list, ok := v.([]any); ok && h.sets[k] && !slices.ContainsFunc(list, func(e any) bool { return e != list[0] }) {
				v = list[0]
			}
			h.key = appendTexts(h.key, v)
		}
		if h.names != nil {
			h.key = append(h.key, '}')
		}
		h.key = append(h.key, ']')
		hash := timeline.GroupHash(h.key)
		out[i] = int64(bits.Reverse32(hash))
		if h.spec.Buckets > 0 {
			out[i] = int64(hash % uint32(h.spec.Buckets))
		}
		h.count(buckets.LongAt(i), out[i])
	}
	return vector.FromLongs(out)
}

func (h *hasher) count(bucket, hash int64) {
	if h.spec.Buckets == 0 {
		hash /= hashStep
	}
	m := h.counts[bucket]
	if m == nil {
		m = map[int64]int64{}
		h.counts[bucket] = m
	}
	m[hash]++
}

// hashStep is the range of reversed hashes that counts as one.
const hashStep = 1 << 32 / maxHashBuckets

// appendTexts appends the values of a row as a JSON list of texts.
func appendTexts(dst []byte, v any) []byte {
	list, several := v.([]any)
	if !several && v != nil {
		list = []any{v}
	}
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if e == nil {
			dst = append(dst, "null"...)
			continue
		}
		dst = timeline.AppendGroupText(dst, string(record.AppendText(nil, e)))
	}
	return append(dst, ']')
}

// divideHashed returns the buckets that have rows, in the order of time chunks and hashes.
func divideHashed(order *sortOrder, hashers []*hasher, target int64) []partition {
	counts := map[int64]map[int64]int64{}
	for _, h := range hashers {
		for bucket, hashes := range h.counts {
			m := counts[bucket]
			if m == nil {
				m = map[int64]int64{}
				counts[bucket] = m
			}
			for hash, n := range hashes {
				m[hash] += n
			}
		}
	}
	chunks := make([]int64, 0, len(counts))
	for bucket := range counts {
		chunks = append(chunks, bucket)
	}
	slices.Sort(chunks)
	var out []partition
	for _, bucket := range chunks {
		out = append(out, divideChunk(order, hashers[0].spec.Buckets, bucket, counts[bucket], target)...)
	}
	return out
}

func divideChunk(order *sortOrder, buckets int, chunk int64, counts map[int64]int64, target int64) []partition {
	given, step := buckets > 0, int64(1)
	if !given {
		total := int64(0)
		for _, n := range counts {
			total += n
		}
		for buckets = 1; int64(buckets)*target < total && buckets < maxHashBuckets; buckets *= 2 {
		}
		step = int64(maxHashBuckets / buckets)
	}
	rows := make([]int64, buckets)
	for hash, n := range counts {
		rows[hash/step] += n
	}
	var out []partition
	for i, n := range rows {
		if n == 0 {
			continue
		}
		lo, number := int64(i), i
		hi := lo + 1
		if !given {
			lo, hi = lo*step*hashStep, hi*step*hashStep
			number = 0
			if buckets > 1 {
				number = int(bits.Reverse32(uint32(lo)))
			}
		}
		out = append(out, partition{lo: order.chunkKey(chunk, lo), hi: order.chunkKey(chunk, hi), bucket: chunk, rows: n, hash: number, hashes: buckets})
	}
	return out
}

// chunkKey returns the sort key of the first two columns of an order: a time chunk and a hash.
func (o *sortOrder) chunkKey(chunk, hash int64) []byte {
	cols := []*vector.Vector{vector.FromLongs([]int64{chunk}), vector.FromLongs([]int64{hash})}
	return slices.Clone(vector.NewSortKeys(cols, o.orders[:2], 1).Key(0))
}
