package msq

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// QueryRenderer renders a plan fragment as the native query that does the same. It returns nil where there is none. The context goes into
// the query; leaves that are inputs of the stage are passed in their order.
type QueryRenderer func(fragment plan.Node, inputs []plan.Node, context map[string]any) json.RawMessage

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
	for _, s := range c.stages {
		var b objectBuilder
		b.add("id", fmt.Sprintf("%s_%d", c.job.ID, s.number))
		inputs, broadcast := make([]any, len(s.inputs)), []int{}
		for i, in := range s.inputs {
			var err error
			if inputs[i], err = in.definition(); err != nil {
				return err
			}
			if in.broadcast {
				broadcast = append(broadcast, i)
			}
		}
		b.add("input", inputs)
		b.optional(len(broadcast) > 0, "broadcast", broadcast)
		if s.node == nil {
			b.add("processor", c.generatorJSON(w, l))
			b.add("signature", []fieldJSON{})
		} else {
			b.add("processor", c.processorJSON(s, w))
			b.add("signature", s.signature())
		}
		if spec := s.shuffle.json(); spec != nil {
			b.add("shuffleSpec", spec)
		}
		b.add("maxWorkerCount", c.maxWorkersOf(s))
		b.optional(s.shuffle.kind == rangeShuffle, "shuffleCheckHasMultipleValues", true)
		text, err := b.done()
		if err != nil {
			return err
		}
		s.definition = text
	}
	return nil
}

// signature lists the key columns of a sorted output first, as frames of the reference have them.
func (s *stage) signature() []fieldJSON {
	all := signature(s.columns)
	if s.shuffle.kind != rangeShuffle {
		return all
	}
	var out []fieldJSON
	for _, k := range s.shuffle.names {
		i := slices.IndexFunc(all, func(f fieldJSON) bool { return f.Name == k.name })
		if i >= 0 && !slices.Contains(out, all[i]) {
			out = append(out, all[i])
		}
	}
	for _, f := range all {
		if !slices.Contains(out, f) && f.Name != bucketColumn {
			out = append(out, f)
		}
	}
	return out
}

func (c *Controller) maxWorkersOf(s *stage) int {
	if s.single {
		return 1
	}
	return c.workers
}

// definition is the wire form of an input.
func (in *input) definition() (any, error) {
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
		return externalJSON{"external", source, format, signature(leaf.Out)}, nil
	case *plan.Scan:
		intervals := leaf.Intervals
		if intervals == nil {
			intervals = []chrono.Interval{chrono.Eternity}
		}
		return struct {
			Type       string            `json:"type"`
			DataSource string            `json:"dataSource"`
			Intervals  []chrono.Interval `json:"intervals"`
		}{"table", leaf.DataSource, intervals}, nil
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

// processorJSON describes what a stage does with its rows.
func (c *Controller) processorJSON(s *stage, w *plan.Write) any {
	context := map[string]any{}
	maps.Copy(context, c.job.Context)
	id := strings.TrimPrefix(c.job.ID, "query-")
	context["queryId"], context["sqlQueryId"] = id, id
	if w != nil {
		context["sqlInsertSegmentGranularity"] = segmentGranularityText(w.PartitionBy)
	}
	context["finalize"] = c.opts.FinalizeAggregation
	context["maxParseExceptions"] = c.opts.MaxParseExceptions
	leaves := make([]plan.Node, len(s.inputs))
	for i, in := range s.inputs {
		leaves[i] = in.leaf
	}
	var query json.RawMessage
	if c.deps.NativeQuery != nil {
		query = c.deps.NativeQuery(s.node, leaves, context)
	}
	switch s.processor {
	case "limit":
		if n, ok := s.node.(*plan.Limit); ok {
			limit := struct {
				Type   string `json:"type"`
				Offset int64  `json:"offset"`
				Limit  int64  `json:"limit,omitempty"`
			}{"limit", n.Offset, max(n.Count, 0)}
			return limit
		}
	case "sortMergeJoin":
		if query == nil {
			return map[string]any{"type": "sortMergeJoin"}
		}
	}
	if query == nil {
		if s.processor == "scan" {
			context["scanSignature"] = scanSignature(s)
		}
		query = shortQuery(s, context)
	}
	return struct {
		Type  string          `json:"type"`
		Query json.RawMessage `json:"query"`
	}{s.processor, query}
}

// scanSignature is the JSON text of a stage's columns, as the context of a scan holds it.
func scanSignature(s *stage) string {
	fields := slices.DeleteFunc(signature(s.columns), func(f fieldJSON) bool { return f.Name == bucketColumn || f.Name == boostColumn })
	text, err := marshal(fields)
	if err != nil {
		return ""
	}
	return string(text)
}

// shortQuery is the native query of a stage without its expressions: what it reads and what it gives.
func shortQuery(s *stage, context map[string]any) json.RawMessage {
	var b objectBuilder
	kind := "scan"
	if s.processor == "groupByPreShuffle" || s.processor == "groupByPostShuffle" {
		kind = "groupBy"
	}
	b.add("queryType", kind)
	b.add("dataSource", map[string]any{"type": "inputNumber", "inputNumber": 0})
	b.add("intervals", map[string]any{"type": "intervals", "intervals": []chrono.Interval{chrono.Eternity}})
	if kind == "scan" {
		b.add("resultFormat", "compactedList")
		names := make([]string, 0, len(s.columns))
		for _, col := range s.columns {
			if col.Name != bucketColumn && col.Name != boostColumn {
				names = append(names, col.Name)
			}
		}
		b.add("columns", names)
	}
	b.add("context", context)
	b.add("granularity", map[string]any{"type": "all"})
	text, err := b.done()
	if err != nil {
		return json.RawMessage("{}")
	}
	return text
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

// json is the shuffleSpec of a definition; nil for a stage that hands nothing on.
func (s *shuffle) json() any {
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
		keys.Columns = append(keys.Columns, key{n.name, order})
	}
	if len(s.names) > 0 && s.names[0].name == bucketColumn {
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
	type dimension struct {
		Type    string `json:"type"`
		Name    string `json:"name"`
		Multi   string `json:"multiValueHandling"`
		Indexed bool   `json:"createBitmapIndex"`
	}
	dimensions, metrics := []dimension{}, []any{}
	mappings := []any{}
	for _, col := range w.Columns() {
		mappings = append(mappings, struct {
			Query  string `json:"queryColumn"`
			Output string `json:"outputColumn"`
		}{col.Name, col.Name})
	}
	for _, spec := range l.columns {
		switch {
		case spec.Name == "__time":
		case spec.Metric != "":
			metrics = append(metrics, metricJSON(spec.Metric, spec.Name, spec.Type))
		default:
			dimensions = append(dimensions, dimension{dimensionType(spec.Type, spec.Multi), spec.Name, "SORTED_ARRAY", spec.Type == vector.String || spec.Multi})
		}
	}
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

// metricJSON is the aggregator that combines the values of a metric further: counts are summed.
func metricJSON(name, column string, t vector.Type) any {
	kind := map[string]string{"COUNT": "Sum", "SUM": "Sum", "MIN": "Min", "MAX": "Max"}[name]
	if kind == "" || !t.IsNumeric() {
		return map[string]any{"type": name, "name": column, "fieldName": column}
	}
	return map[string]any{"type": dimensionType(t, false) + kind, "name": column, "fieldName": column}
}
