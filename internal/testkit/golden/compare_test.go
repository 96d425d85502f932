package golden

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestCompareJSON(t *testing.T) {
	masks := map[string]string{
		"$.id": "uuid", "$.at": "time", "$.list[*].n": "number", "$.counters['0'].b": "any", "$.m": "keys", "$.trace": "trace",
	}
	const id, at = `"id":"018b0c43-0000-4000-8000-0123456789ab"`, `"at":"2020-01-01T00:00:00.000Z"`
	for _, c := range []struct {
		name, want, got string
		stable          bool
		differs         string
	}{
		{"equal", `{"a":1,"b":[1,2]}`, `{"a":1,"b":[1,2]}`, true, ""},
		{"more members", `{"a":1}`, `{"a":1,"new":2}`, true, ""},
		{"missing member", `{"a":1,"b":2}`, `{"a":1}`, true, "$.b: missing"},
		{"value", `{"a":1}`, `{"a":2}`, true, "$.a: want 1, got 2"},
		{"value, shape only", `{"a":1}`, `{"a":2}`, false, ""},
		{"kind, shape only", `{"a":1}`, `{"a":"1"}`, false, "something like 1"},
		{"outcome counts in a shape", `{"state":"FAILED"}`, `{"state":"SUCCESS"}`, false, "$.state"},
		{"moment does not", `{"state":"RUNNING"}`, `{"state":"SUCCESS"}`, false, ""},
		{"length", `[1,2]`, `[1]`, true, "want 2 elements"},
		{"length, shape only", `[1,2]`, `[1]`, false, ""},
		{"empty, shape only", `[1,2]`, `[]`, false, "want elements"},
		{"nine digits", `[1.00000000001]`, `[1.0]`, true, ""},
		{"eight digits", `[1.00000001]`, `[1.0]`, true, "want 1.00000001"},
		{"whole is no fraction", `[1.0]`, `[1]`, true, "want 1.0"},
		{"JSON in text", `["{\"a\": 1}"]`, `["{\"a\":1}"]`, true, ""},
		{"masked uuid and time", `{` + id + `,` + at + `}`, `{"id":"018b0c43-1111-4000-8000-0123456789ab","at":"2026-01-01T00:00:00Z"}`, true, ""},
		{"no uuid", `{` + id + `}`, `{"id":"7"}`, true, "want a uuid"},
		{"no time", `{` + at + `}`, `{"at":"now"}`, true, "want a time"},
		{"masked in a list", `{"list":[{"n":1},{"n":2}]}`, `{"list":[{"n":3},{"n":4}]}`, true, ""},
		{"masked by a quoted name", `{"counters":{"0":{"b":1}}}`, `{"counters":{"0":{"b":"x"}}}`, true, ""},
		{"keys vary", `{"m":{"x":1}}`, `{"m":{"y":2}}`, true, ""},
		{"trace may be missing", `{"trace":"at Foo"}`, `{}`, true, ""},
		{"no JSON", `{}`, `<html>`, true, "no JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, compareJSON([]byte(c.want), []byte(c.got), masks, c.stable), c.differs)
		})
	}
}

func TestCompareText(t *testing.T) {
	for _, c := range []struct {
		name, want, got string
		cut             bool
		differs         string
	}{
		{"equal", "a,b\n1,2\n\n", "a,b\n1,2\n\n", false, ""},
		{"trailing newline", "a\n\n", "a\n", false, "text differs"},
		{"digits of a double", "[0.1000000000001]\n", "[0.1]\n", false, ""},
		{"order of members", `{"a":1,"b":2}`, `{"b":2,"a":1}`, false, "text differs"},
		{"cut", "abc", "abcdef", true, ""},
		{"cut, other", "abc", "abd", true, "text differs at byte 2"},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, compareText(c.want, c.got, c.cut), c.differs) })
	}
}

func TestCompareAnswer(t *testing.T) {
	text := "[[1]]\n"
	e := &Exchange{
		Stable:  true,
		Request: Request{Method: http.MethodPost, Path: "/service/v2/sql", Body: json.RawMessage(`{"query":"SELECT 1","resultFormat":"csv"}`)},
		Answer: Response{Status: 200, BodyText: &text, Headers: map[string]string{
			"Content-Type": "application/json", "X-Service-Query-Id": "x", "X-Service-Response-Context": "{}", "Server": "recorded"}},
		Mask: map[string]string{"$headers.X-Service-Query-Id": "text"},
	}
	header := http.Header{"Content-Type": {"text/csv"}, "X-Service-Query-Id": {"y"}, "X-Service-Response-Context": {"{}"}}
	check(t, compareAnswer(e, 200, header, []byte(text)), "")
	check(t, compareAnswer(e, 400, header, []byte(text)), "status 400, want 200")
	other := header.Clone()
	other.Set("Content-Type", "application/json")
	check(t, compareAnswer(e, 200, other, []byte(text)), "content type")
	missing := header.Clone()
	missing.Del("X-Service-Query-Id")
	check(t, compareAnswer(e, 200, missing, []byte(text)), "header X-Service-Query-Id is missing")

	refusal := &Exchange{Stable: true, Answer: Response{Status: 400, Body: json.RawMessage(
		`{"error":"druidException","errorCode":"invalidInput","category":"INVALID_INPUT","errorMessage":"Token [x], acceptable options: [a]"}`)}}
	check(t, compareAnswer(refusal, 400, header, []byte(
		`{"error":"SQL parse failed","errorCode":"invalidInput","category":"INVALID_INPUT","errorMessage":"Token [x], acceptable options: [b]"}`)), "")
	check(t, compareAnswer(refusal, 400, header, []byte(
		`{"errorCode":"general","category":"INVALID_INPUT","errorMessage":"Token [x]"}`)), "$.errorCode")
	check(t, compareAnswer(refusal, 400, header, []byte(
		`{"errorCode":"invalidInput","category":"INVALID_INPUT","errorMessage":"Other"}`)), "$.errorMessage")
}

// check compares a difference with the beginning of what is expected, "" for none.
func check(t *testing.T, got, want string) {
	t.Helper()
	if (got == "") != (want == "") || !strings.Contains(got, want) {
		t.Errorf("difference is %q, want %q", got, want)
	}
}
