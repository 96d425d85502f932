package native

import (
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// When is the part of the data that a query requests: intervals, or single segments.
type When struct {
	Intervals
	// Segments, if not nil, are the only segments that are read. Intervals are then their intervals.
	Segments []Descriptor
}

// Descriptor names a segment within its datasource, and the requested part of its interval.
type Descriptor struct {
	Interval  chrono.Interval
	Version   string
	Partition int
}

// UnmarshalJSON implements json.Unmarshaler.
func (w *When) UnmarshalJSON(text []byte) error { return readText(text, w) }

func (w *When) read(d *document, m member) error {
	if !d.opens(m, '{') {
		return w.Intervals.read(d, m)
	}
	kind, ok, err := d.find(m, "type")
	if err != nil {
		return err
	}
	if !ok || d.isNull(kind) || string(d.raw(kind)) == `"intervals"` {
		return w.Intervals.read(d, m)
	}
	if string(d.raw(kind)) != `"segments"` {
		return invalid("intervals can't be of type %s: want [intervals] or [segments]", d.raw(kind))
	}
	list, ok, err := d.find(m, "segments")
	switch {
	case err != nil:
		return err
	case !ok || !d.opens(list, '['):
		return invalid("intervals of type [segments] need a list [segments]")
	}
	w.Segments, w.Intervals = []Descriptor{}, Intervals{}
	return d.members(list, func(_ string, m member) error {
		var one struct {
			Interval  *string `json:"itvl"`
			Version   *string `json:"ver"`
			Partition *int64  `json:"part"`
		}
		if !d.opens(m, '{') {
			return invalid("segments must be objects with [itvl], [ver] and [part]")
		}
		if err := d.fill(m, &one); err != nil {
			return err
		}
		if one.Interval == nil || one.Version == nil {
			return invalid("A segment needs [itvl], [ver] and [part]")
		}
		part := int64(0)
		if one.Partition != nil {
			part = *one.Partition
		}
		within, err := chrono.ParseInterval(*one.Interval)
		if err != nil {
			return invalid("%s", err)
		}
		w.Segments = append(w.Segments, Descriptor{Interval: within, Version: *one.Version, Partition: int(part)})
		w.Intervals = append(w.Intervals, within)
		return nil
	})
}

// OnlySegments returns the segments that a query and its subqueries name, by datasource.
// Datasources that are read whole are not included.
func OnlySegments(q Query) (map[string][]Descriptor, error) {
	var out map[string][]Descriptor
	read := map[string]bool{}
	var err error
	var visit func(d DataSource, only []Descriptor)
	visit = func(d DataSource, only []Descriptor) {
		switch d := d.(type) {
		case *TableSource:
			if read[d.Name] && (only != nil || out[d.Name] != nil) {
				err = fault.Unsupported("Intervals of type [segments] are not supported where a query reads datasource [%s] several times", d.Name)
			}
			read[d.Name] = true
			if only != nil {
				if out == nil {
					out = map[string][]Descriptor{}
				}
				out[d.Name] = only
			}
		case *QuerySource:
			if d.Query.Query != nil {
				visit(d.Query.Parts().DataSource.DataSource, d.Query.Parts().segments())
			}
		case *UnionSource:
			for _, s := range d.DataSources {
				visit(s.DataSource, only)
			}
		case *JoinSource:
			visit(d.Left.DataSource, only)
			visit(d.Right.DataSource, nil)
		case *UnnestSource:
			visit(d.Base.DataSource, only)
		case *FilteredSource:
			visit(d.Base.DataSource, only)
		}
	}
	visit(q.Parts().DataSource.DataSource, q.Parts().segments())
	return out, err
}

func (c *Common) segments() []Descriptor {
	if c.Intervals == nil {
		return nil
	}
	return c.Intervals.Segments
}

// Parts returns the requested parts of the interval of a segment, sorted and merged.
func Parts(list []Descriptor, interval chrono.Interval, version string, partition int) []chrono.Interval {
	var out []chrono.Interval
	for _, d := range list {
		if d.Version == version && d.Partition == partition && interval.Contains(d.Interval) {
			out = append(out, d.Interval)
		}
	}
	return chrono.Condense(slices.Clip(out))
}
