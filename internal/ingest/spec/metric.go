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

// Number returns the field of an aggregator of one number, and its type; false: it is another aggregator.
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
