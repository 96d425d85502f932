package native

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// StddevPost is the standard deviation of a variance, which is another output. It is the standard
// deviation of a population if Estimator says so, otherwise of a sample, regardless of the
// estimator of the variance.
type StddevPost struct {
	Name      string `json:"name"`
	FieldName string `json:"fieldName"`
	Estimator string `json:"estimator"`
}

func (p *StddevPost) output() string { return p.Name }

// ZScorePost compares the success rates of two samples.
type ZScorePost struct {
	Name          string           `json:"name"`
	SuccessCount1 PostAggregatorOf `json:"successCount1"`
	Sample1Size   PostAggregatorOf `json:"sample1Size"`
	SuccessCount2 PostAggregatorOf `json:"successCount2"`
	Sample2Size   PostAggregatorOf `json:"sample2Size"`
}

func (p *ZScorePost) output() string { return p.Name }

func (p *ZScorePost) parts() []PostAggregatorOf {
	return []PostAggregatorOf{p.SuccessCount1, p.Sample1Size, p.SuccessCount2, p.Sample2Size}
}

// PValuePost is the probability that a score is at least as far from zero by chance.
type PValuePost struct {
	Name   string           `json:"name"`
	ZScore PostAggregatorOf `json:"zScore"`
}

func (p *PValuePost) output() string { return p.Name }

var varianceType = expr.FromRuntime(agg.VarianceType, false)

// isVariance reports whether an aggregator is a variance.
func isVariance(a Aggregator) bool {
	switch a := a.(type) {
	case *FilteredAggregator:
		return isVariance(a.Aggregator.Aggregator)
	case *SimpleAggregator:
		return simpleAggregators[a.Type].isVariance()
	}
	return false
}

// needsState reports whether a post-aggregator, or one within it, is the standard deviation of an
// output.
func needsState(p PostAggregator, name string) bool {
	var parts []PostAggregatorOf
	switch p := p.(type) {
	case *StddevPost:
		return p.FieldName == name
	case *ArithmeticPost:
		parts = p.Fields
	case *ExtremePost:
		parts = p.Fields
	case *ZScorePost:
		parts = p.parts()
	case *PValuePost:
		parts = []PostAggregatorOf{p.ZScore}
	}
	return slices.ContainsFunc(parts, func(part PostAggregatorOf) bool { return needsState(part.PostAggregator, name) })
}

func (s *scope) stddevPost(p *StddevPost) (expr.Expr, error) {
	raw := rawColumn(p.FieldName)
	i := slices.IndexFunc(s.columns, func(c plan.Column) bool { return c.Name == raw })
	if i < 0 || s.columns[i].Type.ComplexName() != varianceType.ComplexName() {
		return nil, invalid("Post-aggregator [%s] of type [stddev] refers to [%s], which is not a variance of the query", p.Name, p.FieldName)
	}
	x, err := s.column(raw)
	if err != nil {
		return nil, err
	}
	population := int64(0)
	if lower(p.Estimator) == "population" {
		population = 1
	}
	if x, err = call("$STDDEV", x, longLiteral(population)); err != nil {
		return nil, err
	}
	some, err := compare(">=", x, doubleLiteral(0))
	if err != nil {
		return nil, err
	}
	return expr.NewCase([]expr.When{{Cond: some, Then: x}}, &expr.Literal{T: doubleType}, fault.Span{})
}

// numbersOf are the numbers that the parts of a post-aggregator give.
func (s *scope) numbersOf(parts ...PostAggregatorOf) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(parts))
	for i, part := range parts {
		x, err := s.postNumber(part.PostAggregator)
		if err != nil {
			return nil, err
		}
		if out[i], err = cast(x, doubleType); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *scope) zScorePost(p *ZScorePost) (expr.Expr, error) {
	args, err := s.numbersOf(p.parts()...)
	if err != nil {
		return nil, err
	}
	return call("$Z_SCORE", args...)
}

func (s *scope) pValuePost(p *PValuePost) (expr.Expr, error) {
	args, err := s.numbersOf(p.ZScore)
	if err != nil {
		return nil, err
	}
	return call("$NORMAL_TAILS", args...)
}

// millisOf are the times of a column, which may be texts, in milliseconds. A text that is no time
// is NULL.
func (s *scope) millisOf(name string) (expr.Expr, error) {
	x, err := s.column(name)
	if err != nil {
		return nil, err
	}
	x = plain(x)
	switch t := x.Type(); {
	case t.Multi:
		if _, x, _, err = valuesInRow(x); err != nil {
			return nil, err
		}
		if x, err = call("TIME_PARSE", x); err != nil {
			return nil, err
		}
	case t.IsCharacter() && !isNullConstant(x):
		if x, err = call("TIME_PARSE", x); err != nil {
			return nil, err
		}
	case t.Base == expr.Other || t.Base == expr.Array:
		return &expr.Literal{T: longType}, nil
	}
	return cast(x, longType)
}

// timeText shows milliseconds as a time.
func timeText(x expr.Expr) (expr.Expr, error) {
	t, err := call("MILLIS_TO_TIMESTAMP", x)
	if err != nil {
		return nil, err
	}
	return call("TIME_FORMAT", t, textLiteral("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"))
}
