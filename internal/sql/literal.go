package sql

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/syntax"
)

func stringLiteral(s string) *expr.Literal {
	return &expr.Literal{Value: s, T: expr.Of(expr.Char).NotNull()}
}

func boolLiteral(b bool) *expr.Literal {
	v := int64(0)
	if b {
		v = 1
	}
	return &expr.Literal{Value: v, T: expr.Of(expr.Boolean).NotNull()}
}

func longLiteral(n int64) *expr.Literal {
	return &expr.Literal{Value: n, T: expr.Of(expr.BigInt).NotNull()}
}

// literal binds what isConstant.
func (x exprs) literal(e syntax.Expr) (expr.Expr, error) {
	l, err := x.constant(e)
	if err != nil {
		return nil, err
	}
	return x.b.keep(l), nil
}

// constant is literal for a caller that only wants the value and its type.
func (x exprs) constant(e syntax.Expr) (expr.Literal, error) {
	switch e := e.(type) {
	case *syntax.Number:
		return x.number(e, false)
	case *syntax.Unary:
		return x.number(e.X.(*syntax.Number), true)
	case *syntax.String:
		return expr.Literal{Value: e.Value, T: expr.Of(expr.Char).NotNull()}, nil
	case *syntax.Bool:
		return *boolLiteral(e.Value), nil
	case *syntax.Temporal:
		return x.b.temporalLiteral(e)
	}
	return expr.Literal{T: expr.Of(expr.Null)}, nil
}

func (x exprs) number(n *syntax.Number, negative bool) (expr.Literal, error) {
	l, err := numberLiteral(n, negative)
	if err == nil && n.Kind == syntax.Approx {
		l.T = x.b.form.approximate()
	}
	return l, err
}

// keep returns l where the statement's constants are: in blocks, for there may be many.
func (b *binder) keep(l expr.Literal) *expr.Literal {
	if len(b.literals) == cap(b.literals) {
		b.literals = make([]expr.Literal, 0, min(max(2*cap(b.literals), 8), 512))
	}
	b.literals = append(b.literals, l)
	return &b.literals[len(b.literals)-1]
}

// numberLiteral types a number, with a minus before it where it is negative, by its form: INTEGER
// up to 32 bits and BIGINT beyond, DECIMAL with a point, DOUBLE with an exponent.
func numberLiteral(n *syntax.Number, negative bool) (expr.Literal, error) {
	if whole := strings.TrimSuffix(n.Text, "."); n.Kind == syntax.Integer || len(whole) < len(n.Text) {
		v, err := strconv.ParseInt(whole, 10, 64)
		switch {
		case negative && err != nil: // the least number has no positive one
			v, err = strconv.ParseInt("-"+whole, 10, 64)
		case negative:
			v = -v
		}
		if err != nil {
			return expr.Literal{}, numberOutOfRange(n, negative)
		}
		return integer(v), nil
	}
	v, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || math.IsInf(v, 0) {
		return expr.Literal{}, numberOutOfRange(n, negative)
	}
	if negative {
		v = -v
	}
	if v == 0 {
		v = 0 // constants have no -0.0
	}
	base := expr.Decimal
	if n.Kind == syntax.Approx {
		base = expr.Double
	}
	return expr.Literal{Value: v, T: expr.Of(base).NotNull()}, nil
}

func numberOutOfRange(n *syntax.Number, negative bool) error {
	text := strings.ToUpper(n.Text)
	if negative {
		text = "-" + text
	}
	return fault.InvalidSQL(n.At, "Numeric literal '%s' out of range", text)
}

func integerLiteral(v int64) *expr.Literal {
	l := integer(v)
	return &l
}

// integer is the constant v, INTEGER or BIGINT.
func integer(v int64) expr.Literal {
	base := expr.BigInt
	if v >= math.MinInt32 && v <= math.MaxInt32 {
		base = expr.Integer
	}
	return expr.Literal{Value: v, T: expr.Of(base).NotNull()}
}

func temporalName(k syntax.TemporalKind) string {
	return [...]string{syntax.Date: "DATE", syntax.Time: "TIME", syntax.Timestamp: "TIMESTAMP"}[k]
}

