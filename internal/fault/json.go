package fault

import (
	"encoding/json"
	"errors"
	"fmt"
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
