package native

import (
	"strings"

	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
)

// extract applies an extraction function to a column.
func extract(x expr.Expr, f Extraction) (expr.Expr, error) {
	if x.Type().Base == expr.Float {
		var err error
		if x, err = textOf(x); err != nil {
			return nil, err
		}
	}
	if f, ok := f.(*TimeFormatExtraction); ok {
		return onEach(x, func(x expr.Expr) (expr.Expr, error) { return timeFormat(x, f) })
	}
	x, err := cast(x, textType)
	if err != nil {
		return nil, err
	}
	switch f := f.(type) {
	case *IdentityExtraction:
		return x, nil
	case *UpperExtraction:
		return call("UPPER", x)
	case *LowerExtraction:
		return call("LOWER", x)
	case *StrlenExtraction:
		n, err := call("LENGTH", x)
		if err != nil {
			return nil, err
		}
		return cast(n, textType)
	case *SubstringExtraction:
		if f.Index < 0 || f.Length != nil && *f.Length <= 0 {
			return nil, invalid("Extraction function of type [substring] needs an index of at least 0 and a length of at least 1")
		}
		args := []expr.Expr{x, longLiteral(int64(f.Index) + 1)}
		if f.Length != nil {
			args = append(args, longLiteral(int64(*f.Length)))
		}
		return call("SUBSTRING", args...)
	case *RegexExtraction:
		return regexExtract(x, f)
	case *PartialExtraction:
		return nullUnless(x, func(x expr.Expr) (expr.Expr, error) { return call("REGEXP_LIKE", x, textLiteral(f.Expr)) })
	case *SearchExtraction:
		return nullUnless(x, func(x expr.Expr) (expr.Expr, error) { return searched(x, f.Query.SearchQuery) })
	case *CascadeExtraction:
		for _, inner := range f.ExtractionFns {
			if inner.Extraction == nil {
				return nil, invalid("extractionFns can't hold null")
			}
			if x, err = extract(x, inner.Extraction); err != nil {
				return nil, err
			}
		}
		return x, nil
	case *FormatExtraction:
		switch f.nulls() {
		case "emptystring":
			if x, err = call("COALESCE", x, textLiteral("")); err != nil {
				return nil, err
			}
		case "returnnull":
			formatted, err := call("STRING_FORMAT", textLiteral(f.Format), x)
			if err != nil {
				return nil, err
			}
			return whenNotNull(x, formatted)
		}
		return call("STRING_FORMAT", textLiteral(f.Format), x)
	case *TimeParseExtraction:
		return onEach(x, func(x expr.Expr) (expr.Expr, error) {
			t, err := call("TIME_PARSE", x, textLiteral(f.TimeFormat))
			if err != nil {
				return nil, err
			}
			if t, err = call("TIME_FORMAT", t, textLiteral(f.ResultFormat)); err != nil {
				return nil, err
			}
			return call("COALESCE", t, x) // what is no time stays
		})
	case *BucketExtraction:
		return onEach(x, func(x expr.Expr) (expr.Expr, error) { return bucketText(x, f) })
	case *LookupExtraction:
		if bool(f.RetainMissingValue) && f.ReplaceMissingValueWith != nil {
			return nil, invalid("Cannot specify a [replaceMissingValueWith] and set [retainMissingValue] to true")
		}
		return lookup(x, f.Lookup, bool(f.RetainMissingValue), f.ReplaceMissingValueWith)
	}
	return nil, fault.Unsupported("Extraction function is of a type that is not supported")
}

