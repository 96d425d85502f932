package native

// checkFields refuses a post-aggregator of outputs that there are not: known are those before it.
func checkFields(p PostAggregator, known map[string]bool) error {
	names, err := fieldsOf(p)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !known[name] {
			return invalid("Missing fields [[%s]] for postAggregator [%s]", name, p.output())
		}
	}
	return nil
}

// fieldsOf returns the names of the outputs that a post-aggregator computes from.
func fieldsOf(p PostAggregator) ([]string, error) {
	var parts []PostAggregatorOf
	switch p := p.(type) {
	case *FieldPost:
		return []string{p.FieldName}, nil
	case *ExpressionPost:
		n, err := parseExpression(p.Expression)
		if err != nil {
			return nil, err
		}
		return namesOf(n, nil), nil
	case *StddevPost:
		return []string{p.FieldName}, nil
	case *ZScorePost:
		parts = p.parts()
	case *PValuePost:
		parts = []PostAggregatorOf{p.ZScore}
	case *ArithmeticPost:
		parts = p.Fields
	case *ExtremePost:
		parts = p.Fields
	case *SketchPost:
		parts = append([]PostAggregatorOf{p.Field}, p.Fields...)
	}
	var out []string
	for _, part := range parts {
		if part.PostAggregator == nil {
			continue
		}
		names, err := fieldsOf(part.PostAggregator)
		if err != nil {
			return nil, err
		}
		out = append(out, names...)
	}
	return out, nil
}

// namesOf returns the names in an expression that are not those of the parameters of lambdas around
// them.
func namesOf(n syntaxNode, bound map[string]bool) []string {
	switch n := n.(type) {
	case *nameNode:
		if !bound[n.name] {
			return []string{n.name}
		}
	case *callNode:
		var out []string
		for _, a := range n.args {
			out = append(out, namesOf(a, bound)...)
		}
		return out
	case *lambdaNode:
		inner := map[string]bool{}
		for name := range bound {
			inner[name] = true
		}
		for _, name := range n.params {
			inner[name] = true
		}
		return namesOf(n.body, inner)
	}
	return nil
}
