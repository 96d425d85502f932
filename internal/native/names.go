package native

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/jsontext"
)

// MetricFields returns the fields that the expression of an aggregator reads, including the
// expression of a nested aggregator. It returns none if the aggregator can't be parsed.
func MetricFields(aggregator json.RawMessage) []string {
	var w struct {
		Expression string          `json:"expression"`
		Within     json.RawMessage `json:"aggregator"`
	}
	if jsontext.Unmarshal(aggregator, &w) != nil {
		return nil
	}
	var names []string
	if n, err := parseExpression(w.Expression); w.Expression != "" && err == nil {
		names = namesOf(n, nil)
	}
	if !isNull(w.Within) {
		names = append(names, MetricFields(w.Within)...)
	}
	return names
}