func timeFormat(x expr.Expr, f *TimeFormatExtraction) (expr.Expr, error) {
	if x.Type().Base != expr.Timestamp {
		n, err := ownNumber(x)
		if err != nil {
			return nil, err
		}
		if n, err = cast(n, longType); err != nil {
			return nil, err
		}
		x = asTime(n)
	}
	switch {
	case f.Granularity == nil || !f.Granularity.Given:
	case f.Granularity.IsAll(): // the bucket of all times begins with time
		known, err := call("IS NOT NULL", x)
		if err != nil {
			return nil, err
		}
		x = &expr.Case{Whens: []expr.When{{Cond: known, Then: &expr.Literal{Value: chrono.Eternity.Start, T: timeType.NotNull()}}}, T: timeType}
	default:
		var err error
		if x, err = floor(f.Granularity.Granularity, x); err != nil {
			return nil, err
		}
	}
	if f.AsMillis && f.Format == "" {
		ms, err := cast(x, longType)
		if err != nil {
			return nil, err
		}
		return cast(ms, textType)
	}
	pattern, zone := f.Format, f.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	known, err := chrono.LoadZone(zone)
	if err != nil {
		return nil, err
	}
	if pattern == "" {
		pattern = "yyyy-MM-dd'T'HH:mm:ss.SSSZZ"
		if known == chrono.UTC {
			pattern = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"
		}
	}
	if f.Locale != nil {
		return call("$TIME_FORMAT_IN", x, textLiteral(pattern), textLiteral(zone), textLiteral(*f.Locale))
	}
	return call("TIME_FORMAT", x, textLiteral(pattern), textLiteral(zone))
}

func regexExtract(x expr.Expr, f *RegexExtraction) (expr.Expr, error) {
	index := int64(1)
	if f.Index != nil {
		index = int64(*f.Index)
	}
	return onEach(x, func(x expr.Expr) (expr.Expr, error) {
		found, err := call("REGEXP_EXTRACT", x, textLiteral(f.Expr), longLiteral(index))
		if err != nil {
			return nil, err
		}
		other := x
		if f.ReplaceMissingValue {
			if f.ReplaceMissingValueWith == nil {
				return found, nil
			}
			other = textLiteral(*f.ReplaceMissingValueWith)
		}
		return call("COALESCE", found, other)
	})
}

// onEach applies f to x. A multi-value string would be bound value by value in each function for
// itself, which is wrong where a function combines several: those refuse it.
func onEach(x expr.Expr, f func(expr.Expr) (expr.Expr, error)) (expr.Expr, error) {
	if !x.Type().Multi {
		return f(x)
	}
	elem := &expr.Element{T: x.Type().Elem()}
	body, err := f(elem)
	if err != nil {
		return nil, err
	}
	return &expr.Each{Source: x, Body: body, T: expr.MultiString}, nil
}

// nullUnless is x where the condition holds, else NULL.
func nullUnless(x expr.Expr, cond func(expr.Expr) (expr.Expr, error)) (expr.Expr, error) {
	return onEach(x, func(x expr.Expr) (expr.Expr, error) {
		c, err := cond(x)
		if err != nil {
			return nil, err
		}
		return expr.NewCase([]expr.When{{Cond: c, Then: x}}, nil, fault.Span{})
	})
}

func whenNotNull(x, then expr.Expr) (expr.Expr, error) {
	c, err := call("IS NOT NULL", x)
	if err != nil {
		return nil, err
	}
	return expr.NewCase([]expr.When{{Cond: c, Then: then}}, nil, fault.Span{})
}

// ofStored is what a dimension makes of a column: of NULL in a column of numbers it is NULL,
// whatever f makes of that.
func ofStored(x expr.Expr, f func(expr.Expr) (expr.Expr, error)) (expr.Expr, error) {
	out, err := f(x)
	if _, column := x.(*expr.Column); err != nil || !column || !x.Type().IsNumeric() {
		return out, err
	}
	return whenNotNull(x, out)
}

// textDouble is the number that x is, a text with blanks around it too.
func textDouble(x expr.Expr) (expr.Expr, error) {
	if !x.Type().IsCharacter() {
		return cast(x, doubleType)
	}
	x, err := call("TRIM", x)
	if err != nil {
		return nil, err
	}
	return call("$TEXT_DOUBLE", x)
}

