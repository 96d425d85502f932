package expr

import (
	"strconv"

	"github.com/hengedb/henge/internal/hashorder"
	"github.com/hengedb/henge/internal/jsontext"
)

// jsonLeaf is a value in a JSON text, or the whole of it, with its path and what orders it among
// others.
type jsonLeaf struct {
	raw, path string
	hash      uint32
}

// jsonPaths returns the paths of what a JSON value has beside objects: scalars, and lists of
// nothing but scalars as a whole. Their order is that of Druid's hash set of steps, which users of
// both see. Of paths that hash alike the first added comes first: an object or a list adds its
// scalars as it is met, breadth first, and a list of scalars is met after the scalars beside it.
// See quirk Q006.
func jsonPaths(s string) []string {
	var leaves []jsonLeaf
	for queue := []jsonLeaf{{s, "$", 1}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		start := jsontext.Space(at.raw, 0)
		if start >= len(at.raw) || !nests(at.raw[start]) || plainList(at.raw, start) {
			leaves = append(leaves, at)
			continue
		}
		position, end := 0, -1
		jsontext.Members(at.raw, start, 0, func(key string, from, to int) bool {
			path, hash := at.path+"["+strconv.Itoa(position)+"]", uint32(position)
			position++
			if key != "" {
				name := jsontext.Text(key)
				path, hash = jsontext.Child(at.path, name), hashorder.Text(name)
			}
			member := jsonLeaf{at.raw[from:to], path, 31*at.hash + 31 + hash}
			if nests(at.raw[from]) {
				queue = append(queue, member)
			} else {
				leaves = append(leaves, member)
			}
			return true
		}, &end)
	}
	hashorder.Sort(leaves, func(l jsonLeaf) uint32 { return l.hash })
	paths := make([]string, len(leaves))
	for i, l := range leaves {
		paths[i] = l.path
	}
	return paths
}

// nests reports whether a value that begins so has values in it.
func nests(first byte) bool { return first == '{' || first == '[' }

// plainList reports whether a value is a list that has neither objects nor lists in it.
func plainList(s string, start int) bool {
	if s[start] != '[' {
		return false
	}
	plain, end := true, -1
	jsontext.Members(s, start, 0, func(_ string, from, _ int) bool {
		plain = plain && !nests(s[from])
		return plain
	}, &end)
	return plain
}
