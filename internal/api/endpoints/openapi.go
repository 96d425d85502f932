package endpoints

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// The API document is written by hand, one file for each family and one for what they share. A file
// of a family has an operation for each row of Table, by its pattern:
//
//	"GET /service/indexer/v1/tasks": {
//	  "summary":  a sentence,
//	  "path":     {"id": what it is, if not what components.json says},
//	  "query":    {"max": schema, "state!": schema}, or the name of a set in components.json,
//	  "requestHeaders": {"Idempotency-Key": description},
//	  "body":     schema, or {"text/csv": schema},
//	  "answers":  {"200": schema, or {"text/csv": schema}},
//	  "headers":  {"Query-Id": description}, of answers, behind the name of the product,
//	  "example":  {"request": .., "answer": ..}}
//
// A schema is one of
//
//	"string" "integer" "number" "boolean" "object" "any" "bytes"
//	"TaskStatus"                 one of components.json
//	"flag"                       a parameter whose presence counts
//	"text" "empty"               of an answer: plain text, no body
//	"asc|desc"                   one of these words
//	["string"]                   an array
//	{"id!": "string", "*": ..}   an object; !: required; *: all other members; $: its description
//	{"=": {..}}                  as it stands, in the words of JSON schema
//
// A string may end in ? (or null), and go on with a colon and a description. Rows for a path with a
// slash behind it have no operation of their own. Permissions come from Table, and what any request
// may be answered with (refusals, a busy server) from refusals.
//
//go:embed openapi/*.json
var openAPIFiles embed.FS

// operation is one of a family's file.
type operation struct {
	Summary        string            `json:"summary"`
	Path           map[string]string `json:"path"`
	Query          any               `json:"query"`
	RequestHeaders map[string]string `json:"requestHeaders"`
	Body           any               `json:"body"`
	Answers        map[string]any    `json:"answers"`
	Headers        map[string]string `json:"headers"`
	Example        *example          `json:"example"`
}

type example struct {
	Request any `json:"request"`
	Answer  any `json:"answer"`
}

// shared is components.json.
type shared struct {
	Schemas map[string]any            `json:"schemas"`
	Queries map[string]map[string]any `json:"queries"`
	Paths   map[string]string         `json:"paths"`
}

// written is what the files say.
type written struct {
	operations map[string]*operation // by pattern
	shared     shared
}

// fileOf is the name of the file of a family.
func fileOf(f Family) string {
	return "openapi/" + strings.ToLower(strings.ReplaceAll(string(f), " ", "_")) + ".json"
}

var readOpenAPI = sync.OnceValues(func() (*written, error) {
	w := &written{operations: map[string]*operation{}}
	if err := readFile("openapi/components.json", &w.shared); err != nil {
		return nil, err
	}
	for _, f := range families() {
		var family map[string]*operation
		if err := readFile(fileOf(f), &family); err != nil {
			return nil, err
		}
		maps.Copy(w.operations, family)
	}
	return w, nil
})

func readFile(name string, into any) error {
	text, err := openAPIFiles.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("reading [%s] of the API document: %w", name, err)
	}
	return nil
}

// of returns the operation of a pattern: that of the path without a slash, for the path with one.
func (w *written) of(pattern string) *operation {
	if withSlash(pattern) {
		pattern = strings.TrimSuffix(pattern, "/{$}")
	}
	return w.operations[pattern]
}

// withSlash reports whether a pattern is that of a path with a slash behind it, which is served
// like the one without.
func withSlash(pattern string) bool {
	return strings.HasSuffix(pattern, "/{$}") && !strings.HasSuffix(pattern, " /{$}")
}

type object = map[string]any

var byProduct sync.Map // of documents

// OpenAPI returns the API document, with paths under the name of a product. It describes the whole
// interface, not what one process has: each process passes on what it does not answer itself, or
// says who does, and a client that reads the document at any port learns the same.
func OpenAPI(product, version string) ([]byte, error) {
	if text, ok := byProduct.Load(product); ok {
		return text.([]byte), nil
	}
	w, err := readOpenAPI()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(w.document(product, version))
	if err != nil {
		return nil, fmt.Errorf("writing the API document: %w", err)
	}
	byProduct.Store(product, text)
	return text, nil
}

func (w *written) document(product, version string) object {
	paths := object{}
	for _, e := range Table {
		method, path, found := strings.Cut(e.Pattern, " ")
		if !found {
			method, path = http.MethodGet, e.Pattern
		}
		o := w.of(e.Pattern)
		if o == nil {
			continue // a test finds it
		}
		path = template(under(product, path))
		at, ok := paths[path].(object)
		if !ok {
			at = object{}
			paths[path] = at
		}
		at[strings.ToLower(method)] = w.operation(&e, o, product, !found)
	}
	schemas := object{}
	for name, s := range w.shared.Schemas {
		schemas[name] = schema(s)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Henge", "version": version,
			"description": "The HTTP interface of Henge. x-permission says what a request needs once security is configured.",
		},
		"servers": []any{object{"url": "/"}},
		"tags":    tags(),
		"paths":   paths,
		"components": object{
			"schemas": schemas, "responses": object{"Error": refused()},
			"securitySchemes": object{
				"basic":  object{"type": "http", "scheme": "basic"},
				"bearer": object{"type": "http", "scheme": "bearer", "description": "An API key or a token of OpenID Connect."},
			},
		},
	}
}

