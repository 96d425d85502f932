package golden

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// nativeMetric is an entry of a metricsSpec.
type nativeMetric struct {
	Type           string      `json:"type"`
	Name           string      `json:"name"`
	FieldName      string      `json:"fieldName"`
	LgK            json.Number `json:"lgK"`
	TgtHLLType     string      `json:"tgtHllType"`
	StringEncoding string      `json:"stringEncoding"`
	Size           json.Number `json:"size"`
	K              json.Number `json:"k"`
	NominalEntries json.Number `json:"nominalEntries"`
	MetricColumns  []string    `json:"metricColumns"`
	IsTheta        bool        `json:"isInputThetaSketch"`
	IsHyperUnique  bool        `json:"isInputHyperUnique"`
	Values         json.Number `json:"numberOfValues"`
}

// sketchTypes are the complex types of metrics by aggregator.
var sketchTypes = map[string]string{
	"HLLSketchMerge": "HLLSketch", "thetaSketch": "thetaSketch", "quantilesDoublesSketch": "quantilesDoublesSketch",
	"arrayOfDoublesSketch": "arrayOfDoublesSketch", "hyperUnique": "hyperUnique", "KllDoublesSketch": "KllDoublesSketch",
}

// sql writes the aggregate call with the same effect. types are the SQL types of fields, by name; a metric over a field without one
// reads sketches as base64.
func (m nativeMetric) sql(types map[string]string) (string, error) {
	field := fmt.Sprintf("%q", m.FieldName)
	if t := types[m.FieldName]; t == "" || m.IsTheta || m.IsHyperUnique {
		field = fmt.Sprintf("DECODE_BASE64_COMPLEX('%s', %s)", sketchTypes[m.Type], field)
	}
	args := func(values ...string) string {
		var out strings.Builder
		out.WriteString(field)
		for _, v := range values {
			if v == "" {
				break
			}
			out.WriteString(", " + v)
		}
		return "(" + out.String() + ")"
	}
	switch m.Type {
	case "count":
		return "COUNT(*)", nil
	case "longSum", "doubleSum", "floatSum":
		return "SUM" + args(), nil
	case "HLLSketchBuild", "HLLSketchMerge":
		lgK, typ := m.LgK.String(), ""
		if lgK == "" {
			lgK = "12"
		}
		if m.TgtHLLType != "" {
			typ = "'" + m.TgtHLLType + "'"
		}
		if m.StringEncoding == "utf8" {
			return "DS_HLL_UTF8" + args(lgK, typ), nil
		}
		return "DS_HLL" + args(lgK, typ), nil
	case "thetaSketch":
		return "DS_THETA" + args(m.Size.String()), nil
	case "quantilesDoublesSketch":
		return "DS_QUANTILES_SKETCH" + args(m.K.String()), nil
	case "KllDoublesSketch":
		return "DS_KLL_DOUBLES" + args(m.K.String()), nil
	case "KllFloatsSketch":
		return "DS_KLL_FLOATS" + args(m.K.String()), nil
	case "arrayOfDoublesSketch":
		for _, c := range m.MetricColumns {
			field += fmt.Sprintf(", %q", c)
		}
		return "DS_TUPLE_DOUBLES" + args(m.NominalEntries.String()), nil
	case "hyperUnique":
		return "HYPER_UNIQUE" + args(), nil
	}
	return "", fmt.Errorf("metric [%s] has the type [%s], which has no SQL", m.Name, m.Type)
}

// rollupSQL writes the statement that has the effect of a load with metrics; its context must have finalizeAggregations=false. Types must
// give the types of the fields that metrics read, those of stored sketches excepted.
func (l *NativeLoad) rollupSQL() (string, error) {
	types := map[string]string{l.timeColumn: "VARCHAR"}
	keys := []string{l.timeExpression()}
	names := []string{keys[0] + " AS __time"}
	for _, c := range l.columns {
		types[c.name] = nativeTypes[c.kind]
		keys = append(keys, fmt.Sprintf("%q", c.name))
		names = append(names, fmt.Sprintf("%q", c.name))
	}
	maps.Copy(types, l.Types)
	fields := map[string]bool{}
	for name := range types {
		fields[name] = true
	}
	for _, m := range l.metrics {
		call, err := m.sql(types)
		if err != nil {
			return "", err
		}
		names = append(names, fmt.Sprintf("%s AS %q", call, m.Name))
		for _, f := range append([]string{m.FieldName}, m.MetricColumns...) {
			if f != "" {
				fields[f] = true
			}
		}
	}
	cluster := ""
	if len(l.columns) > 0 {
		cluster = "\nCLUSTERED BY " + strings.Join(keys[1:], ", ")
	}
	var extend []string
	for name := range fields {
		t := types[name]
		if t == "" {
			t = "VARCHAR"
		}
		extend = append(extend, fmt.Sprintf("%q %s", name, t))
	}
	return fmt.Sprintf("REPLACE INTO %q OVERWRITE ALL\nSELECT %s\nFROM TABLE(EXTERN(%s, %s)) EXTEND (%s)\nGROUP BY %s\nPARTITIONED BY %s%s",
		l.DataSource, strings.Join(names, ", "), quoteText(l.source), quoteText(l.format), strings.Join(extend, ", "),
		strings.Join(keys, ", "), l.granularity, cluster), nil
}

// timeExpression floors the time as the query granularity says. Everything in one row is at the earliest time there is.
func (l *NativeLoad) timeExpression() string {
	switch l.queryGranularity {
	case "ALL":
		return "MILLIS_TO_TIMESTAMP(-4611686018427387904)"
	case "", "NONE":
		return fmt.Sprintf("TIME_PARSE(%q)", l.timeColumn)
	}
	return fmt.Sprintf("FLOOR(TIME_PARSE(%q) TO %s)", l.timeColumn, l.queryGranularity)
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
