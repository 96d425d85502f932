package native

import (
	"strings"

	"github.com/hengedb/henge/internal/expr"
)

// The functions of times, which are milliseconds.

// timeCall calls a time function whose arguments at the given places are milliseconds.
func timeCall(name string, args []expr.Expr, at ...int) (expr.Expr, error) {
	for _, i := range at {
		if i >= len(args) || i > 0 && isNullConstant(args[i]) {
			continue
		}
		x, err := time(args[i])
		if err != nil {
			return nil, err
		}
		args[i] = x
	}
	for len(args) > 0 && isNullConstant(args[len(args)-1]) && len(args) > 2 {
		args = args[:len(args)-1]
	}
	if isUnknown(args[0]) {
		return args[0], nil
	}
	return call(name, args...)
}

// timestampExtract binds timestamp_extract, which counts centuries and millennia in DOUBLE.
func timestampExtract(args []expr.Expr) (expr.Expr, error) {
	unit, _ := constantText(args[1])
	e, err := timeCall("TIME_EXTRACT", args, 0)
	if unit = strings.ToUpper(unit); err == nil && !isUnknown(e) && (unit == "CENTURY" || unit == "MILLENNIUM") {
		return cast(e, doubleType)
	}
	return e, err
}

// timestampFormat binds timestamp_format. Without a format it is that of ISO 8601, with Z for no
// offset.
func timestampFormat(args []expr.Expr) (expr.Expr, error) {
	if len(args) > 1 && !isNullConstant(args[1]) {
		return timeCall("TIME_FORMAT", args, 0)
	}
	e, err := timeCall("TIME_FORMAT", append([]expr.Expr{args[0], textLiteral("yyyy-MM-dd'T'HH:mm:ss.SSSZZ")}, args[min(2, len(args)):]...), 0)
	if err != nil || isUnknown(e) {
		return e, err
	}
	return call("REGEXP_REPLACE", e, textLiteral(`\+00:00$`), textLiteral("Z"))
}

func timestampShift(args []expr.Expr) (expr.Expr, error) {
	n, err := long(args[2])
	if err != nil {
		return nil, err
	}
	if n, err = call("COALESCE", n, longLiteral(0)); err != nil {
		return nil, err
	}
	if args[2], err = call("$WRAPPED", n); err != nil {
		return nil, err
	}
	return timeCall("TIME_SHIFT", args, 0)
}

func timestampParse(args []expr.Expr) (expr.Expr, error) {
	x, err := text(args[0])
	if err != nil {
		return nil, err
	}
	if args[0] = x; isNullConstant(x) {
		return unknown(), nil
	}
	for len(args) > 1 && isNullConstant(args[len(args)-1]) {
		args = args[:len(args)-1]
	}
	return call("TIME_PARSE", args...)
}

func timestamp(args []expr.Expr) (expr.Expr, error) {
	if x := operand(args[0]); !x.Type().IsCharacter() && !isUnknown(x) {
		return nil, invalid("Function [timestamp] of native expressions needs a STRING as first argument but got [%s] instead", x.Type().Runtime())
	}
	e, err := timestampParse(args)
	if err != nil || !isConstants(args) {
		return e, err
	}
	if e, err = expr.Fold(e, &expr.Context{}); err == nil && isNullConstant(e) {
		s, _ := constantText(args[0])
		return nil, invalid("Function [timestamp] of native expressions can't read [%.200s]", s)
	}
	return e, err
}

func unixTimestamp(args []expr.Expr) (expr.Expr, error) {
	t, err := timestamp(args)
	if err != nil {
		return nil, err
	}
	return arithmetic("/", t, longLiteral(1000))
}
