package jsontext

import (
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Path is a parsed path: names and array positions from the root.
type Path []Step

// Step is a member's name or, if it is not a name, a position; a negative one counts from the end.
type Step struct {
	name   string
	index  int
	isName bool
}

// Named is the step to the member called name.
func Named(name string) Step { return Step{name: name, isName: true} }

// Child returns the path of the member called name of what stands at path.
func Child(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".'\"[]") {
		return path + "['" + name + "']"
	}
	return path + "." + name
}

// Nameable reports whether Child gives a path that means the member called name and nothing else.
func Nameable(name string) bool { return !strings.Contains(name, "']") }

// Members returns the one way in which Child writes a path of nothing but names, so that equal
// paths are equal texts. It reports false for other paths.
func (p Path) Members() (string, bool) {
	path := "$"
	for _, step := range p {
		if !step.isName || !Nameable(step.name) {
			return "", false
		}
		path = Child(path, step.name)
	}
	return path, true
}

// ParsePath reads $, .name, ['name'], ["name"] and [n]. The root is also what nothing stands for,
// and a dot at the end of a path stands for nothing, as in Druid. See quirk Q012.
func ParsePath(path string) (Path, error) {
	refuse := func(format string, args ...any) error {
		return fault.InvalidInput("JSONPath [%s] is invalid, "+format, append([]any{path}, args...)...)
	}
	if path == "" {
		return nil, nil
	}
	if !strings.HasPrefix(path, "$") {
		return nil, refuse("it must start with '$'")
	}
	var out Path
	for i := 1; i < len(path); {
		switch path[i] {
		case '.':
			end := i + 1
			for end < len(path) && path[end] != '.' && path[end] != '[' {
				end++
			}
			if end == i+1 {
				switch {
				case end == len(path):
					return out, nil
				case path[end] == '[':
					return nil, refuse("found '[' at invalid position [%d], must not follow '.' or must be contained with '", end)
				}
				return nil, refuse("path parts separated by '.' must not be empty")
			}
			out = append(out, Named(path[i+1:end]))
			i = end
		case '[':
			step, next, err := parseBracket(path, i, refuse)
			if err != nil {
				return nil, err
			}
			out = append(out, step)
			i = next
		default:
			return nil, refuse("path parts must be separated with '.'")
		}
	}
	return out, nil
}

func parseBracket(path string, i int, refuse func(string, ...any) error) (Step, int, error) {
	if i+1 < len(path) && (path[i+1] == '\'' || path[i+1] == '"') {
		quote := path[i+1 : i+2]
		end := strings.Index(path[i+2:], quote+"]")
		if end < 0 {
			return Step{}, 0, refuse("found ' at invalid position [%d]", i+1)
		}
		return Named(path[i+2 : i+2+end]), i + 2 + end + 2, nil
	}
	end := strings.IndexByte(path[i:], ']')
	if end < 0 {
		return Step{}, 0, refuse("unterminated '['")
	}
	text := path[i+1 : i+end]
	n, err := strconv.Atoi(text)
	if err != nil {
		return Step{}, 0, refuse("array specifier [%s] should be a number, it was not.  Use ' if this value was meant to be a field name",
			text)
	}
	return Step{index: n}, i + end + 1, nil
}

// Find returns the raw value at the path in a JSON text.
func (p Path) Find(s string) (string, bool) {
	i := Space(s, 0)
	for _, step := range p {
		if i >= len(s) || step.isName && s[i] != '{' || !step.isName && s[i] != '[' {
			return "", false
		}
		from := step.Member(s, i)
		if from < 0 {
			return "", false
		}
		i = from
	}
	end, ok := End(s, i, 0)
	return s[i:max(i, end)], ok
}

// Member returns where the value of the step starts in the container at i, -1 if there is none. Of
// equal names the last counts.
func (step Step) Member(s string, i int) int {
	found, end, position := -1, -1, 0
	if !step.isName && step.index < 0 {
		count := 0
		if !Members(s, i, 0, func(string, int, int) bool { count++; return true }, &end) {
			return -1
		}
		step.index += count
	}
	Members(s, i, 0, func(key string, from, _ int) bool {
		if step.isName {
			if keyIs(key, step.name) {
				found = from
			}
			return true
		}
		if position == step.index {
			found = from
			return false
		}
		position++
		return true
	}, &end)
	return found
}

// keyIs reports whether a raw key, with quotes, is a name.
func keyIs(raw, name string) bool {
	if len(raw) == len(name)+2 && raw[1:len(raw)-1] == name {
		return true
	}
	return strings.IndexByte(raw, '\\') >= 0 && Text(raw) == name
}
