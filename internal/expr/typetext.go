package expr

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/hengedb/henge/internal/fault"
)

// typeError is the error for arguments whose types fit none of a function's forms.
func typeError(fn *Function, args []Expr, at fault.Span) error {
	err := fault.InvalidSQL(at, "Cannot apply '%s' to arguments of type '%s'. Supported form(s): %s",
		fn.Name, callText(fn.Name, args), "'"+strings.Join(fn.Signatures(), "'\n'")+"'")
	if (fn.Name == "+" || fn.Name == "-") && len(args) == 2 && args[0].Type().IsTime() && args[1].Type().IsNumeric() {
		return err.With("suggestion", "an interval: INTERVAL '1' DAY")
	}
	return err
}

// callText shows the types of a call in the shape of the call: ABS(<VARCHAR>), <INTEGER> +
// <BOOLEAN>, <VARCHAR> IS TRUE.
func callText(name string, args []Expr) string {
	types := make([]string, len(args))
	for i, a := range args {
		types[i] = "<" + TypeText(a) + ">"
	}
	operator := name == "" || name[0] < 'A' || name[0] > 'Z'
	switch {
	case strings.HasPrefix(name, "IS ") && len(args) == 1:
		return types[0] + " " + name
	case (operator || strings.HasPrefix(name, "IS ")) && len(args) == 2, name == "AND", name == "OR":
		return strings.Join(types, " "+name+" ")
	case strings.HasSuffix(name, betweenName):
		return types[0] + " " + name + " " + types[1] + " AND " + types[2]
	case operator && len(args) == 1, name == "NOT":
		return name + types[0]
	}
	return name + "(" + strings.Join(types, ", ") + ")"
}

// TypeText returns the type of x as messages of a call show it: with the length of a text, the
// digits of a decimal and the fraction digits of a time, which our types don't carry.
func TypeText(x Expr) string { return strings.ToUpper(typeText(x)) }

func typeText(x Expr) string {
	switch c := x.(type) {
	case *Literal:
		return literalTypeText(c)
	case *Call:
		if c.Fn.entry() == arrayFunction && c.T.Elem().Base != Array {
			return elementTypeText(c.Args, c.T.Elem()) + " ARRAY"
		}
	}
	return plainTypeText(x.Type())
}

func plainTypeText(t Type) string {
	switch t.Base {
	case Decimal:
		return "DECIMAL(19, 0)"
	case Timestamp:
		return "TIMESTAMP(3)"
	case IntervalDay:
		return "INTERVAL DAY"
	case IntervalMonth:
		return "INTERVAL MONTH"
	case Array:
		return plainTypeText(t.Elem()) + " ARRAY"
	}
	return t.String()
}

func literalTypeText(l *Literal) string {
	switch v := l.Value.(type) {
	case string:
		if l.T.Base == Char {
			return charText(v)
		}
	case float64:
		if l.T.Base == Decimal {
			return decimalText(v)
		}
	case int64:
		if l.T.Base == Timestamp && v%1000 == 0 {
			return "TIMESTAMP(0)"
		}
	}
	return plainTypeText(l.T)
}

// elementTypeText returns the type of an array's elements: of texts the longest.
func elementTypeText(elements []Expr, t Type) string {
	longest := ""
	for _, e := range elements {
		l, ok := e.(*Literal)
		if !ok || l.T.Base != Char {
			return plainTypeText(t)
		}
		if s, ok := l.Value.(string); ok && len(s) > len(longest) {
			longest = s
		}
	}
	if longest == "" {
		return plainTypeText(t)
	}
	return charText(longest)
}

func charText(s string) string {
	return "CHAR(" + strconv.Itoa(max(1, len(utf16.Encode([]rune(s))))) + ")"
}

func decimalText(v float64) string {
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(max(v, -v), 'f', -1, 64), ".")
	if fraction == "" {
		fraction = "0"
	}
	whole = strings.TrimLeft(whole, "0")
	return "DECIMAL(" + strconv.Itoa(max(len(whole), 1)+len(fraction)) + ", " + strconv.Itoa(len(fraction)) + ")"
}
