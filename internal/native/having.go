package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// Having decides which groups are kept. The concrete conditions are in this file.
type Having interface{ having() }

// HavingOf holds a condition, or nil.
type HavingOf struct{ Having }

// UnmarshalJSON implements json.Unmarshaler.
func (h *HavingOf) UnmarshalJSON(text []byte) error { return readText(text, h) }

func (h *HavingOf) read(d *document, m member) (err error) {
	if d.isNull(m) {
		return nil
	}
	h.Having, err = decodeTyped(d, m, "type", "Having", havingTypes)
	return err
}

var havingTypes = map[string]func() Having{
	"always":      func() Having { return new(AlwaysHaving) },
	"and":         func() Having { return new(AndHaving) },
	"or":          func() Having { return new(OrHaving) },
	"not":         func() Having { return new(NotHaving) },
	"dimSelector": func() Having { return new(DimensionHaving) },
	"equalTo":     func() Having { return new(NumberHaving) },
	"greaterThan": func() Having { return new(NumberHaving) },
	"lessThan":    func() Having { return new(NumberHaving) },
	"filter":      func() Having { return new(FilterHaving) },
}

// AlwaysHaving keeps every group; AndHaving, OrHaving and NotHaving combine conditions.
type (
	AlwaysHaving struct{}
	AndHaving    struct {
		HavingSpecs []HavingOf `json:"havingSpecs"`
	}
	OrHaving struct {
		HavingSpecs []HavingOf `json:"havingSpecs"`
	}
	NotHaving struct {
		HavingSpec HavingOf `json:"havingSpec"`
	}
)

// DimensionHaving compares the string of a dimension.
type DimensionHaving struct {
	Dimension    string       `json:"dimension"`
	Value        Text         `json:"value"`
	ExtractionFn ExtractionOf `json:"extractionFn"`
}

// NumberHaving compares an aggregate with a number. Its Type is the comparison.
type NumberHaving struct {
	Type        string `json:"type"`
	Aggregation string `json:"aggregation"`
	Value       Text   `json:"value"`
}

// FilterHaving is a filter over the outputs.
type FilterHaving struct {
	Filter FilterOf `json:"filter"`
}

func (*AlwaysHaving) having()    {}
func (*AndHaving) having()       {}
func (*OrHaving) having()        {}
func (*NotHaving) having()       {}
func (*DimensionHaving) having() {}
func (*NumberHaving) having()    {}
func (*FilterHaving) having()    {}

// having translates a condition on groups.
func (s *scope) having(h Having) (expr.Expr, error) {
	list := func(specs []HavingOf, empty bool, join func([]expr.Expr, fault.Span) (expr.Expr, error)) (expr.Expr, error) {
		var terms []expr.Expr
		for _, h := range specs {
			c, err := s.having(h.Having)
			if err != nil {
				return nil, err
			}
			terms = append(terms, c)
		}
		switch len(terms) {
		case 0:
			return boolLiteral(empty), nil
		case 1:
			return terms[0], nil
		}
		return join(terms, fault.Span{})
	}
	switch h := h.(type) {
	case *AlwaysHaving:
		return boolLiteral(true), nil
	case *AndHaving:
		return list(h.HavingSpecs, true, expr.NewAnd)
	case *OrHaving:
		return list(h.HavingSpecs, false, expr.NewOr)
	case *NotHaving:
		c, err := s.having(h.HavingSpec.Having)
		if err != nil {
			return nil, err
		}
		return call("IS NOT TRUE", c) // a group is in or out
	case *DimensionHaving:
		return s.selector(h.Dimension, h.Value, h.ExtractionFn)
	case *NumberHaving:
		if _, ok := expr.ParseDouble(h.Value.S); !ok && h.Value.S != "" {
			return nil, invalid("Having of type [%s] needs a number, not [%.100s]", h.Type, h.Value.S)
		}
		name := h.Aggregation
		if by := rankColumn(name); slices.ContainsFunc(s.columns, func(c plan.Column) bool { return c.Name == by }) {
			name = by
		}
		x, err := s.column(name)
		if err != nil {
			return nil, err
		}
		if x, err = ownNumber(x); err != nil {
			return nil, err
		}
		op := map[string]string{"equalTo": "=", "greaterThan": ">", "lessThan": "<"}[h.Type]
		return compareText(op, x, h.Value.S)
	case *FilterHaving:
		if h.Filter.Filter == nil {
			return nil, invalid("Having of type [filter] needs a filter")
		}
		return s.filter(h.Filter.Filter)
	}
	return nil, invalid("A having condition can't be null")
}
