package native

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// SummaryAggregator builds a t-digest, a histogram or a Bloom filter of a column, or merges a
// column of them. Its result is the structure itself.
type SummaryAggregator struct {
	Type          string      `json:"type"`
	Name          string      `json:"name"`
	FieldName     string      `json:"fieldName"`
	Field         DimensionOf `json:"field"`
	Compression   Number      `json:"compression"`
	Resolution    *Whole      `json:"resolution"`
	NumBuckets    *Whole      `json:"numBuckets"`
	LowerLimit    Number      `json:"lowerLimit"`
	UpperLimit    Number      `json:"upperLimit"`
	Outliers      string      `json:"outlierHandlingMode"`
	MaxNumEntries *Whole      `json:"maxNumEntries"`
}

func (a *SummaryAggregator) output() string { return a.Name }

// ofDimension reports whether the aggregator reads a dimension, not a field.
func (a *SummaryAggregator) ofDimension() bool { return a.Type == "bloom" && a.Field.Dimension != nil }

func (a *SummaryAggregator) check() error {
	if a.FieldName == "" && !a.ofDimension() {
		return invalid("Aggregator [%s] of type [%s] must have a fieldName", a.Name, a.Type)
	}
	return nil
}

// summaries are the aggregates of package agg by the type of the aggregator.
var summaries = map[string]string{
	"tDigestSketch": "TDIGEST_GENERATE_SKETCH", "approxHistogram": "$APPROX_HISTOGRAM", "approxHistogramFold": "$APPROX_HISTOGRAM",
	"fixedBucketsHistogram": "$FIXED_BUCKETS", "bloom": "BLOOM_FILTER",
}

// summary translates an aggregator of summaries.
func (s *scope) summary(in *inputs, a *SummaryAggregator) (plan.AggCall, error) {
	var x expr.Expr
	var err error
	if a.ofDimension() {
		x, err = s.dimension(a.Field.Dimension)
	} else {
		x, err = s.column(a.FieldName)
	}
	if err != nil {
		return plan.AggCall{}, err
	}
	if t := x.Type(); a.Type != "bloom" && t.Base != expr.Other && !t.IsNumeric() {
		if x, err = cast(plain(x), doubleType); err != nil {
			return plan.AggCall{}, err
		}
	}
	call, err := newCall(summaries[a.Type], []expr.Type{x.Type()}, a.params())
	call.Args = []int{in.add(x, a.Name)}
	return call, err
}

// params returns the constants of the aggregate.
func (a *SummaryAggregator) params() []any {
	whole := func(w *Whole, def int64) int64 {
		if w == nil {
			return def
		}
		return int64(*w)
	}
	switch a.Type {
	case "tDigestSketch":
		if a.Compression == "" {
			return []any{100.0}
		}
		return []any{a.Compression.Double()}
	case "fixedBucketsHistogram":
		mode := a.Outliers
		if mode == "" {
			mode = "ignore"
		}
		return []any{whole(a.NumBuckets, 0), a.LowerLimit.Double(), a.UpperLimit.Double(), mode}
	case "bloom":
		return []any{whole(a.MaxNumEntries, 1500)}
	}
	return []any{whole(a.Resolution, 50)}
}

// HistogramPost computes a value from an approximate histogram or a fixed buckets histogram, which
// is another output.
type HistogramPost struct {
	Type          string   `json:"type"`
	Name          string   `json:"name"`
	FieldName     string   `json:"fieldName"`
	Probability   Number   `json:"probability"`
	Probabilities []Number `json:"probabilities"`
}

func (p *HistogramPost) output() string { return p.Name }

// histogramPosts are the functions of package expr by the type of the post-aggregator.
var histogramPosts = map[string]string{
	"quantile": "$HISTOGRAM_QUANTILE", "quantiles": "$HISTOGRAM_QUANTILES", "min": "$HISTOGRAM_MIN", "max": "$HISTOGRAM_MAX",
}

func (s *scope) histogramPost(p *HistogramPost) (expr.Expr, error) {
	x, err := s.post(&FieldPost{Type: "fieldAccess", Name: p.Name, FieldName: p.FieldName})
	if err != nil {
		return nil, err
	}
	args := []expr.Expr{x}
	numbers := p.Probabilities
	if p.Type == "quantile" {
		numbers = []Number{p.Probability}
	}
	for _, n := range numbers {
		args = append(args, doubleLiteral(n.Double()))
	}
	return call(histogramPosts[p.Type], args...)
}

// BloomFilter is true if a base64 Bloom filter may contain the value of the column. NULL is treated
// like any other value.
type BloomFilter struct {
	Dimension    string       `json:"dimension"`
	Filter       string       `json:"bloomKFilter"`
	ExtractionFn ExtractionOf `json:"extractionFn"`
}

func (*BloomFilter) filter() {}

func (s *scope) bloom(f *BloomFilter) (expr.Expr, error) {
	x, err := s.column(f.Dimension)
	if err != nil {
		return nil, err
	}
	if f.ExtractionFn.Extraction != nil {
		if x, err = extract(x, f.ExtractionFn.Extraction); err != nil {
			return nil, err
		}
	}
	return call("BLOOM_FILTER_TEST", x, textLiteral(f.Filter))
}
