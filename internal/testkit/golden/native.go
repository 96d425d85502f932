package golden

import (
	"encoding/json"
	"fmt"
	"strings"
)

// NativeLoad is a recorded batch load by a native task, as far as the same can be said in SQL: one input source, time in a column of ISO
// text, dimensions as they come.
type NativeLoad struct {
	DataSource string
	// Types are the SQL types of columns whose type the recording left to discovery, by name.
	Types map[string]string

	source, format string
	timeColumn     string
	granularity    string
	columns        []nativeColumn
	// queryGranularity and metrics are those of a rollup.
	queryGranularity string
	metrics          []nativeMetric
}

// Rollup reports whether the load keeps aggregates of its rows: its statement must run with finalizeAggregations=false.
func (l *NativeLoad) Rollup() bool { return len(l.metrics) > 0 }

type nativeColumn struct{ name, kind string }

// ReadNativeLoad reads the JSON of an index_parallel task.
func ReadNativeLoad(task []byte) (*NativeLoad, error) {
	var t struct {
		Spec struct {
			IOConfig struct {
				InputSource json.RawMessage `json:"inputSource"`
				InputFormat json.RawMessage `json:"inputFormat"`
			} `json:"ioConfig"`
			DataSchema struct {
				DataSource    string `json:"dataSource"`
				TimestampSpec struct {
					Column string `json:"column"`
				} `json:"timestampSpec"`
				DimensionsSpec struct {
					Dimensions []json.RawMessage `json:"dimensions"`
				} `json:"dimensionsSpec"`
				MetricsSpec     []nativeMetric `json:"metricsSpec"`
				GranularitySpec struct {
					SegmentGranularity string `json:"segmentGranularity"`
					QueryGranularity   any    `json:"queryGranularity"`
					Rollup             *bool  `json:"rollup"`
				} `json:"granularitySpec"`
			} `json:"dataSchema"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(task, &t); err != nil {
		return nil, fmt.Errorf("reading a native task: %w", err)
	}
	s := t.Spec.DataSchema
	out := &NativeLoad{
		DataSource: s.DataSource, source: string(t.Spec.IOConfig.InputSource), format: string(t.Spec.IOConfig.InputFormat),
		timeColumn: s.TimestampSpec.Column, granularity: s.GranularitySpec.SegmentGranularity, metrics: s.MetricsSpec,
	}
	if r := s.GranularitySpec.Rollup; r != nil && !*r {
		out.metrics = nil // rows as they are; SQL has no aggregates of single rows, so that these columns are left out
	}
	out.queryGranularity, _ = s.GranularitySpec.QueryGranularity.(string) // a period is no part of the recordings
	for _, raw := range s.DimensionsSpec.Dimensions {
		var d struct{ Type, Name string }
		if json.Unmarshal(raw, &d.Name) != nil { // a bare name is a string
			if err := json.Unmarshal(raw, &d); err != nil {
				return nil, fmt.Errorf("reading a dimension of a native task: %w", err)
			}
		}
		out.columns = append(out.columns, nativeColumn{d.Name, d.Type})
	}
	return out, nil
}

var nativeTypes = map[string]string{"": "VARCHAR", "string": "VARCHAR", "long": "BIGINT", "double": "DOUBLE", "float": "FLOAT", "json": "TYPE('COMPLEX<json>')"}

// SQL writes the statement that has the same effect.
func (l *NativeLoad) SQL() (string, error) {
	if l.Rollup() {
		return l.rollupSQL()
	}
	var names, types strings.Builder
	fmt.Fprintf(&types, "%q VARCHAR", l.timeColumn)
	for _, c := range l.columns {
		t, ok := l.Types[c.name]
		if !ok {
			t = nativeTypes[c.kind]
		}
		fmt.Fprintf(&names, ", %q", c.name)
		fmt.Fprintf(&types, ", %q %s", c.name, t)
	}
	return fmt.Sprintf("REPLACE INTO %q OVERWRITE ALL\nSELECT TIME_PARSE(%q) AS __time%s\nFROM TABLE(EXTERN(%s, %s)) EXTEND (%s)\nPARTITIONED BY %s",
		l.DataSource, l.timeColumn, names.String(), quoteText(l.source), quoteText(l.format), types.String(), l.granularity), nil
}
