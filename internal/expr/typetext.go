package expr

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/hengedb/henge/internal/fault"
)

// TypeError is the error for arguments whose types do not match any form of a function.
func TypeError(fn *Function, args []Expr, at fault.Span) error {
	err := fault.InvalidSQL(at, "Cannot apply '%s' to arguments of type '%s'. Supported form(s): %s",
		fn.Name, callText(fn.Name, args), "'"+strings.Join(fn.Signatures(), "'\n'")+"'")
	if instead := typeAdvice(fn.Name, args); instead != "" {
		err = err.With("suggestion", instead)
		err.Message += ". Write instead: " + instead
	}
	return err
}

// typeAdvice says what to write instead of a call whose types fit none of its forms, "" if nothing
// is likely meant.
func typeAdvice(name string, args []Expr) string {
	if len(args) != 2 {
		return ""
	}
	left, right := args[0].Type(), args[1].Type()
	switch name {
	case "-":
		if left.IsTime() && right.IsTime() {
			return "TIMESTAMPDIFF(SECOND, earlier, later), or another unit: MINUTE, HOUR, DAY, MONTH, YEAR"
		}
		fallthrough
	case "+":
		if left.IsTime() && right.IsNumeric() || name == "+" && left.IsNumeric() && right.IsTime() {
			return "an interval: INTERVAL '1' DAY"
		}
	case "=", "<>", "LIKE", "ILIKE":
		return arrayAdvice(name, left, right)
	case "||":
		if left.Base == Array || right.Base == Array {
			return "ARRAY_TO_STRING(array, ', ') in place of the array, or ARRAY_CONCAT of two arrays"
		}
	}
	return ""
}

// arrayAdvice is typeAdvice for a test whether an array is, or has, a value.
func arrayAdvice(name string, left, right Type) string {
	if (left.Base == Array) == (right.Base == Array) {
		return ""
	}
	switch name {
	case "=":
		return "ARRAY_CONTAINS(array, value)"
	case "<>":
		return "NOT ARRAY_CONTAINS(array, value)"
	}
	return "UNNEST(array) AS u(x) in FROM, and x " + name + " pattern"
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

// TypeText returns the type of x in the form of messages about calls: with the length of a string,
// the digits of a decimal and the fraction digits of a time, which Type does not contain.
func TypeText(x Expr) string { return strings.ToUpper(typeText(x)) }

func typeText(x Expr) string {
	switch c := x.(type) {
	case *Literal:
		return literalTypeText(c)
	case *Call:
		if c.Fn.Entry() == arrayFunction && c.T.Elem().Base != Array {
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
