package endpoints

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const preface = "# HTTP interface\n" +
	"Generated from `internal/api/endpoints` by `go generate`; do not edit. Each port serves the same as an OpenAPI 3.1 document:\n" +
	"`/openapi.json` has the paths below, `/druid/openapi.json` those under the alias `druid` (`service.api.aliases`).\n\n" +
	"Every route can also return 400 (invalid request), 401 and 403 (security), 404 (not found), 429 and 503 (busy;\n" +
	"`Retry-After` is the time to wait), 500 and 504, with an error object or without a body. Routes with a body can return 413\n" +
	"and 415, and routes of a leader 307 with the address of the leader. Members that are not listed are passed through or\n" +
	"omitted. A path may end with a slash.\n\n## Families\n"

// Reference returns docs/api.md: an index by family, then each route.
func Reference() (string, error) {
	w, err := readOpenAPI()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(preface)
	for _, f := range families() {
		if f == Internal {
			continue
		}
		fmt.Fprintf(&b, "- [%s](#%s)\n", title(f), strings.ReplaceAll(strings.ToLower(string(f)), " ", "-"))
	}
	b.WriteString("- [schemas](#schemas)\n\nRoutes below `/service-internal` are requests between processes. " +
		"They are not part of the interface\nand can change in any release.\n")
	for _, f := range families() {
		if f == Internal {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n", title(f))
		for _, e := range Table {
			if o := w.of(e.Pattern); e.Family == f && o != nil && !withSlash(e.Pattern) {
				w.route(&b, &e, o)
			}
		}
	}
	b.WriteString("\n## schemas\n| Schema | Members |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(w.shared.Schemas)) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, inWords(w.shared.Schemas[name]))
	}
	return b.String(), nil
}

func title(f Family) string { return string(f) }

// route writes one.
func (w *written) route(b *strings.Builder, e *Endpoint, o *operation) {
	method, _, found := strings.Cut(e.Pattern, " ")
	if !found {
		method = ""
	}
	pattern := strings.NewReplacer("...", "", "{$}", "").Replace(e.Pattern)
	fmt.Fprintf(b, "\n### `%s`\n%s Permission: %s.\n", pattern, o.Summary, e.Permission.Text(method))
	for _, name := range placesOf(e.Pattern) {
		about := o.Path[name]
		if about == "" {
			about = w.shared.Paths[name]
		}
		fmt.Fprintf(b, "- `{%s}`: %s\n", name, about)
	}
	query := w.query(o)
	for _, key := range slices.Sorted(maps.Keys(query)) {
		name, required := strings.CutSuffix(key, "!")
		words := inWords(query[key])
		if required {
			words += "; required"
		}
		fmt.Fprintf(b, "- `?%s`: %s\n", name, words)
	}
	for _, name := range slices.Sorted(maps.Keys(o.RequestHeaders)) {
		fmt.Fprintf(b, "- header `%s`: %s\n", name, o.RequestHeaders[name])
	}
	if o.Body != nil {
		fmt.Fprintf(b, "- body: %s\n", inWords(o.Body))
	}
	for _, status := range slices.Sorted(maps.Keys(o.Answers)) {
		if n, _ := strconv.Atoi(status); n < 300 || o.Answers[status] != "Error" {
			fmt.Fprintf(b, "- %s: %s\n", status, inWords(o.Answers[status]))
		}
	}
	if o.Example == nil {
		return
	}
	b.WriteString("\n```http\n")
	if o.Example.Request != nil {
		b.WriteString(compact(o.Example.Request) + "\n")
	}
	if o.Example.Answer != nil {
		b.WriteString("-> " + compact(o.Example.Answer) + "\n")
	}
	b.WriteString("```\n")
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // it was read from JSON
		return ""
	}
	return string(text)
}

// inWords returns a short form for readers.
func inWords(s any) string {
	switch s := s.(type) {
	case string:
		word, about, found := strings.Cut(s, ": ")
		switch {
		case strings.Contains(word, "|"):
			word = strings.ReplaceAll(word, "|", ", ")
		case word == "flag":
			word = "its presence counts"
		case word == "empty":
			word = "no body"
		}
		if base, ok := strings.CutSuffix(word, "?"); ok {
			word = base + " or null"
		}
		if found {
			word += ", " + about
		}
		return word
	case []any:
		return "array of " + inWords(s[0])
	case map[string]any:
		if plain, ok := s["="].(map[string]any); ok {
			about, _ := plain["description"].(string)
			return about
		}
		var parts []string
		before := ""
		for _, key := range slices.Sorted(maps.Keys(s)) {
			name, must := strings.CutSuffix(key, "!")
			switch {
			case key == "$":
				before = inWords(s[key]) + " "
				continue
			case key == "*":
				name = "any name"
			case must:
				name = "`" + name + "` (required)"
			default:
				name = "`" + name + "`"
			}
			parts = append(parts, name+": "+inWords(s[key]))
		}
		return before + strings.Join(parts, "; ")
	}
	return ""
}
