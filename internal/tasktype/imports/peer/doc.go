// Package peer reads the metadata of an Apache Druid cluster: the tables of its metadata store, in
// PostgreSQL, MySQL or SQLite, or, if the tables no longer exist, the names of the folders in its
// deep storage.
//
// The central type is Catalog: segments, retention rules, dynamic configuration, compaction
// settings, lookups and supervisors, unchanged. The command `henge import` writes them to a
// cluster; tasks of package imports convert segments.
//
// Derby is not supported, because only Java can read its files. Its tables can be exported to one
// of the other databases; metadata.go lists the required columns.
package peer

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/timeline"
)

// Catalog is what was found.
type Catalog struct {
	// Segments are the used ones, by datasource and then the newest first.
	Segments []*timeline.Segment
	// Skipped counts descriptors that can't be read; SkippedWhy is the reason for one of them.
	Skipped    int
	SkippedWhy error
	// Rules are lists by datasource, "_default" among them.
	Rules map[string]json.RawMessage
	// Coordinator is the dynamic configuration, Compaction the settings of automatic compaction by
	// datasource, Lookups the lookups by tier and name; nil where there is none.
	Coordinator json.RawMessage
	Compaction  map[string]json.RawMessage
	Lookups     json.RawMessage
	// Supervisors are the newest specifications that were not terminated, by id.
	Supervisors map[string]json.RawMessage
	// Offsets are how far the streams of datasources were read, by datasource.
	Offsets map[string]json.RawMessage
}

// sort puts the segments into the order in which they are worth having.
func (c *Catalog) sort() {
	slices.SortFunc(c.Segments, func(a, b *timeline.Segment) int {
		return cmp.Or(cmp.Compare(a.ID.DataSource, b.ID.DataSource), -cmp.Compare(a.ID.Interval.End, b.ID.Interval.End),
			cmp.Compare(a.ID.Interval.Start, b.ID.Interval.Start), cmp.Compare(a.ID.Version, b.ID.Version), cmp.Compare(a.ID.Partition, b.ID.Partition))
	})
}

func (c *Catalog) skip(why error) {
	c.Skipped++
	c.SkippedWhy = why
}
