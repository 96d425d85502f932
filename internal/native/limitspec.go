package native

import (
	"encoding/json"
	"strings"

	"github.com/hengedb/henge/internal/jsontext"
)

func lower(s string) string { return strings.ToLower(s) }

// LimitSpec sorts groups and limits their number.
type LimitSpec struct {
	Type    string      `json:"type"`
	Limit   *Whole      `json:"limit"`
	Offset  Whole       `json:"offset"`
	Columns []OrderItem `json:"columns"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *LimitSpec) UnmarshalJSON(text []byte) error { return readText(text, l) }

// read checks the type and the numbers.
func (l *LimitSpec) read(d *document, m member) error {
	type wire LimitSpec
	if err := d.fill(m, (*wire)(l)); err != nil {
		return err
	}
	switch l.Type {
	case "", "NoopLimitSpec", "noop":
		*l = LimitSpec{Type: l.Type}
	case "default":
	default: // what is no limit that is known is none
		*l = LimitSpec{Type: l.Type}
	}
	if l.Limit != nil && *l.Limit <= 0 {
		return invalid("limit[%d] must be >0", *l.Limit)
	}
	if l.Offset < 0 {
		return invalid("offset[%d] must be >= 0", l.Offset)
	}
	return nil
}

// OrderItem sorts by one output. In JSON, a bare name is ascending.
type OrderItem struct {
	Dimension      string     `json:"dimension"`
	Direction      Word       `json:"direction"`
	DimensionOrder OrderingOf `json:"dimensionOrder"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *OrderItem) UnmarshalJSON(text []byte) error { return readText(text, o) }

func (o *OrderItem) read(d *document, m member) error {
	if d.opens(m, '"') {
		return d.fill(m, &o.Dimension)
	}
	type wire OrderItem
	return d.fill(m, (*wire)(o))
}

// Descending reports whether the direction is descending or a prefix of that word. All other words
// mean ascending.
func (o *OrderItem) Descending() bool {
	d := lower(string(o.Direction))
	return d != "" && strings.HasPrefix("descending", d)
}

// OrderingOf is an order of strings: lexicographic, numeric, alphanumeric, strlen, version or
// natural; "" if it is absent. In JSON it is a name or an object with a type.
type OrderingOf string

// UnmarshalJSON implements json.Unmarshaler.
func (o *OrderingOf) UnmarshalJSON(text []byte) error {
	var name string
	switch {
	case isNull(text):
		return nil
	case text[0] == '"':
		if err := json.Unmarshal(text, &name); err != nil {
			return err
		}
	default:
		var wire struct {
			Type string `json:"type"`
		}
		if err := jsontext.Unmarshal(text, &wire); err != nil {
			return invalid("ordering must be a name or an object with a type")
		}
		name = wire.Type
	}
	var err error
	*o, err = orderingOf(name)
	return err
}

func orderingOf(name string) (OrderingOf, error) {
	switch name = lower(name); name {
	case "lexicographic", "numeric", "alphanumeric", "strlen", "version", "natural":
		return OrderingOf(name), nil
	}
	return "", invalid("ordering [%s] is unknown. Known are [alphanumeric, lexicographic, natural, numeric, strlen, version]", name)
}

// TopNMetric is the order of a topN. The concrete orders are below.
type TopNMetric interface {
	// output returns the output the order is by, "" for the dimension itself.
	output() string
}

// TopNMetricOf holds an order. In JSON, a bare name is an output, in descending order.
type TopNMetricOf struct{ TopNMetric }

// UnmarshalJSON implements json.Unmarshaler.
func (of *TopNMetricOf) UnmarshalJSON(text []byte) error { return readText(text, of) }

func (of *TopNMetricOf) read(d *document, m member) (err error) {
	switch {
	case d.isNull(m):
		return nil
	case d.opens(m, '"'):
		n := &NumericMetric{}
		of.TopNMetric = n
		return d.fill(m, &n.Metric)
	}
	metric, named, err := d.find(m, "metric")
	if err != nil {
		return err
	}
	if named && d.opens(metric, '"') && !hasType(d, m, metricTypes) {
		n := &NumericMetric{} // of no type that is known
		of.TopNMetric = n
		return d.fill(metric, &n.Metric)
	}
	of.TopNMetric, err = decodeTyped(d, m, "type", "Metric", metricTypes)
	return err
}

var metricTypes = map[string]func() TopNMetric{
	"numeric":       func() TopNMetric { return new(NumericMetric) },
	"inverted":      func() TopNMetric { return new(InvertedMetric) },
	"dimension":     func() TopNMetric { return new(DimensionMetric) },
	"lexicographic": func() TopNMetric { return &DimensionMetric{Ordering: "lexicographic"} },
	"alphaNumeric":  func() TopNMetric { return &DimensionMetric{Ordering: "alphanumeric"} },
}

// NumericMetric orders by an output, in descending order.
type NumericMetric struct {
	Metric string `json:"metric"`
}

// InvertedMetric inverts another order.
type InvertedMetric struct {
	Metric TopNMetricOf `json:"metric"`
}

// DimensionMetric orders by the dimension and begins after PreviousStop.
type DimensionMetric struct {
	Ordering     OrderingOf `json:"ordering"`
	PreviousStop *string    `json:"previousStop"`
}

func (m *NumericMetric) output() string { return m.Metric }
func (*DimensionMetric) output() string { return "" }

func (m *InvertedMetric) output() string {
	if m.Metric.TopNMetric == nil {
		return ""
	}
	return m.Metric.output()
}
