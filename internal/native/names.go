package native

import "encoding/json"

// MetricFields returns the fields that the expression of an aggregator reads, also of one within it; none where it can't be read.
func MetricFields(aggregator json.RawMessage) []string {
	var w struct {
		Expression string          `json:"expression"`
		Within     json.RawMessage `json:"aggregator"`
	}
	if json.Unmarshal(aggregator, &w) != nil {
		return nil
	}
	var names []string
	if n, err := parseExpression(w.Expression); w.Expression != "" && err == nil {
		names = namesIn(n, nil)
	}
	if !isNull(w.Within) {
		names = append(names, MetricFields(w.Within)...)
	}
	return names
}

// namesIn returns the names in an expression that are not parameters of a lambda around them.
func namesIn(n syntaxNode, bound map[string]bool) (names []string) {
	switch n := n.(type) {
	case *nameNode:
		if !bound[n.name] {
			names = append(names, n.name)
		}
	case *callNode:
		for _, arg := range n.args {
			names = append(names, namesIn(arg, bound)...)
		}
	case *lambdaNode:
		inner := map[string]bool{}
		for name := range bound {
			inner[name] = true
		}
		for _, name := range n.params {
			inner[name] = true
		}
		names = namesIn(n.body, inner)
	}
	return names
}
