package timeline

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxDataSourceBytes limits the name of a datasource, because it is the name of a directory of deep
// storage, and file systems do not support longer names.
const MaxDataSourceBytes = 255

// DataSourceRefusal returns the error message for an invalid datasource name in a field, or "".
// Every endpoint that accepts such a name calls it.
func DataSourceRefusal(field, name string) string {
	if strings.TrimSpace(name) == "" {
		return fmt.Sprintf("Invalid value for field [%s]: must not be null", field)
	}
	if problem := DataSourceProblem(name); problem != "" {
		return fmt.Sprintf("Invalid value for field [%s]: Value [%s] %s", field, name, problem)
	}
	return ""
}

// DataSourceProblem returns the reason why a name is not a valid name of a datasource, or "". Deep
// storage and file systems must be able to store the name unchanged. The name is not empty.
func DataSourceProblem(name string) string {
	if len(name) > MaxDataSourceBytes {
		return fmt.Sprintf("has [%d] bytes; a name has at most [%d].", len(name), MaxDataSourceBytes)
	}
	return NameProblem(name)
}

// NameProblem checks only the characters of a name, for example the id of a task, which may be
// longer.
func NameProblem(name string) string {
	switch {
	case strings.HasPrefix(name, "."):
		return "cannot start with '.'."
	case strings.Contains(name, "/"):
		return "cannot contain '/'."
	case !utf8.ValidString(name):
		return "is no UTF-8."
	}
	for _, r := range name {
		switch {
		case r != ' ' && unicode.IsSpace(r):
			return "contains illegal whitespace characters.  Only space is allowed."
		case unicode.IsControl(r):
			return "contains illegal control characters."
		}
	}
	return ""
}
