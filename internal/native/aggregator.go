package native

// Aggregator is an aggregate of a query. The concrete aggregators are in this file.
type Aggregator interface{ output() string }

// AggregatorOf holds an aggregator.
type AggregatorOf struct{ Aggregator }

// UnmarshalJSON implements json.Unmarshaler.
func (a *AggregatorOf) UnmarshalJSON(text []byte) error { return readText(text, a) }

func (a *AggregatorOf) read(d *document, m member) (err error) {
	if d.isNull(m) {
		return nil
	}
	a.Aggregator, err = decodeTyped(d, m, "type", "Aggregator", aggregatorTypes)
	return err
}

// AggregatorTypes returns the names of the types of aggregators.
func AggregatorTypes() []string { return names(aggregatorTypes) }

var aggregatorTypes = func() map[string]func() Aggregator {
	m := map[string]func() Aggregator{
		"filtered":    func() Aggregator { return new(FilteredAggregator) },
		"cardinality": func() Aggregator { return new(CardinalityAggregator) },
		"grouping":    func() Aggregator { return new(GroupingAggregator) },
		"expression":  func() Aggregator { return new(ExpressionAggregator) },
	}
	for name := range simpleAggregators {
		m[name] = func() Aggregator { return new(SimpleAggregator) }
	}
	for name := range sketchAggregators {
		m[name] = func() Aggregator { return new(SketchAggregator) }
	}
	for name := range summaries {
		m[name] = func() Aggregator { return new(SummaryAggregator) }
	}
	return m
}()

// SimpleAggregator aggregates one column or expression with the function that its Type names.
type SimpleAggregator struct {
	Type           string   `json:"type"`
	Name           string   `json:"name"`
	FieldName      string   `json:"fieldName"`
	Expression     string   `json:"expression"`
	TimeColumn     string   `json:"timeColumn"`
	MaxStringBytes Whole    `json:"maxStringBytes"`
	Estimator      string   `json:"estimator"`
	Fields         []string `json:"fieldNames"`
	// AggregateMultipleValues says whether a multi-value string counts as all of its values; the
	// default is true.
	AggregateMultipleValues *Flag `json:"aggregateMultipleValues"`
}

// FilteredAggregator is an aggregator over the rows that Filter keeps.
type FilteredAggregator struct {
	Name       string       `json:"name"`
	Filter     FilterOf     `json:"filter"`
	Aggregator AggregatorOf `json:"aggregator"`
}

// CardinalityAggregator estimates the number of distinct values of columns, or of distinct
// combinations of their values with ByRow.
type CardinalityAggregator struct {
	Name       string        `json:"name"`
	Fields     []DimensionOf `json:"fields"`
	FieldNames []DimensionOf `json:"fieldNames"`
	ByRow      Flag          `json:"byRow"`
	Round      Flag          `json:"round"`
}

// GroupingAggregator returns a bitmap with one bit per dimension of Groupings. The bit is 1 if the
// subtotal of the row omits the dimension.
type GroupingAggregator struct {
	Name      string   `json:"name"`
	Groupings []string `json:"groupings"`
}

// ExpressionAggregator folds rows by an expression.
type ExpressionAggregator struct {
	Name          string   `json:"name"`
	Fields        []string `json:"fields"`
	AccumulatorID string   `json:"accumulatorIdentifier"`
	InitialValue  string   `json:"initialValue"`
	Fold          string   `json:"fold"`
	Combine       string   `json:"combine"`
	Finalize      string   `json:"finalize"`
	// AggregateNulls says whether rows with NULL in a field are aggregated. NullUnlessAggregated says
	// whether the result over no rows is NULL instead of the initial value. The default of both is
	// true.
	AggregateNulls       *Flag `json:"shouldAggregateNullInputs"`
	NullUnlessAggregated *Flag `json:"isNullUnlessAggregated"`
}

