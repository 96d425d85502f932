package endpoints

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// TypeScript returns the types of the API document for the console: its schemas by name, and of
// each operation what it takes and answers. What processes send each other, and paths that pass on,
// are left out.
func TypeScript() (string, error) {
	w, err := readOpenAPI()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("// Types of the HTTP interface, written by go generate from internal/api/endpoints/openapi; do not edit.\n\n" +
		"export interface Schemas {\n")
	for _, name := range slices.Sorted(maps.Keys(w.shared.Schemas)) {
		s := schema(w.shared.Schemas[name])
		about(&b, s["description"])
		fmt.Fprintf(&b, "  %s: %s;\n", name, typeOf(s))
	}
	b.WriteString("}\n\n/** Operations by method and path: what each takes, and the JSON of a good answer. */\n" +
		"export interface Operations {\n")
	for i := range Table {
		e := &Table[i]
		_, _, found := strings.Cut(e.Pattern, " ")
		if o := w.of(e.Pattern); o != nil && found && e.Family != Internal && !withSlash(e.Pattern) {
			about(&b, o.Summary)
			fmt.Fprintf(&b, "  %q: { %s };\n", template(e.Pattern), w.operationType(e, o))
		}
	}
	b.WriteString("}\n")
	return b.String(), nil
}

func about(b *strings.Builder, text any) {
	if s, ok := text.(string); ok && s != "" {
		fmt.Fprintf(b, "  /** %s */\n", strings.ReplaceAll(s, "*/", "* /"))
	}
}

func (w *written) operationType(e *Endpoint, o *operation) string {
	var parts []string
	if places := placesOf(e.Pattern); len(places) > 0 {
		path := make([]string, len(places))
		for i, name := range places {
			path[i] = key(name) + ": string"
		}
		parts = append(parts, "path: { "+strings.Join(path, "; ")+" }")
	}
	if names := w.query(o); len(names) > 0 {
		var query []string
		for _, name := range slices.Sorted(maps.Keys(names)) {
			s := schema(names[name])
			mark := "?"
			if required, ok := strings.CutSuffix(name, "!"); ok {
				name, mark = required, ""
			}
			query = append(query, key(name)+mark+": "+typeOf(s))
		}
		parts = append(parts, "query: { "+strings.Join(query, "; ")+" }")
	}
	if o.Body != nil {
		if t := jsonType(content(o.Body, nil)); t != "" {
			parts = append(parts, "body: "+t)
		}
	}
	return strings.Join(append(parts, "answer: "+answerType(o)), "; ")
}

// jsonType is the type of a body of JSON; "": it has other media types only.
func jsonType(content object) string {
	if of, ok := content["application/json"].(object); ok {
		return typeOf(of["schema"].(object))
	}
	return ""
}

// answerType is the type of what is answered with a status of success.
func answerType(o *operation) string {
	var types []string
	for _, status := range slices.Sorted(maps.Keys(o.Answers)) {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		t := "string"
		word, _, _ := strings.Cut(fmt.Sprint(o.Answers[status]), ": ")
		switch {
		case word == "empty":
			t = "undefined"
		case word != "text":
			if of := jsonType(content(o.Answers[status], nil)); of != "" {
				t = of
			}
		}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	if len(types) == 0 {
		return "undefined"
	}
	return strings.Join(types, " | ")
}

// key writes the name of a member.
func key(name string) string {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return quoted(name)
		}
	}
	return name
}

func quoted(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // it was read from JSON
		return "never"
	}
	return string(text)
}

// typeOf writes a JSON schema as a type.
func typeOf(s object) string {
	if ref, ok := s["$ref"].(string); ok {
		return `Schemas["` + ref[strings.LastIndexByte(ref, '/')+1:] + `"]`
	}
	if of, ok := s["anyOf"].([]any); ok {
		return union(of, func(v any) string { return typeOf(v.(object)) })
	}
	if words, ok := s["enum"].([]any); ok {
		return union(words, quoted)
	}
	if types, ok := s["type"].([]any); ok {
		return union(types, func(v any) string {
			one := maps.Clone(s)
			one["type"] = v
			return typeOf(one)
		})
	}
	switch s["type"] {
	case "array":
		items, _ := s["items"].(object)
		t := typeOf(items)
		if strings.Contains(t, " | ") {
			t = "(" + t + ")"
		}
		return t + "[]"
	case "boolean", "null", "string", "number":
		return s["type"].(string)
	case "integer":
		return "number"
	case "object":
		return objectType(s)
	}
	return "unknown"
}

func union(of []any, write func(any) string) string {
	types := make([]string, len(of))
	for i, v := range of {
		types[i] = write(v)
	}
	return strings.Join(types, " | ")
}

func objectType(s object) string {
	properties, _ := s["properties"].(object)
	required, _ := s["required"].([]any)
	others, more := s["additionalProperties"].(object)
	if len(properties) == 0 {
		return "Record<string, " + typeOf(others) + ">"
	}
	var b strings.Builder
	b.WriteString("{ ")
	for i, name := range slices.Sorted(maps.Keys(properties)) {
		if i > 0 {
			b.WriteString("; ")
		}
		mark := "?"
		if slices.Contains(required, any(name)) {
			mark = ""
		}
		fmt.Fprintf(&b, "%s%s: %s", key(name), mark, typeOf(properties[name].(object)))
	}
	b.WriteString(" }")
	if more {
		return b.String() + " & Record<string, " + typeOf(others) + ">"
	}
	return b.String()
}
