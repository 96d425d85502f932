package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// compareJSON tells how got departs from want: "" if it fits. Members that got has beside those of
// want are allowed: later releases add some.
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

// maskPattern turns $.a[*].b, $['k'] and $.* into an expression over concrete paths such as
// $.a[3].b.
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
	case "any", "trace":
		return ""
	case "keys":
		_, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: want a map, got %s", path, brief(got))
		}
		return ""
	case "":
	default:
		return masked(path, class, want, got)
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
		if c.class(path+".~") == "keys" {
			return c.anyMember(path, w, g, keys)
		}
		for _, k := range keys {
			sub := path + "." + k
			x, ok := g[k]
			if !ok {
				if class := c.class(sub); class == "any" || class == "trace" {
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
	if !c.stable && !isOutcome(path, want) {
		return scalarKind(path, want, got)
	}
	if !equalScalar(want, got) {
		return fmt.Sprintf("%s: want %s, got %s", path, brief(want), brief(got))
	}
	return ""
}

// anyMember compares the first members of maps whose keys vary.
func (c *comparison) anyMember(path string, want, got map[string]any, keys []string) string {
	if len(want) == 0 {
		return ""
	}
	others := make([]string, 0, len(got))
	for k := range got {
		others = append(others, k)
	}
	sort.Strings(others)
	if len(others) == 0 {
		return fmt.Sprintf("%s: want members, got an empty map", path)
	}
	return c.value(path+".member", want[keys[0]], got[others[0]])
}

// isOutcome reports whether a value says how something ended, which counts even where only the
// shape of the rest does.
func isOutcome(path string, want any) bool {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "errorCode":
		return true
	case "state", "status", "statusCode":
		return want == "SUCCESS" || want == "FAILED"
	}
	return false
}

var maskForms = map[string]*regexp.Regexp{
	"time": regexp.MustCompile(`^[+-]?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$`),
	"uuid": regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`),
	"host": regexp.MustCompile(`^.+$`),
}

// masked compares the kind of a value that varies from run to run: text of the class's form, or a
// number.
func masked(path, class string, want, got any) string {
	if d := scalarKind(path, want, got); d != "" {
		return d
	}
	form := maskForms[class]
	w, wIsText := want.(string)
	g, gIsText := got.(string)
	if form != nil && wIsText && gIsText && form.MatchString(w) && !form.MatchString(g) {
		return fmt.Sprintf("%s: want a %s like %q, got %q", path, class, w, g)
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

func brief(v any) string {
	b, _ := json.Marshal(v)
	if len(b) > 300 {
		return string(b[:300]) + "..."
	}
	return string(b)
}
