package endpoints

import (
	"os"
	"strings"
	"testing"
)

func TestTypesOfTheConsoleAreGenerated(t *testing.T) {
	const path = "../../../console/src/api/types.ts"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := TypeScript()
	if err != nil {
		t.Fatal(err)
	}
	if want != string(file) {
		t.Errorf("%s is out of date: run go generate ./internal/api/endpoints", path)
	}
}

func TestTypesOfSchemas(t *testing.T) {
	for _, c := range []struct {
		schema any
		want   string
	}{
		{"string", "string"},
		{"integer?", "number | null"},
		{"any", "unknown"},
		{"flag", "string"},
		{"a|b", `"a" | "b"`},
		{"a|b?", `"a" | "b" | null`},
		{[]any{"a|b"}, `("a" | "b")[]`},
		{"Lookup?: what it is", `Schemas["Lookup"] | null`},
		{"object", "Record<string, unknown>"},
		{map[string]any{"*": "Lookup"}, `Record<string, Schemas["Lookup"]>`},
		{map[string]any{"id!": "string", "a-b": "integer", "$": "a sentence"}, `{ "a-b"?: number; id: string }`},
		{map[string]any{"id": "any", "*": "any"}, `{ id?: unknown } & Record<string, unknown>`},
		{map[string]any{"=": map[string]any{"type": []any{"array", "null"}, "items": map[string]any{"type": "string"}}}, "string[] | null"},
	} {
		if got := typeOf(schema(c.schema)); got != c.want {
			t.Errorf("%v: got %s, want %s", c.schema, got, c.want)
		}
	}
}

// Each operation that a page can ask for stands there once, and what processes ask each other not.
func TestTypesHaveTheOperations(t *testing.T) {
	text, err := TypeScript()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"GET /service-ext/access/keys/{id}": { path: { id: string }; answer: Schemas["APIKey"] };`,
		`"DELETE /service-ext/access/keys/{id}": { path: { id: string }; answer: undefined };`,
		`query: { count?: number; interval?: string }`,
	} {
		if strings.Count(text, want) == 0 {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(text, "/service-internal/") || strings.Contains(text, "*/ ") {
		t.Error("what is internal is there, or a comment ends early")
	}
}
