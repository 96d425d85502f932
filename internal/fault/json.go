package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
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
		return fmt.Sprintf("field '%s' can't be a JSON %s", JSONMember(kind), kind.Value)
	}
	return err.Error()
}

// JSONMember returns the path of the member that is of the wrong type, without the names of the
// structs that have it in them: those begin with a capital.
func JSONMember(kind *json.UnmarshalTypeError) string {
	field := kind.Field
	for {
		head, rest, ok := strings.Cut(field, ".")
		if !ok || head == "" || !unicode.IsUpper(rune(head[0])) {
			return field
		}
		field = rest
	}
}

// plain returns what a message shows of its arguments: of an error of encoding/json about a type,
// which names types of Go, JSONProblem.
func plain(args []any) []any {
	for i, a := range args {
		err, isError := a.(error)
		if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); isError && ok && Find(err) == nil {
			args = slices.Clone(args)
			args[i] = strings.Replace(err.Error(), kind.Error(), JSONProblem(kind), 1)
		}
	}
	return args
}

// JSONClass names the class that the reference's JSON reader gives a value, which is what its
// messages show.
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
