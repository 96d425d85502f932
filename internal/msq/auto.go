package msq

import (
	"slices"

	"github.com/hengedb/henge/internal/vector"
)

// autoLists notes of list columns whose type follows from their values which time chunks have elements in them. A chunk that has only empty lists
// tells nothing of their type: the column is nested there, as in segments of the reference, and readers join that with the type it has elsewhere.
type autoLists struct {
	columns []int
	chunks  map[int64][]listUse // by time chunk, by column of columns
}

// listUse is what a time chunk has in a list column.
type listUse uint8

const (
	noLists listUse = iota
	emptyLists
	filledLists
)

// newAutoLists returns the notes of a job's columns; nil: there are no such columns.
func (c *Controller) newAutoLists() *autoLists {
	t := c.job.Target
	if t == nil || t.Auto == nil {
		return nil
	}
	a := &autoLists{chunks: map[int64][]listUse{}}
	for i, col := range c.job.write().Columns() {
		if t.Auto[i] && col.Type.Runtime().Kind == vector.KindList && !col.Type.Multi {
			a.columns = append(a.columns, i)
		}
	}
	if a.columns == nil {
		return nil
	}
	return a
}

// note learns from rows with the given time chunks.
func (a *autoLists) note(columns []*vector.Vector, buckets *vector.Vector, n int) {
	for lo := 0; lo < n; {
		hi, bucket := sameLong(buckets, lo, n), buckets.LongAt(lo)
		uses := a.chunks[bucket]
		if uses == nil {
			uses = make([]listUse, len(a.columns))
			a.chunks[bucket] = uses
		}
		for k, at := range a.columns {
			for i := lo; i < hi && uses[k] != filledLists; i++ {
				if v := columns[at]; !v.IsNull(i) {
					from, to := v.ListAt(i)
					uses[k] = max(uses[k], emptyLists)
					if to > from {
						uses[k] = filledLists
					}
				}
			}
		}
		lo = hi
	}
}

// empty returns, by time chunk, the columns that have empty lists only, as the workers' notes say.
func empty(notes []*autoLists) map[int64][]int {
	out := map[int64][]int{}
	if len(notes) == 0 || notes[0] == nil {
		return out
	}
	all := map[int64][]listUse{}
	for _, a := range notes {
		for bucket, uses := range a.chunks {
			if all[bucket] == nil {
				all[bucket] = make([]listUse, len(uses))
			}
			for k, use := range uses {
				all[bucket][k] = max(all[bucket][k], use)
			}
		}
	}
	for bucket, uses := range all {
		for k, use := range uses {
			if use == emptyLists {
				out[bucket] = append(out[bucket], notes[0].columns[k])
			}
		}
	}
	return out
}

// forChunk returns the layout of a time chunk's segments.
func (l *layout) forChunk(bucket int64) *layout {
	columns := l.empty[bucket]
	if len(columns) == 0 {
		return l
	}
	c := *l
	c.columns = slices.Clone(l.columns)
	for i, from := range l.from {
		if slices.Contains(columns, from) {
			c.columns[i].Type = vector.JSON
		}
	}
	return &c
}

// nestedLists returns empty lists as JSON.
func nestedLists(v *vector.Vector) *vector.Vector {
	b := vector.NewBuilder(vector.JSON, v.Len)
	for i := range v.Len {
		if v.IsNull(i) {
			b.AppendNull()
		} else {
			b.AppendString("[]")
		}
	}
	return b.Build()
}
