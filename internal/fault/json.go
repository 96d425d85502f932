package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// JSONProblem says in one sentence, for users and without Go types, why JSON could not be read.
func JSONProblem(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("the JSON is broken at byte %d: %s", syntax.Offset, syntax.Error())
	case errors.As(err, &kind):
		if kind.Field == "" {
			return fmt.Sprintf("a JSON %s does not fit", kind.Value)
		}
		return fmt.Sprintf("field '%s' can't be a JSON %s", kind.Field, kind.Value)
	}
	return err.Error()
}

// JSONClass names the class that the reference's JSON reader gives a value, which is what its messages show.
func JSONClass(v any) string {
	switch x := v.(type) {
	case string:
		return "java.lang.String"
	case bool:
		return "java.lang.Boolean"
	case int:
		return wholeClass(strconv.Itoa(x))
	case int64:
		return wholeClass(strconv.FormatInt(x, 10))
	case float64:
		if x == math.Trunc(x) {
			return wholeClass(strconv.FormatFloat(x, 'f', -1, 64))
		}
		return "java.lang.Double"
	case json.Number:
		if strings.ContainsAny(x.String(), ".eE") {
			return "java.lang.Double"
		}
		return wholeClass(x.String())
	case []any:
		return "java.util.ArrayList"
	case map[string]any:
		return "java.util.LinkedHashMap"
	}
	return fmt.Sprintf("%T", v)
}

func wholeClass(digits string) string {
	if _, err := strconv.ParseInt(digits, 10, 32); err == nil {
		return "java.lang.Integer"
	}
	if _, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return "java.lang.Long"
	}
	return "java.math.BigInteger"
}
