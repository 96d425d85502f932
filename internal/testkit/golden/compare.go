package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// compareJSON tells how got departs from want: "" if it fits. Members that got has beside those of want are allowed: later releases
// add some.
func compareJSON(want, got []byte, mask map[string]string, stable bool) string {
	w, err := decode(want)
	if err != nil {
		return "the recording is no JSON: " + err.Error()
	}
	g, err := decode(got)
	if err != nil {
		return fmt.Sprintf("no JSON: %v: %.200s", err, got)
	}
	c := comparison{stable: stable}
	for path, class := range mask {
		c.masks = append(c.masks, maskRule{pattern: maskPattern(path), class: class})
	}
	return c.value("$", w, g)
}

func decode(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

type maskRule struct {
	pattern *regexp.Regexp
	class   string
}

// maskPattern turns $.a[*].b, $['k'] and $.* into an expression over concrete paths such as $.a[3].b.
func maskPattern(path string) *regexp.Regexp {
	q := regexp.QuoteMeta(path)
	q = strings.ReplaceAll(q, `\[\*\]`, `\[\d+\]`)
	q = strings.ReplaceAll(q, `\.\*`, `\.[^.\[]+`)
	q = regexp.MustCompile(`\\\['([^']*)'\\\]`).ReplaceAllString(q, `\.$1`)
	return regexp.MustCompile("^" + q + "$")
}

type comparison struct {
	masks  []maskRule
	stable bool
}

func (c *comparison) class(path string) string {
	for _, m := range c.masks {
		if m.pattern.MatchString(path) {
			return m.class
		}
	}
	return ""
}

func (c *comparison) value(path string, want, got any) string {
	class := c.class(path)
	switch class {
	case "any":
		return ""
	case "keys":
		_, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: want a map, got %s", path, brief(got))
		}
		return ""
	case "":
	default:
		return scalarKind(path, want, got)
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: want an object, got %s", path, brief(got))
		}
		keys := make([]string, 0, len(w))
		for k := range w {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			sub := path + "." + k
			x, ok := g[k]
			if !ok {
				if c.class(sub) == "any" {
					continue
				}
				return fmt.Sprintf("%s: missing", sub)
			}
			if d := c.value(sub, w[k], x); d != "" {
				return d
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok {
			return fmt.Sprintf("%s: want a list, got %s", path, brief(got))
		}
		if !c.stable {
			if len(w) > 0 && len(g) > 0 {
				return c.value(path+"[0]", w[0], g[0])
			}
			if len(w) > 0 {
				return fmt.Sprintf("%s: want elements, got an empty list", path)
			}
			return ""
		}
		if len(w) != len(g) {
			return fmt.Sprintf("%s: want %d elements, got %d", path, len(w), len(g))
		}
		for i := range w {
			if d := c.value(fmt.Sprintf("%s[%d]", path, i), w[i], g[i]); d != "" {
				return d
			}
		}
		return ""
	}
	if !c.stable {
		return scalarKind(path, want, got)
	}
	if !equalScalar(want, got) {
		return fmt.Sprintf("%s: want %s, got %s", path, brief(want), brief(got))
	}
	return ""
}

// scalarKind compares what kind of value stands there; null stands for any.
func scalarKind(path string, want, got any) string {
	if want == nil || got == nil || fmt.Sprintf("%T", want) == fmt.Sprintf("%T", got) {
		return ""
	}
	return fmt.Sprintf("%s: want something like %s, got %s", path, brief(want), brief(got))
}

// equalScalar compares numbers by value (to 1e-9 when they have a fraction), everything else exactly. Text that is JSON is compared
// as JSON.
func equalScalar(want, got any) bool {
	wn, wIsNumber := want.(json.Number)
	gn, gIsNumber := got.(json.Number)
	if wIsNumber && gIsNumber {
		return equalNumbers(wn.String(), gn.String())
	}
	ws, wIsText := want.(string)
	gs, gIsText := got.(string)
	if wIsText && gIsText && ws != gs && len(ws) > 0 && (ws[0] == '[' || ws[0] == '{') {
		return compareJSON([]byte(ws), []byte(gs), nil, true) == ""
	}
	return want == got
}

func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(a, ".eE") && !strings.ContainsAny(b, ".eE") {
		return false
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= 1e-9*math.Max(math.Abs(x), math.Abs(y))
}

func brief(v any) string {
	b, _ := json.Marshal(v)
	if len(b) > 300 {
		return string(b[:300]) + "..."
	}
	return string(b)
}

// compareLines compares rows given as lines of JSON, or any text exactly.
func compareText(want, got string, cut bool) string {
	if cut {
		if len(got) < len(want) || got[:len(want)] != want {
			return textDifference(want, got)
		}
		return ""
	}
	if want == got {
		return ""
	}
	wantLines, gotLines := strings.Split(want, "\n"), strings.Split(got, "\n")
	if len(wantLines) != len(gotLines) {
		return textDifference(want, got)
	}
	for i := range wantLines {
		if wantLines[i] == gotLines[i] {
			continue
		}
		if d := compareJSON([]byte(wantLines[i]), []byte(gotLines[i]), nil, true); d != "" {
			return fmt.Sprintf("line %d: %s", i+1, d)
		}
	}
	return ""
}

func textDifference(want, got string) string {
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	from := max(0, i-40)
	return fmt.Sprintf("text differs at byte %d: want ...%.160q, got ...%.160q", i, want[from:], got[min(from, len(got)):])
}