// numberDimension converts a dimension to a type of numbers. A text is a number only if it is one
// as a whole, and a LONG only if it has no fraction.
func numberDimension(x expr.Expr, name string) (expr.Expr, error) {
	t, err := parseType(name)
	if err != nil || !x.Type().IsCharacter() || x.Type().Multi || !t.IsNumeric() {
		return castTo(x, name)
	}
	function := "$TEXT_DOUBLE"
	if t.IsInteger() {
		function = "$TEXT_LONG"
	}
	if x, err = call(function, x); err != nil {
		return nil, err
	}
	return cast(x, t)
}

// bucketText writes the lower bound of the bucket of a number.
func bucketText(x expr.Expr, f *BucketExtraction) (expr.Expr, error) {
	size := 1.0
	if f.Size != nil {
		size = *f.Size
	}
	if size == 0 {
		return nil, invalid("Extraction function [bucket] needs a size other than 0")
	}
	n, err := textDouble(x)
	if err != nil {
		return nil, err
	}
	for _, step := range []struct {
		op string
		by float64
	}{{"-", f.Offset}, {"/", size}} {
		if n, err = arithmetic(step.op, n, doubleLiteral(step.by)); err != nil {
			return nil, err
		}
	}
	if n, err = call("FLOOR", n); err != nil {
		return nil, err
	}
	for _, step := range []struct {
		op string
		by float64
	}{{"*", size}, {"+", f.Offset}} {
		if n, err = arithmetic(step.op, n, doubleLiteral(step.by)); err != nil {
			return nil, err
		}
	}
	whole, err := cast(n, longType)
	if err != nil {
		return nil, err
	}
	if size == float64(int64(size)) && f.Offset == float64(int64(f.Offset)) {
		return cast(whole, textType)
	}
	isWhole, err := compare("=", n, whole)
	if err != nil {
		return nil, err
	}
	short, err := cast(whole, textType)
	if err != nil {
		return nil, err
	}
	if n, err = cast(n, textType); err != nil {
		return nil, err
	}
	return expr.NewCase([]expr.When{{Cond: isWhole, Then: short}}, n, fault.Span{})
}

// registered maps text through the lookup of a name. Keys that it does not have stay, or become
// other, or NULL.
func registered(x expr.Expr, name string, retain bool, other *string) (expr.Expr, error) {
	return onEach(x, func(x expr.Expr) (expr.Expr, error) {
		args := []expr.Expr{x, textLiteral(name)}
		if other != nil && !retain {
			args = append(args, textLiteral(*other))
		}
		found, err := call("LOOKUP", args...)
		if err != nil || !retain {
			return found, err
		}
		return call("COALESCE", found, x)
	})
}

// lookup maps text through a table that is part of the query, or through a registered lookup.
func lookup(x expr.Expr, m MapOf, retain bool, other *string) (expr.Expr, error) {
	x, err := textOf(x)
	if err != nil {
		return nil, err
	}
	if m.Map == nil {
		return registered(x, m.Name, retain, other)
	}
	keys := make([]string, 0, len(m.Map))
	for k := range m.Map {
		keys = append(keys, k)
	}
	slices.Sort(keys) // plans of equal queries are equal
	return onEach(x, func(x expr.Expr) (expr.Expr, error) {
		var whens []expr.When
		for _, k := range keys {
			c, err := expr.NewCompare("=", x, textLiteral(k), fault.Span{})
			if err != nil {
				return nil, err
			}
			whens = append(whens, expr.When{Cond: c, Then: textLiteral(m.Map[k])})
		}
		var rest expr.Expr = &expr.Literal{T: textType}
		switch {
		case retain:
			rest = x
		case other != nil:
			rest = textLiteral(*other)
		}
		if len(whens) == 0 {
			return rest, nil
		}
		return expr.NewCase(whens, rest, fault.Span{})
	})
}

