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

// JSONProblem explains in one sentence, for users and without Go types, why JSON could not be
// parsed.
func JSONProblem(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("%s, at byte [%d]", brokenJSON(syntax), syntax.Offset)
	case errors.As(err, &kind):
		if kind.Field == "" {
			return fmt.Sprintf("a JSON %s does not fit", kind.Value)
		}
		return fmt.Sprintf("field '%s' can't be a JSON %s", JSONMember(kind), kind.Value)
	}
	return Words(err)
}

// JSONMember returns the path of the member with the wrong type, without the names of embedded
// structs, which begin with a capital letter.
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

// plain returns what a message shows of its arguments: of an error of a library Words, of a fault
// its message without the cause, which is for the log.
func plain(args []any) []any {
	copied := false
	for i, a := range args {
		err, isError := a.(error)
		if !isError || err == nil {
			continue
		}
		if !copied {
			args, copied = slices.Clone(args), true
		}
		args[i] = Words(err)
	}
	return args
}

// Sprintf is like fmt.Sprintf, for text that users read: errors among args are formatted by Words.
func Sprintf(format string, args ...any) string { return fmt.Sprintf(format, plain(args)...) }

// JSONClass returns the Java class of a value in Druid's JSON parser, which messages contain. See
// quirk Q011.
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
