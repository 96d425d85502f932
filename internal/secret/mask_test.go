package secret

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMaskSQL(t *testing.T) {
	for in, want := range map[string]string{
		`SELECT "password" FROM t`: `SELECT "password" FROM t`,
		`EXTERN('{"type":"http","httpAuthenticationUsername":"u","httpAuthenticationPassword":"p''w","uris":["a"]}')`: `EXTERN('{"type":"http","httpAuthenticationUsername":"u","httpAuthenticationPassword":"********","uris":["a"]}')`,
		`{"httpAuthenticationPassword" : {"type":"default","password":"pw"},"x":1}`:                                   `{"httpAuthenticationPassword" : "********","x":1}`,
		`{"properties":{"accessKeyId":"a","secretAccessKey":{"type":"default","password":"pw"}}}`:                     `{"properties":{"accessKeyId":"********","secretAccessKey":"********"}}`,
		`{\"httpAuthenticationPassword\":\"pw\",\"uris\":[]}`:                                                         `{\"httpAuthenticationPassword\":\"********\",\"uris\":[]}`,
		`{"user":"password","passwords":"kept"}`:                                                                      `{"user":"password","passwords":"kept"}`,
	} {
		if got := MaskSQL(in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1.50,"a":{"password":"pw","list":[{"clientSecret":{"x":1}}]},"sql":"EXTERN('{\"password\":\"pw\"}')"}`: `{"b":1.50,"a":{"password":"********","list":[{"clientSecret":"********"}]},"sql":"EXTERN('{\"password\":\"********\"}')"}`,
		`{"password":null,"usePassword":true}`: `{"password":null,"usePassword":true}`,
		`null`:                                 `null`,
		`"<a>"`:                                `"<a>"`,
		` [1, {}]`:                             `[1,{}]`,
	} {
		got, err := MaskJSON(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s, %v\nwant %s", in, got, err, want)
		}
	}
	if _, err := MaskJSON(json.RawMessage(`{"a":`)); err == nil {
		t.Error("broken JSON is no error")
	}
}

func FuzzRedact(f *testing.F) {
	f.Add(`{"password":"pw","sql":"{\"secret\":\"pw\"}"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		got, err := MaskJSON(json.RawMessage(text))
		if err != nil || !json.Valid(got) {
			t.Fatalf("%q: %q, %v", text, got, err)
		}
		if again, err := MaskJSON(got); err != nil || strings.TrimSpace(string(again)) != strings.TrimSpace(string(got)) {
			t.Fatalf("%q twice: %q, %v", got, again, err)
		}
	})
}