// under returns a path with the name of a product in place of service.
func under(product, path string) string {
	if rest, ok := strings.CutPrefix(path, "/service"); ok && rest != "" && (rest[0] == '/' || rest[0] == '-') {
		return "/" + product + rest
	}
	return path
}

// template returns the path of a pattern as OpenAPI writes it.
func template(path string) string {
	return strings.ReplaceAll(strings.ReplaceAll(path, "{$}", ""), "...}", "}")
}

func families() []Family {
	var out []Family
	for _, e := range Table {
		if !slices.Contains(out, e.Family) {
			out = append(out, e.Family)
		}
	}
	return out
}

func tags() []any {
	var out []any
	for _, f := range families() {
		out = append(out, object{"name": string(f)})
	}
	return out
}

// refused is what a request gets that is refused or fails.
func refused() object {
	return object{
		"description": "The request was refused, or failed.",
		"content": object{
			"application/json": object{"schema": object{"$ref": "#/components/schemas/Error"}},
			"text/plain":       object{"schema": object{"type": "string"}},
		},
	}
}

// refusals are the statuses that an operation may be answered with beside its own.
func refusals(e *Endpoint, o *operation) []int {
	out := []int{
		http.StatusBadRequest, http.StatusNotFound, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout,
	}
	if e.Permission.Rule != Open {
		out = append(out, http.StatusUnauthorized, http.StatusForbidden)
	}
	if o.Body != nil {
		out = append(out, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if strings.Contains(e.Pattern, "/coordinator/") || strings.Contains(e.Pattern, "/indexer/") {
		out = append(out, http.StatusTemporaryRedirect)
	}
	return out
}

func (w *written) operation(e *Endpoint, o *operation, product string, anyMethod bool) object {
	method, _, found := strings.Cut(e.Pattern, " ")
	if !found {
		method = ""
	}
	out := object{
		"operationId": operationID(e.Pattern), "tags": []any{string(e.Family)}, "summary": o.Summary,
		"x-permission": e.Permission.Text(method), "responses": w.answers(e, o, product),
	}
	if anyMethod {
		out["x-any-method"] = true
	}
	if e.Family == Internal {
		out["x-internal"] = true
	}
	if e.Permission.Rule != Open {
		out["security"] = []any{object{"basic": []any{}}, object{"bearer": []any{}}, object{}}
	}
	if p := w.parameters(e, o); len(p) > 0 {
		out["parameters"] = p
	}
	if o.Body != nil {
		var sample any
		if o.Example != nil {
			sample = o.Example.Request
		}
		out["requestBody"] = object{"required": !optional(o.Body), "content": content(o.Body, sample)}
	}
	return out
}

func optional(body any) bool {
	s, ok := body.(string)
	word, _, _ := strings.Cut(s, ": ")
	return ok && strings.HasSuffix(word, "?")
}

// operationID is a name made of the words of a pattern.
func operationID(pattern string) string {
	var b strings.Builder
	up := false
	for _, c := range shortened(pattern) + trailing(pattern) {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			up = b.Len() > 0
		case up:
			b.WriteRune(unicode.ToUpper(c))
			up = false
		case b.Len() < len("DELETE") && strings.HasPrefix(pattern, strings.ToUpper(b.String())+string(c)):
			b.WriteRune(unicode.ToLower(c))
		default:
			b.WriteRune(c)
		}
	}
	if b.Len() == 0 {
		return "root"
	}
	return b.String()
}

// shortened is a pattern without what most have in common.
func shortened(pattern string) string {
	if strings.Contains(pattern, "/v1") || strings.Contains(pattern, "/v2") || strings.Contains(pattern, "-ext") {
		return strings.Replace(pattern, "/service", "", 1)
	}
	return pattern
}

func trailing(pattern string) string {
	if withSlash(pattern) || strings.HasSuffix(pattern, "/") {
		return "/slash"
	}
	return ""
}

// placesOf are the names of the parts of a pattern that vary.
func placesOf(pattern string) []string {
	var out []string
	for {
		_, rest, found := strings.Cut(pattern, "{")
		if !found {
			return out
		}
		var name string
		name, pattern, _ = strings.Cut(rest, "}")
		if name != "$" {
			out = append(out, strings.TrimSuffix(name, "..."))
		}
	}
}

func (w *written) parameters(e *Endpoint, o *operation) []any {
	var out []any
	for _, name := range placesOf(e.Pattern) {
		about := o.Path[name]
		if about == "" {
			about = w.shared.Paths[name]
		}
		out = append(out, object{
			"name": name, "in": "path", "required": true, "description": about, "schema": object{"type": "string", "minLength": 1},
		})
	}
	query := w.query(o)
	for _, key := range slices.Sorted(maps.Keys(query)) {
		name, required := strings.CutSuffix(key, "!")
		s := schema(query[key])
		p := object{"name": name, "in": "query", "schema": s}
		if required {
			p["required"] = true
		}
		if about, ok := s["description"]; ok {
			p["description"] = about
			delete(s, "description")
		}
		if text, ok := query[key].(string); ok && (text == "flag" || strings.HasPrefix(text, "flag:")) {
			p["allowEmptyValue"] = true
		}
		out = append(out, p)
	}
	for _, name := range slices.Sorted(maps.Keys(o.RequestHeaders)) {
		out = append(out, object{"name": name, "in": "header", "description": o.RequestHeaders[name], "schema": object{"type": "string"}})
	}
	return out
}

// query returns the parameters of an operation.
func (w *written) query(o *operation) map[string]any {
	switch q := o.Query.(type) {
	case string:
		return w.shared.Queries[q]
	case map[string]any:
		return q
	}
	return nil
}

func (w *written) answers(e *Endpoint, o *operation, product string) object {
	out := object{}
	for _, status := range refusals(e, o) {
		out[strconv.Itoa(status)] = object{"$ref": "#/components/responses/Error"}
	}
	for status, s := range o.Answers {
		text, _ := s.(string)
		word, about, _ := strings.Cut(text, ": ")
		if about == "" {
			code, _ := strconv.Atoi(status)
			about = http.StatusText(code)
		}
		answer := object{"description": about}
		var sample any
		if o.Example != nil && strings.HasPrefix(status, "2") {
			sample = o.Example.Answer
		}
		switch {
		case word == "Error":
			answer = refused()
			answer["description"] = about
		case word == "text":
			answer["content"] = object{"text/plain": object{"schema": object{"type": "string"}}}
		case word != "empty":
			answer["content"] = content(s, sample)
		}
		if len(o.Headers) > 0 && strings.HasPrefix(status, "2") {
			headers := object{}
			for name, about := range o.Headers {
				headers["X-"+strings.ToUpper(product[:1])+product[1:]+"-"+name] = object{"description": about, "schema": object{"type": "string"}}
			}
			answer["headers"] = headers
		}
		out[status] = answer
	}
	return out
}

// content is that of a body: of one media type or of several.
func content(s, sample any) object {
	types, ok := s.(map[string]any)
	for name := range types {
		ok = ok && strings.Contains(name, "/")
	}
	if !ok || len(types) == 0 {
		types = object{"application/json": s}
	}
	out := object{}
	for name, s := range types {
		of := object{"schema": schema(s)}
		if sample != nil && name == "application/json" {
			of["example"] = sample
		}
		out[name] = of
	}
	return out
}

// schema returns what a short form stands for.
func schema(s any) object {
	switch s := s.(type) {
	case string:
		return named(s)
	case []any:
		return object{"type": "array", "items": schema(s[0])}
	case map[string]any:
		if plain, ok := s["="].(map[string]any); ok {
			return maps.Clone(plain)
		}
		return members(s)
	}
	return object{}
}

func members(s map[string]any) object {
	out := object{"type": "object"}
	properties, required := object{}, []any{}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		switch key {
		case "$":
			out["description"] = s[key]
		case "*":
			out["additionalProperties"] = schema(s[key])
		default:
			name, must := strings.CutSuffix(key, "!")
			properties[name] = schema(s[key])
			if must {
				required = append(required, name)
			}
		}
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func named(text string) object {
	word, about, _ := strings.Cut(text, ": ")
	word, null := strings.CutSuffix(word, "?")
	out := object{}
	switch {
	case word == "any":
		null = false
	case word == "flag":
		out["type"] = "string"
	case word == "bytes":
		out["type"], out["contentEncoding"] = "string", "binary"
	case strings.Contains(word, "|"):
		var words []any
		for w := range strings.SplitSeq(word, "|") {
			words = append(words, w)
		}
		if null {
			words = append(words, nil)
		}
		out["type"], out["enum"] = "string", words
	case unicode.IsUpper(rune(word[0])):
		out["$ref"] = "#/components/schemas/" + word
		if null {
			out, null = object{"anyOf": []any{out, object{"type": "null"}}}, false
		}
	default:
		out["type"] = word
	}
	if null {
		out["type"] = []any{out["type"], "null"}
	}
	if about != "" {
		out["description"] = about
	}
	return out
}