// dimension translates a dimension to its value; a multi-value string stays one.
func (s *scope) dimension(d Dimension) (expr.Expr, error) {
	switch d := d.(type) {
	case nil:
		return nil, invalid("A dimension can't be null")
	case *ColumnDimension:
		x, err := s.column(d.Dimension)
		if err != nil {
			return nil, err
		}
		if d.ExtractionFn.Extraction != nil {
			if x, err = ofStored(x, func(x expr.Expr) (expr.Expr, error) { return extract(x, d.ExtractionFn.Extraction) }); err != nil {
				return nil, err
			}
		}
		if d.OutputType == "" || strings.EqualFold(string(d.OutputType), "STRING") {
			if x.Type().Base == expr.Float {
				return textOf(x)
			}
			return castTo(x, "STRING")
		}
		return numberDimension(x, string(d.OutputType))
	case *LookupDimension:
		x, err := s.column(d.Dimension)
		if err != nil {
			return nil, err
		}
		switch {
		case d.Name != "" && d.Lookup != nil:
			return nil, invalid("Dimension of type [lookup] can't have both name [%s] and lookup", d.Name)
		case bool(d.RetainMissingValue) && d.ReplaceMissingValueWith != nil:
			return nil, invalid("Cannot specify a [replaceMissingValueWith] and set [retainMissingValue] to true")
		}
		m := MapOf{Name: d.Name}
		if d.Lookup != nil {
			m = *d.Lookup
		}
		return ofStored(x, func(x expr.Expr) (expr.Expr, error) {
			return lookup(x, m, bool(d.RetainMissingValue), d.ReplaceMissingValueWith)
		})
	case *ListFilteredDimension:
		if len(d.Values) == 0 {
			return nil, invalid("values list must be non-empty")
		}
		var list []expr.Expr
		for _, v := range d.Values {
			if !v.Null {
				list = append(list, textLiteral(v.S))
			}
		}
		keep := d.keepsListed()
		return s.filteredValues(d.Delegate, func(x expr.Expr) (expr.Expr, error) {
			if len(list) == 0 {
				return boolLiteral(!keep), nil
			}
			c, err := expr.NewIn(x, list, fault.Span{})
			if err != nil || keep {
				return c, err
			}
			return call("IS NOT TRUE", c)
		}, func(x expr.Expr) (expr.Expr, error) {
			array := arrayOfTexts(d.Values)
			if keep {
				return call("MV_FILTER_ONLY", x, array)
			}
			return call("MV_FILTER_NONE", x, array)
		})
	case *RegexFilteredDimension:
		whole := `\A(?:` + d.Pattern + `)\z` // all of a value is to match
		return s.filteredValues(d.Delegate, func(x expr.Expr) (expr.Expr, error) {
			return call("REGEXP_LIKE", x, textLiteral(whole))
		}, func(x expr.Expr) (expr.Expr, error) { return call("MV_FILTER_REGEX", x, textLiteral(whole)) })
	case *PrefixFilteredDimension:
		return s.filteredValues(d.Delegate, func(x expr.Expr) (expr.Expr, error) {
			head, err := call("LEFT", x, longLiteral(int64(len([]rune(d.Prefix)))))
			if err != nil {
				return nil, err
			}
			return expr.NewCompare("=", head, textLiteral(d.Prefix), fault.Span{})
		}, func(x expr.Expr) (expr.Expr, error) { return call("MV_FILTER_PREFIX", x, textLiteral(d.Prefix)) })
	}
	return nil, fault.Unsupported("Dimension is of a type that is not supported")
}

func arrayOfTexts(list []Text) expr.Expr {
	values := make([]any, len(list))
	for i, v := range list {
		if !v.Null {
			values[i] = v.S
		}
	}
	return &expr.Literal{Value: values, T: expr.ArrayOf(textType)}
}

// filteredValues keeps some of the values of a dimension: with one function for a single value,
// which becomes NULL, with another for many.
func (s *scope) filteredValues(delegate DimensionOf, one, many func(expr.Expr) (expr.Expr, error)) (expr.Expr, error) {
	x, err := s.dimension(delegate.Dimension)
	if err != nil {
		return nil, err
	}
	if x.Type().Multi {
		return many(x)
	}
	if x, err = cast(x, textType); err != nil {
		return nil, err
	}
	return nullUnless(x, one)
}
