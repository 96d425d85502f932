package msq

import (
	"encoding/json"
	"math"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/plan"
)

// defaultIndexSpec is what segments are said to be encoded with where the statement does not say:
// Druid's default, which clients compare with. How a segment is encoded follows from its values.
// See quirk Q017.
const defaultIndexSpec = `{"bitmap":{"type":"roaring"},"dimensionCompression":"lz4","stringDictionaryEncoding":{"type":"utf8"},` +
	`"metricCompression":"lz4","longEncoding":"longs"}`

// compactionState is the lastCompactionState of the segments of a REPLACE: what compaction compares
// with the settings of the datasource to see that there is nothing left to do. shards are the
// dimensions of range shard specs.
func (pub *publisher) compactionState(w *plan.Write, l *layout, shards []string) (json.RawMessage, error) {
	var partitions, schema, granularity, state objectBuilder
	if len(shards) > 0 {
		partitions.add("type", "range")
		partitions.add("targetRowsPerSegment", nil)
		partitions.add("maxRowsPerSegment", pub.opts.RowsPerSegment)
		partitions.add("partitionDimensions", shards)
		partitions.add("assumeGrouped", false)
	} else {
		partitions.add("type", "dynamic")
		partitions.add("maxRowsPerSegment", pub.opts.RowsPerSegment)
		partitions.add("maxTotalRows", int64(math.MaxInt64))
	}
	dimensions, metrics := l.schemaJSON(pub.opts.AutoColumns)
	schema.add("dimensions", dimensions)
	schema.add("dimensionExclusions", []string{})
	schema.add("includeAllDimensions", false)
	schema.add("useSchemaDiscovery", false)
	granularity.add("type", "uniform")
	granularity.add("segmentGranularity", json.RawMessage(segmentGranularityText(w.PartitionBy)))
	granularity.add("queryGranularity", map[string]string{"type": "none"})
	granularity.add("rollup", w.Rollup)
	granularity.add("intervals", chrono.Condense(overwritten(w)))

	index := json.RawMessage(defaultIndexSpec)
	if pub.opts.IndexSpec != nil {
		index = pub.opts.IndexSpec
	}
	parts := []struct {
		name  string
		value any
	}{{"partitionsSpec", &partitions}, {"dimensionsSpec", &schema}, {"metricsSpec", metrics}, {"transformSpec", nil}, {"indexSpec", index},
		{"granularitySpec", &granularity}}
	for _, p := range parts {
		if b, ok := p.value.(*objectBuilder); ok {
			text, err := b.done()
			if err != nil {
				return nil, err
			}
			p.value = json.RawMessage(text)
		}
		state.add(p.name, p.value)
	}
	return state.done()
}