// temporalLiteral reads DATE '..' and TIMESTAMP '..' in the query's zone.
func (b *binder) temporalLiteral(e *syntax.Temporal) (expr.Literal, error) {
	var ms int64
	var err error
	t := expr.Of(expr.Timestamp).NotNull()
	switch e.Kind {
	case syntax.Date:
		ms, err = chrono.ParseDateLiteral(e.Text, b.settings.zone)
		t = expr.Of(expr.Date).NotNull()
	case syntax.Timestamp:
		ms, err = chrono.ParseTimestampLiteral(e.Text, b.settings.zone)
		if err != nil { // a date alone is its midnight
			ms, err = chrono.ParseDateLiteral(e.Text, b.settings.zone)
		}
	default:
		return expr.Literal{}, fault.InvalidSQL(e.At, "Type [TIME] has no values here; use a TIMESTAMP")
	}
	if err != nil {
		return expr.Literal{}, fault.InvalidSQL(e.At, "Illegal %s literal '%s'", temporalName(e.Kind), e.Text)
	}
	return expr.Literal{Value: ms, T: t}, nil
}

// intervalForms are the texts an interval may have, by its units. Numbers are captured from the
// largest unit down.
var intervalForms = map[string]*regexp.Regexp{
	"YEAR": one, "QUARTER": one, "MONTH": one, "WEEK": one, "DAY": one, "HOUR": one, "MINUTE": one,
	"SECOND":           regexp.MustCompile(`^([+-]?)\s*(\d+(?:\.\d{1,9})?)$`),
	"YEAR TO MONTH":    regexp.MustCompile(`^([+-]?)\s*(\d+)-(\d{1,2})$`),
	"DAY TO HOUR":      regexp.MustCompile(`^([+-]?)\s*(\d+) +(\d{1,2})$`),
	"DAY TO MINUTE":    regexp.MustCompile(`^([+-]?)\s*(\d+) +(\d{1,2}):(\d{1,2})$`),
	"DAY TO SECOND":    regexp.MustCompile(`^([+-]?)\s*(\d+) +(\d{1,2}):(\d{1,2}):(\d{1,2}(?:\.\d{1,9})?)$`),
	"HOUR TO MINUTE":   regexp.MustCompile(`^([+-]?)\s*(\d+):(\d{1,2})$`),
	"HOUR TO SECOND":   regexp.MustCompile(`^([+-]?)\s*(\d+):(\d{1,2}):(\d{1,2}(?:\.\d{1,9})?)$`),
	"MINUTE TO SECOND": regexp.MustCompile(`^([+-]?)\s*(\d+):(\d{1,2}(?:\.\d{1,9})?)$`),
}

var one = regexp.MustCompile(`^([+-]?)\s*(\d+)$`)

// units in falling order with their length: milliseconds, or months.
var (
	dayUnits   = []string{"WEEK", "DAY", "HOUR", "MINUTE", "SECOND"}
	unitMillis = map[string]float64{"WEEK": 7 * 86_400_000, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000}
	unitMonths = map[string]float64{"YEAR": 12, "QUARTER": 3, "MONTH": 1}
)

// intervalLiteral makes milliseconds or months of an interval. Units have no limit of digits.
func intervalLiteral(e *syntax.Interval) (expr.Expr, error) {
	units := e.From
	if e.To != "" {
		units += " TO " + e.To
	}
	m := intervalForms[units].FindStringSubmatch(strings.TrimSpace(e.Text))
	if m == nil {
		return nil, fault.InvalidSQL(e.At, "Illegal interval literal format '%s' for INTERVAL %s", e.Text, units)
	}
	lengths, chain := unitMillis, dayUnits
	t := expr.Of(expr.IntervalDay).NotNull()
	if _, months := unitMonths[e.From]; months {
		lengths, chain = unitMonths, []string{"YEAR", "MONTH"}
		t = expr.Of(expr.IntervalMonth).NotNull()
	}
	total, unit := 0.0, e.From
	for i, text := range m[2:] {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fault.InvalidSQL(e.At, "Illegal interval literal format '%s' for INTERVAL %s", e.Text, units)
		}
		if i > 0 {
			unit = after(chain, unit)
		}
		total += math.Trunc(n*lengths[unit] + 1e-6)
	}
	if math.Abs(total) >= 1<<62 {
		return nil, fault.InvalidSQL(e.At, "Interval literal '%s' out of range", e.Text)
	}
	v := int64(total)
	if (m[1] == "-") != e.Negative {
		v = -v
	}
	return &expr.Literal{Value: v, T: t}, nil
}

func after(chain []string, unit string) string {
	for i, u := range chain[:len(chain)-1] {
		if u == unit {
			return chain[i+1]
		}
	}
	return unit
}
