package native

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/stringfn"
	"github.com/hengedb/henge/internal/fault"
)

// The functions of texts and of nested data.

func ofTexts(name string, args []expr.Expr) (expr.Expr, error) { return converted(name, text, args) }

func constantText(e expr.Expr) (string, bool) {
	l, ok := e.(*expr.Literal)
	if !ok {
		return "", false
	}
	s, ok := l.Value.(string)
	return s, ok
}

func like(args []expr.Expr) (expr.Expr, error) {
	x, err := text(args[0])
	if err != nil {
		return nil, err
	}
	var escape expr.Expr
	if len(args) == 3 {
		escape = args[2]
	}
	if isNullConstant(x) {
		return &expr.Literal{T: boolType}, nil
	}
	return stringfn.NewLike(x, args[1], escape, false, fault.Span{})
}

// ofPattern calls a function of a text and a regular expression.
func ofPattern(name string) func(args []expr.Expr) (expr.Expr, error) {
	return func(args []expr.Expr) (expr.Expr, error) {
		x, err := text(args[0])
		if err != nil {
			return nil, err
		}
		if args[0] = x; isNullConstant(x) {
			return unknown(), nil
		}
		return call(name, args...)
	}
}

// contained binds a search for a constant text.
func contained(name string) func(args []expr.Expr) (expr.Expr, error) {
	return func(args []expr.Expr) (expr.Expr, error) {
		if _, ok := args[1].(*expr.Literal); !ok {
			return nil, invalid("Function [%s] of native expressions needs the text to look for as a constant", lower(name))
		}
		return ofTexts(name, args)
	}
}

func parseLong(args []expr.Expr) (expr.Expr, error) {
	x, err := text(args[0])
	if err != nil {
		return nil, err
	}
	if args[0] = x; isNullConstant(x) {
		return unknown(), nil
	}
	if len(args) == 2 {
		if args[1], err = long(args[1]); err != nil {
			return nil, err
		}
	}
	return call("PARSE_LONG", args...)
}

func reverse(args []expr.Expr) (expr.Expr, error) {
	if x := operand(args[0]); !x.Type().IsCharacter() && !isUnknown(x) {
		return nil, invalid("Function [reverse] of native expressions needs a STRING argument but got [%s] instead", x.Type().Runtime())
	}
	return ofTexts("REVERSE", args)
}

// textAndCount calls a function of a text and a number, which must not be negative if counted says
// so.
func textAndCount(name string, counted bool) func(args []expr.Expr) (expr.Expr, error) {
	return func(args []expr.Expr) (expr.Expr, error) {
		if err := convertEach(args, text, long); err != nil {
			return nil, err
		}
		if l, ok := args[1].(*expr.Literal); ok && counted {
			if k, isLong := l.Value.(int64); isLong && k < 0 {
				return nil, invalid("Function [%s] of native expressions needs a number that is not negative", lower(name))
			}
		}
		return call(name, args...)
	}
}

func pad(name string) func(args []expr.Expr) (expr.Expr, error) {
	return func(args []expr.Expr) (expr.Expr, error) {
		if err := convertEach(args, text, long, text); err != nil {
			return nil, err
		}
		return call(name, args...)
	}
}

// format binds format(pattern, ..): a NULL pattern is NULL.
func format(args []expr.Expr) (expr.Expr, error) {
	for i, a := range args {
		args[i] = operand(a)
	}
	return call("STRING_FORMAT", args...)
}

// substring counts from 0.
func substring(args []expr.Expr) (expr.Expr, error) {
	x, err := text(args[0])
	if err != nil {
		return nil, err
	}
	from, err := arithmetic("+", args[1], longLiteral(1))
	if err != nil {
		return nil, err
	}
	return call("SUBSTRING", append([]expr.Expr{x, from}, args[2:]...)...)
}

// strpos counts from 0 and is -1 where nothing is found.
func strpos(args []expr.Expr) (expr.Expr, error) {
	if err := convertEach(args, text, text); err != nil {
		return nil, err
	}
	x, part := args[0], args[1]
	var err error
	if isNullConstant(x) || isNullConstant(part) {
		return &expr.Literal{T: longType}, nil
	}
	if len(args) == 2 {
		if x, err = call("STRPOS", x, part); err != nil {
			return nil, err
		}
		return arithmetic("-", x, longLiteral(1))
	}
	from, err := long(args[2])
	if err != nil {
		return nil, err
	}
	if from, err = arithmetic("+", from, longLiteral(1)); err != nil {
		return nil, err
	}
	if x, err = call("POSITION", part, x, from); err != nil {
		return nil, err
	}
	return arithmetic("-", x, longLiteral(1))
}

func trim(side string, args []expr.Expr) (expr.Expr, error) {
	x, err := text(args[0])
	if err != nil {
		return nil, err
	}
	set := textLiteral(" ")
	if len(args) == 2 {
		set = args[1]
	}
	return stringfn.NewTrim(side, set, x, fault.Span{})
}

func jsonValue(args []expr.Expr) (expr.Expr, error) {
	t := textType
	if len(args) == 3 {
		name, ok := constantText(args[2])
		if !ok {
			return nil, invalid("Function [json_value] of native expressions needs a constant type")
		}
		var err error
		if t, err = parseType(name); err != nil {
			return nil, err
		}
	}
	return expr.NewJSONValue(args[0], args[1], t, fault.Span{})
}
