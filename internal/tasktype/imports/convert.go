package imports

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/segment"
	v9 "github.com/hengedb/henge/internal/segment/v9"
	"github.com/hengedb/henge/internal/vector"
)

// convert writes the rows of a segment, in their order, as a segment file of ours at path.
func convert(ctx context.Context, path string, from *v9.Segment, memory segment.Budget, temp string) (*segment.Info, error) {
	info := from.Info()
	metrics := map[string]string{}
	for _, aggregator := range info.Meta.Aggregators {
		if column, metric := msq.MetricOf(aggregator); metric != "" {
			metrics[column] = metric
		}
	}
	order, err := sortedBy(from)
	if err != nil {
		return nil, err
	}
	source := segment.Info{Rows: info.Rows, SortOrder: order}
	options := segment.Options{
		SortOrder: order, RolledUp: info.Meta.Rollup, QueryGranularity: granularity(info.Meta.QueryGranularity), Budget: memory, TempDir: temp,
		IndexRows: segment.WorthIndexing,
	}
	for _, c := range info.Columns {
		source.Columns = append(source.Columns, segment.ColumnInfo{Name: c.Name, Type: c.Type, Multi: c.Multi})
		options.Columns = append(options.Columns, segment.ColumnSpec{Name: c.Name, Type: c.Type, Multi: c.Multi, Metric: metrics[c.Name]})
	}
	rows := segment.NewTable(source, func(name string) (*vector.Vector, error) { return from.Read(name) })
	return segment.Merge(ctx, path, []segment.Reader{rows}, options)
}

// sortedBy returns the order that rows are known to be in. Only that by time is claimed: texts are
// ordered otherwise in Druid. See quirk Q007.
func sortedBy(from *v9.Segment) ([]string, error) {
	times, err := from.Read(segment.TimeColumn)
	if err != nil {
		return nil, err
	}
	if times.Valid != nil || !slices.IsSorted(times.Longs) {
		return nil, nil
	}
	return []string{segment.TimeColumn}, nil
}

// granularity returns the words for a query granularity in JSON; those of none where it can't be
// read.
func granularity(text json.RawMessage) string {
	g := chrono.None
	if len(text) > 0 && json.Unmarshal(text, &g) != nil {
		g = chrono.None
	}
	return g.String()
}
