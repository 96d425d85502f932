package expr

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/hengedb/henge/internal/fault"
)

// jsonPath is a parsed path: names and array positions from the root.
type jsonPath []jsonStep

// jsonStep is a member's name or, if it is not a name, a position; a negative one counts from the end.
type jsonStep struct {
	name   string
	index  int
	isName bool
}

// parseJSONPath reads $, .name, ['name'], ["name"] and [n]. The root is also what nothing and "$." stand for, as in the reference.
func parseJSONPath(path string) (jsonPath, error) {
	refuse := func(format string, args ...any) error {
		return fault.InvalidInput("JSONPath [%s] is invalid, "+format, append([]any{path}, args...)...)
	}
	if path == "" || path == "$" || path == "$." {
		return nil, nil
	}
	if !strings.HasPrefix(path, "$") {
		return nil, refuse("it must start with '$'")
	}
	var out jsonPath
	for i := 1; i < len(path); {
		switch path[i] {
		case '.':
			end := i + 1
			for end < len(path) && path[end] != '.' && path[end] != '[' {
				end++
			}
			if end == i+1 {
				if end < len(path) && path[end] == '[' {
					return nil, refuse("found '[' at invalid position [%d], must not follow '.' or must be contained with '", end)
				}
				return nil, refuse("path parts separated by '.' must not be empty")
			}
			out = append(out, jsonStep{name: path[i+1 : end], isName: true})
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

func parseBracket(path string, i int, refuse func(string, ...any) error) (jsonStep, int, error) {
	if i+1 < len(path) && (path[i+1] == '\'' || path[i+1] == '"') {
		quote := path[i+1 : i+2]
		end := strings.Index(path[i+2:], quote+"]")
		if end < 0 {
			return jsonStep{}, 0, refuse("found ' at invalid position [%d]", i+1)
		}
		return jsonStep{name: path[i+2 : i+2+end], isName: true}, i + 2 + end + 2, nil
	}
	end := strings.IndexByte(path[i:], ']')
	if end < 0 {
		return jsonStep{}, 0, refuse("unterminated '['")
	}
	text := path[i+1 : i+end]
	n, err := strconv.Atoi(text)
	if err != nil {
		return jsonStep{}, 0, refuse("array specifier [%s] should be a number, it was not.  Use ' if this value was meant to be a field name",
			text)
	}
	return jsonStep{index: n}, i + end + 1, nil
}

// find returns the raw value at the path in a JSON text.
func (p jsonPath) find(s string) (string, bool) {
	i := jsonSpace(s, 0)
	for _, step := range p {
		if i >= len(s) || step.isName && s[i] != '{' || !step.isName && s[i] != '[' {
			return "", false
		}
		from := step.member(s, i)
		if from < 0 {
			return "", false
		}
		i = from
	}
	end, ok := jsonEnd(s, i, 0)
	return s[i:max(i, end)], ok
}

// member returns where the value of the step starts in the container at i, -1 if there is none. Of equal names the last counts.
func (step jsonStep) member(s string, i int) int {
	found, end, position := -1, -1, 0
	if !step.isName && step.index < 0 {
		count := 0
		if !jsonMembers(s, i, 0, func(string, int, int) bool { count++; return true }, &end) {
			return -1
		}
		step.index += count
	}
	jsonMembers(s, i, 0, func(key string, from, _ int) bool {
		if step.isName {
			if jsonKeyIs(key, step.name) {
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

// jsonKeyIs reports whether a raw key, with quotes, is a name.
func jsonKeyIs(raw, name string) bool {
	if len(raw) == len(name)+2 && raw[1:len(raw)-1] == name {
		return true
	}
	return strings.IndexByte(raw, '\\') >= 0 && jsonString(raw) == name
}

// jsonLeaf is a value in a JSON text, or the whole of it, with its path and what orders it among others.
type jsonLeaf struct {
	raw, path string
	hash      uint32
}

// jsonPaths returns the paths of what a JSON value has beside objects: scalars, and lists of nothing but scalars as a whole. Their order is that
// of the reference's hash set of steps, which users of both see.
func jsonPaths(s string) []string {
	var leaves []jsonLeaf
	for queue := []jsonLeaf{{s, "$", 1}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		start := jsonSpace(at.raw, 0)
		if start >= len(at.raw) || at.raw[start] != '{' && (at.raw[start] != '[' || plainList(at.raw, start)) {
			leaves = append(leaves, at)
			continue
		}
		position, end := 0, -1
		jsonMembers(at.raw, start, 0, func(key string, from, to int) bool {
			step, hash := "["+strconv.Itoa(position)+"]", uint32(position)
			position++
			if key != "" {
				name := jsonString(key)
				hash = textHash(name)
				if step = "." + name; strings.ContainsAny(name, ".'\"[]") || name == "" {
					step = "['" + name + "']"
				}
			}
			queue = append(queue, jsonLeaf{at.raw[from:to], at.path + step, 31*at.hash + 31 + hash})
			return true
		}, &end)
	}
	buckets := 16
	for 3*buckets < 4*len(leaves) {
		buckets *= 2
	}
	bucket := func(l jsonLeaf) uint32 { return (l.hash ^ l.hash>>16) & uint32(buckets-1) }
	slices.SortStableFunc(leaves, func(a, b jsonLeaf) int { return cmp.Compare(bucket(a), bucket(b)) })
	paths := make([]string, len(leaves))
	for i, l := range leaves {
		paths[i] = l.path
	}
	return paths
}

// plainList reports whether a list has neither objects nor lists in it.
func plainList(s string, start int) bool {
	plain, end := true, -1
	jsonMembers(s, start, 0, func(_ string, from, _ int) bool {
		plain = plain && s[from] != '{' && s[from] != '['
		return plain
	}, &end)
	return plain
}

// textHash is the hash of a text that the reference's sets go by, over its UTF-16 code units.
func textHash(s string) uint32 {
	h := uint32(0)
	for _, u := range utf16.Encode([]rune(s)) {
		h = 31*h + uint32(u)
	}
	return h
}