func (a *SimpleAggregator) output() string      { return a.Name }
func (a *CardinalityAggregator) output() string { return a.Name }
func (a *GroupingAggregator) output() string    { return a.Name }
func (a *ExpressionAggregator) output() string  { return a.Name }

func (a *FilteredAggregator) output() string {
	if a.Name != "" || a.Aggregator.Aggregator == nil {
		return a.Name
	}
	return a.Aggregator.output()
}

// PostAggregator computes a value from the aggregates of a row. The concrete post-aggregators are
// below.
type PostAggregator interface{ output() string }

// PostAggregatorOf holds a post-aggregator.
type PostAggregatorOf struct{ PostAggregator }

// UnmarshalJSON implements json.Unmarshaler.
func (p *PostAggregatorOf) UnmarshalJSON(text []byte) error { return readText(text, p) }

func (p *PostAggregatorOf) read(d *document, m member) (err error) {
	if d.isNull(m) {
		return nil
	}
	p.PostAggregator, err = decodeTyped(d, m, "type", "Post-aggregator", postAggregatorTypes)
	return err
}

var postAggregatorTypes = map[string]func() PostAggregator{
	"arithmetic":             func() PostAggregator { return new(ArithmeticPost) },
	"fieldAccess":            func() PostAggregator { return new(FieldPost) },
	"finalizingFieldAccess":  func() PostAggregator { return new(FieldPost) },
	"hyperUniqueCardinality": func() PostAggregator { return new(FieldPost) },
	"constant":               func() PostAggregator { return new(ConstantPost) },
	"expression":             func() PostAggregator { return new(ExpressionPost) },
	"doubleGreatest":         func() PostAggregator { return new(ExtremePost) },
	"doubleLeast":            func() PostAggregator { return new(ExtremePost) },
	"longGreatest":           func() PostAggregator { return new(ExtremePost) },
	"longLeast":              func() PostAggregator { return new(ExtremePost) },
	"stddev":                 func() PostAggregator { return new(StddevPost) },
	"zscore2sample":          func() PostAggregator { return new(ZScorePost) },
	"pvalue2tailedZtest":     func() PostAggregator { return new(PValuePost) },
}

// ArithmeticPost folds its fields, left to right, by Fn: + - * / quotient pow. Division by zero
// with / returns 0.
type ArithmeticPost struct {
	Name     string             `json:"name"`
	Fn       string             `json:"fn"`
	Fields   []PostAggregatorOf `json:"fields"`
	Ordering Word               `json:"ordering"`
}

// FieldPost is the value of another output.
type FieldPost struct {
	Type      string `json:"type"`
	Name      string `json:"name"`
	FieldName string `json:"fieldName"`
}

// ConstantPost is a number.
type ConstantPost struct {
	Name  string `json:"name"`
	Value Number `json:"value"`
}

// ExpressionPost is an expression over the outputs.
type ExpressionPost struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
	Ordering   Word   `json:"ordering"`
	OutputType string `json:"outputType"`
}

// ExtremePost is the greatest or the least of its fields.
type ExtremePost struct {
	Type   string             `json:"type"`
	Name   string             `json:"name"`
	Fields []PostAggregatorOf `json:"fields"`
}

func (p *ArithmeticPost) check() error { return checkOrdering(p.Ordering) }
func (p *ExpressionPost) check() error { return checkOrdering(p.Ordering) }

// checkOrdering checks how values of a post-aggregator are ordered, which changes nothing: NaN is
// the greatest in both ways.
func checkOrdering(ordering Word) error {
	if ordering != "" && ordering != "numericFirst" {
		return invalid("ordering [%s] of a post-aggregator is unknown. Known is [numericFirst]", ordering)
	}
	return nil
}

func (p *ArithmeticPost) output() string { return p.Name }
func (p *ConstantPost) output() string   { return p.Name }
func (p *ExpressionPost) output() string { return p.Name }
func (p *ExtremePost) output() string    { return p.Name }

func (p *FieldPost) output() string {
	if p.Name != "" {
		return p.Name
	}
	return p.FieldName
}
