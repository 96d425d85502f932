package spec

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/expr"
)

// numbers are the aggregators of one numeric field, with the type in which they take it.
var numbers = map[string]expr.Base{
	"longSum": expr.BigInt, "longMin": expr.BigInt, "longMax": expr.BigInt, "doubleSum": expr.Double, "doubleMin": expr.Double, "doubleMax": expr.Double,
	"floatSum": expr.Float, "floatMin": expr.Float, "floatMax": expr.Float, "longFirst": expr.BigInt, "longLast": expr.BigInt, "longAny": expr.BigInt,
	"doubleFirst": expr.Double, "doubleLast": expr.Double, "doubleAny": expr.Double, "doubleMean": expr.Double, "floatFirst": expr.Float,
	"floatLast": expr.Float, "floatAny": expr.Float, "variance": expr.Double,
}

// number is a field that an aggregator takes as a number.
type number struct {
	Field string
	Type  expr.Base
	// Sketch says that the field may contain sketches instead of numbers, Filtered that the aggregator
	// reads only some rows.
	Sketch, Filtered bool
}

// numberSketches are the aggregators of sketches of numbers.
var numberSketches = map[string]bool{"quantilesDoublesSketch": true, "KllDoublesSketch": true, "KllFloatsSketch": true}

// Numbers returns the fields that an aggregator, or its inner aggregator if it is filtered, reads
// as numbers.
func (m Metric) Numbers() []number {
	var w struct {
		Type       string          `json:"type"`
		FieldName  string          `json:"fieldName"`
		Aggregator json.RawMessage `json:"aggregator"`
	}
	if json.Unmarshal(m.Wire, &w) != nil {
		return nil
	}
	if w.Type == "filtered" && len(w.Aggregator) > 0 {
		of := Metric{Wire: w.Aggregator}.Numbers()
		for i := range of {
			of[i].Filtered = true
		}
		return of
	}
	typ, isNumber := numbers[w.Type]
	switch {
	case w.FieldName == "":
	case isNumber:
		return []number{{Field: w.FieldName, Type: typ}}
	case numberSketches[w.Type]:
		return []number{{Field: w.FieldName, Type: expr.Double, Sketch: true}}
	}
	return nil
}

// Number returns the field and the type of an aggregator of a single number. ok is false for other
// aggregators.
func (m Metric) Number() (field string, typ expr.Base, ok bool) {
	var w struct {
		Type      string `json:"type"`
		FieldName string `json:"fieldName"`
		Time      string `json:"timeColumn"`
	}
	if json.Unmarshal(m.Wire, &w) != nil || w.FieldName == "" || w.Time != "" && w.Time != TimeColumn {
		return "", 0, false
	}
	typ, ok = numbers[w.Type]
	return w.FieldName, typ, ok
}
