package msq

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/explain/native"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// fieldJSON is a column of a signature.
type fieldJSON struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// runtimeName is the type of a column in a signature: multi-value strings are STRING there.
func runtimeName(t expr.Type) string {
	if t.Multi {
		return vector.String.String()
	}
	return t.Runtime().String()
}

func signature(columns []plan.Column) []fieldJSON {
	out := make([]fieldJSON, len(columns))
	for i, c := range columns {
		out[i] = fieldJSON{c.Name, runtimeName(c.Type)}
	}
	return out
}

// define makes the definition of every stage.
func (c *Controller) define(w *plan.Write, l *layout) error {
	if err := c.describe(w); err != nil {
		return err
	}
	for _, s := range c.stages {
		var b objectBuilder
		b.add("id", fmt.Sprintf("%s_%d", c.job.ID, s.number))
		inputs, broadcast := make([]any, len(s.inputs)), []int{}
		for i, in := range s.inputs {
			var err error
			if inputs[i], err = in.definition(s.filter()); err != nil {
				return err
			}
			if in.broadcast {
				broadcast = append(broadcast, i)
			}
		}
		b.add("input", inputs)
		b.optional(len(broadcast) > 0, "broadcast", broadcast)
		if s.node == nil {
			if x := c.job.export(); x != nil {
				b.add("processor", c.exportJSON(x))
			} else {
				b.add("processor", c.generatorJSON(w, l))
			}
			b.add("signature", []fieldJSON{})
		} else {
			processor, err := s.processorJSON()
			if err != nil {
				return err
			}
			b.add("processor", processor)
			b.add("signature", s.signature())
		}
		if spec := s.shuffle.json(s.names); spec != nil {
			b.add("shuffleSpec", spec)
		}
		b.add("maxWorkerCount", c.maxWorkersOf(s))
		// What is written is sorted or grouped by keys that may turn out to have several values.
		b.optional(w != nil && (s.shuffle.kind == rangeShuffle || s.shuffle.aggregate), "shuffleCheckHasMultipleValues", true)
		text, err := b.done()
		if err != nil {
			return err
		}
		s.definition = text
	}
	return nil
}

