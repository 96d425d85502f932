package timeline

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxDataSourceBytes bounds the name of a datasource: it is the name of a directory of deep
// storage, and file systems take no longer ones.
const MaxDataSourceBytes = 255

// DataSourceRefusal is the sentence for a user whose name for a datasource, in a field, can't be
// one, or "". Every door through which such names come in asks here.
func DataSourceRefusal(field, name string) string {
	if strings.TrimSpace(name) == "" {
		return fmt.Sprintf("Invalid value for field [%s]: must not be null", field)
	}
	if problem := DataSourceProblem(name); problem != "" {
		return fmt.Sprintf("Invalid value for field [%s]: Value [%s] %s", field, name, problem)
	}
	return ""
}

// DataSourceProblem says why a name can't be that of a datasource, which deep storage and file
// systems must hold as it is, or returns "". The name is not empty.
func DataSourceProblem(name string) string {
	if len(name) > MaxDataSourceBytes {
		return fmt.Sprintf("has [%d] bytes; a name has at most [%d].", len(name), MaxDataSourceBytes)
	}
	return NameProblem(name)
}

// NameProblem says the same of the characters of a name, such as the id of a task, which may be
// longer.
func NameProblem(name string) string {
	switch {
	case strings.HasPrefix(name, "."):
		return "cannot start with '.'."
	case strings.Contains(name, "/"):
		return "cannot contain '/'."
	case strings.Contains(name, `\`):
		return `cannot contain '\'.`
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