// signature lists the columns of a stage's output under the names they have in its query: key
// columns first, as frames of Druid have them, then those of a scan by name. See quirk Q014.
func (s *stage) signature() []fieldJSON {
	out := []fieldJSON{}
	add := func(f fieldJSON) {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	columns := s.node.Columns()
	for _, k := range s.shuffle.names {
		switch {
		case k.column < 0:
			add(fieldJSON{s.shuffle.keyName(k, s.names), vector.Long.String()})
		case s.shuffle.kind == rangeShuffle || s.shuffle.kind == sortedShuffle:
			add(fieldJSON{s.names[k.column], runtimeName(columns[k.column].Type)})
		}
	}
	rest := make([]fieldJSON, len(columns))
	for i, col := range columns {
		rest[i] = fieldJSON{s.names[i], runtimeName(col.Type)}
	}
	if s.processor == "scan" {
		slices.SortStableFunc(rest, func(a, b fieldJSON) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, f := range rest {
		add(f)
	}
	return out
}

func (c *Controller) maxWorkersOf(s *stage) int {
	if s.single {
		return 1
	}
	return c.workers
}

// definition is the wire form of an input; filter is that of a table.
func (in *input) definition(filter any) (any, error) {
	switch leaf := in.leaf.(type) {
	case *plan.External:
		if in.kind == stageInput {
			return struct {
				Type  string `json:"type"`
				Stage int    `json:"stage"`
			}{"stage", in.from.number}, nil
		}
		source, err := ingest.ParseSource(leaf.Source)
		if err != nil {
			return nil, err
		}
		format, err := ingest.ParseFormat(leaf.Format)
		if err != nil {
			return nil, err
		}
		return externalJSON{"external", source, format, signature(leaf.Signature())}, nil
	case *plan.Scan:
		intervals := leaf.Intervals
		if intervals == nil {
			intervals = []chrono.Interval{chrono.Eternity}
		}
		return struct {
			Type       string            `json:"type"`
			DataSource string            `json:"dataSource"`
			Intervals  []chrono.Interval `json:"intervals"`
			// Given are the intervals again, where the statement has some: Druid shows both. See quirk Q014.
			Given  []chrono.Interval `json:"intervalsForSerialization,omitempty"`
			Filter any               `json:"filter,omitempty"`
		}{"table", leaf.DataSource, intervals, leaf.Intervals, filter}, nil
	case *plan.Inline:
		rows := make([][]any, 0, min(leaf.Rows.Rows(), maxInlineRows))
		compact := leaf.Rows.Compact()
		for i := range min(compact.N, maxInlineRows) {
			row := make([]any, len(compact.Cols))
			for k, v := range compact.Cols {
				row[k] = v.ValueAt(i)
			}
			rows = append(rows, row)
		}
		names, kinds := make([]string, len(leaf.Out)), make([]string, len(leaf.Out))
		for i, col := range leaf.Out {
			names[i], kinds[i] = col.Name, runtimeName(col.Type)
		}
		return map[string]any{"type": "inline", "dataSource": map[string]any{"type": "inline", "columnNames": names, "columnTypes": kinds, "rows": rows}}, nil
	case *plan.System:
		return map[string]any{"type": "table", "dataSource": leaf.Schema + "." + leaf.Table}, nil
	}
	return map[string]any{"type": "unknown"}, nil
}

// maxInlineRows bounds the rows of VALUES that a definition repeats.
const maxInlineRows = 1000

type externalJSON struct {
	Type      string        `json:"type"`
	Source    ingest.Source `json:"inputSource"`
	Format    ingest.Format `json:"inputFormat"`
	Signature []fieldJSON   `json:"signature"`
}

// segmentGranularityText is the JSON text that the context holds: "\"DAY\"" or {"type":"all"}.
func segmentGranularityText(g chrono.Granularity) string {
	if g.IsAll() {
		return `{"type":"all"}`
	}
	text, err := json.Marshal(granularityName(g))
	if err != nil {
		return granularityName(g)
	}
	return string(text)
}

// keyName is a key column under the name that it has in the stage's query.
func (s *shuffle) keyName(k keyName, names []string) string {
	switch k.column {
	case bucketKey:
		return bucketColumn
	case boostKey:
		return boostColumn
	}
	return names[k.column]
}

// json is the shuffleSpec of a definition; nil for a stage that hands nothing on. names are those
// of the stage's columns.
func (s *shuffle) json(names []string) any {
	type key struct {
		Column string `json:"columnName"`
		Order  string `json:"order"`
	}
	type clusterBy struct {
		Columns  []key `json:"columns"`
		Bucketed int   `json:"bucketByCount,omitempty"`
	}
	keys := clusterBy{Columns: []key{}}
	for _, n := range s.names {
		order := "ASCENDING"
		if n.desc {
			order = "DESCENDING"
		}
		keys.Columns = append(keys.Columns, key{s.keyName(n, names), order})
	}
	if len(s.names) > 0 && s.names[0].column == bucketKey {
		keys.Bucketed = 1
	}
	var b objectBuilder
	switch s.kind {
	case mixShuffle:
		return map[string]any{"type": "mix"}
	case hashShuffle:
		b.add("type", "hash")
		b.add("clusterBy", keys)
		b.add("partitions", s.partitions)
	case sortedShuffle:
		b.add("type", "maxCount")
		b.add("clusterBy", keys)
		b.add("partitions", s.partitions)
		b.optional(s.target > 0, "targetSize", s.target)
	case rangeShuffle:
		b.add("type", "targetSize")
		b.add("clusterBy", keys)
		b.add("targetSize", s.target)
	default:
		return nil
	}
	b.optional(s.aggregate, "aggregate", true)
	text, err := b.done()
	if err != nil {
		return nil
	}
	return json.RawMessage(text)
}

// reported is the value of a stage's "shuffle".
func (s *shuffle) reported() string {
	switch s.kind {
	case mixShuffle:
		return "mix"
	case hashShuffle:
		return "hash"
	case sortedShuffle, rangeShuffle:
		return "globalSort"
	}
	return ""
}

// generatorJSON describes the stage that writes segments.
func (c *Controller) generatorJSON(w *plan.Write, l *layout) any {
	mappings := make([]native.ColumnMapping, len(w.Columns()))
	for i, col := range w.Columns() {
		mappings[i] = native.ColumnMapping{QueryColumn: c.rows.names[i], OutputColumn: col.Name}
	}
	dimensions, metrics := l.schemaJSON(c.opts.AutoColumns)
	intervals := overwritten(w)
	if !w.Replace {
		intervals = []chrono.Interval{chrono.Eternity}
	}
	tuning := map[string]any{"maxNumWorkers": c.workers, "maxRowsInMemory": c.opts.RowsInMemory, "rowsPerSegment": c.opts.RowsPerSegment}
	if c.opts.MaxNumSegments > 0 {
		tuning["maxNumSegments"] = c.opts.MaxNumSegments
	}
	if c.opts.IndexSpec != nil {
		tuning["indexSpec"] = c.opts.IndexSpec
	}
	return map[string]any{
		"type": "segmentGenerator",
		"dataSchema": map[string]any{
			"dataSource":    w.DataSource,
			"timestampSpec": map[string]any{"column": "__time", "format": "millis", "missingValue": nil},
			"dimensionsSpec": map[string]any{"dimensions": dimensions, "dimensionExclusions": []string{"__time"}, "includeAllDimensions": false,
				"useSchemaDiscovery": false},
			"metricsSpec": metrics,
			"granularitySpec": map[string]any{"type": "arbitrary", "queryGranularity": map[string]any{"type": "none"}, "rollup": w.Rollup,
				"intervals": intervals},
			"transformSpec": map[string]any{"filter": nil, "transforms": []any{}},
		},
		"columnMappings": mappings,
		"tuningConfig":   tuning,
	}
}

// dimensionJSON is a dimension of a dimensionsSpec.
type dimensionJSON struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Multi   string `json:"multiValueHandling"`
	Indexed bool   `json:"createBitmapIndex"`
}

// schemaJSON shows the columns of segments as a dataSchema does, without the time column; auto says
// that types follow from the values.
func (l *layout) schemaJSON(auto bool) (dimensions []dimensionJSON, metrics []any) {
	dimensions, metrics = []dimensionJSON{}, []any{}
	for _, spec := range l.columns {
		switch {
		case spec.Name == plan.TimeColumn:
		case spec.Metric != "":
			metrics = append(metrics, MetricJSON(spec.Metric, spec.Name, spec.Type))
		default:
			d := dimensionJSON{dimensionType(spec.Type, spec.Multi), spec.Name, "SORTED_ARRAY", spec.Type == vector.String || spec.Multi}
			if auto {
				d.Type, d.Indexed = "auto", true
			}
			dimensions = append(dimensions, d)
		}
	}
	return dimensions, metrics
}

func dimensionType(t vector.Type, multi bool) string {
	switch {
	case multi || t == vector.String:
		return "string"
	case t == vector.Long:
		return "long"
	case t == vector.Double:
		return "double"
	case t == vector.Float:
		return "float"
	case t == vector.JSON:
		return "json"
	}
	return "auto"
}
