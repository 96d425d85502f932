package secret

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMaskSQL(t *testing.T) {
	for in, want := range map[string]string{
		`SELECT "password" FROM t`: `SELECT "password" FROM t`,
		`EXTERN('{"type":"http","httpAuthenticationUsername":"u","httpAuthenticationPassword":"p''w","uris":["a"]}')`: "" +
			`EXTERN('{"type":"http","httpAuthenticationUsername":"u","httpAuthenticationPassword":"********","uris":["a"]}')`,
		`{"httpAuthenticationPassword" : {"type":"default","password":"pw"},"x":1}`: "" +
			`{"httpAuthenticationPassword" : "********","x":1}`,
		`{"properties":{"accessKeyId":"a","secretAccessKey":{"type":"default","password":"pw"}}}`: "" +
			`{"properties":{"accessKeyId":"********","secretAccessKey":"********"}}`,
		`{\"httpAuthenticationPassword\":\"pw\",\"uris\":[]}`: "" +
			`{\"httpAuthenticationPassword\":\"********\",\"uris\":[]}`,
		`{"user":"password","passwords":"kept"}`: "" +
			`{"user":"password","passwords":"kept"}`,
		// numbers, lists, nested objects, and what has no end because the text was cut
		`{"password":12345,"x":1}`:                           `{"password":"********","x":1}`,
		`{"password":["a1","b2"],"x":1}`:                     `{"password":"********","x":1}`,
		`{"secret":{"a":{"b":"}"}},"x":1}`:                   `{"secret":"********","x":1}`,
		`{"password":"cut off`:                               `{"password":"********"`,
		`{"password":null,"token":true}`:                     `{"password":null,"token":true}`,
		`{\"password\":\"a\\\"b\",\"x\":1}`:                  `{\"password\":\"********\",\"x\":1}`,
		`{"requestHeaders":{"X-Any":"v"},"x":1}`:             `{"requestHeaders":"********","x":1}`,
		`{"password":{"type":"environment","variable":"V"}}`: `{"password":{"type":"environment","variable":"V"}}`,
		`{"service.dynamic.config.provider":{"type":"mapString","config":{"a":"b"}},"x":1}`: "" +
			`{"service.dynamic.config.provider":"********","x":1}`,
		`{"properties":{"account":"n","key":"k"},"key":"kept"}`: "" +
			`{"properties":{"account":"n","key":"********"},"key":"kept"}`,
		// arguments of table functions, and comparisons
		`TABLE(HTTP(userName => 'u', password => 'p''w', uris => ARRAY['http://h/']))`: "" +
			`TABLE(HTTP(userName => 'u', password => '********', uris => ARRAY['http://h/']))`,
		`S3(accessKeyId=>'a', secretAccessKey=>'b', bucket => 'c')`: "" +
			`S3(accessKeyId=>'********', secretAccessKey=>'********', bucket => 'c')`,
		`SELECT * FROM t WHERE "password" = 'x' AND key = 'y'`: "" +
			`SELECT * FROM t WHERE "password" = '********' AND key = 'y'`,
		`SELECT * FROM t WHERE password = other AND a >= 'b'`: "" +
			`SELECT * FROM t WHERE password = other AND a >= 'b'`,
		// URLs, JAAS, connection strings, headers
		`read https://me:pw@h:1/x?sig=abc&y=1 now`: `read https://********@h:1/x?sig=********&y=1 now`,
		`https://h/x?X-Amz-Signature=abc&X-Amz-Credential=d%2Fe&z=1`: "" +
			`https://h/x?X-Amz-Signature=********&X-Amz-Credential=********&z=1`,
		`PlainLoginModule required username="u" password="p\"w";`: "" +
			`PlainLoginModule required username="u" password="********";`,
		`AccountName=n;AccountKey=abc==;EndpointSuffix=core`: "" +
			`AccountName=n;AccountKey=********;EndpointSuffix=core`,
		`host=h user=u password=pw sslmode=require`:   `host=h user=u password=******** sslmode=require`,
		`Authorization: Basic dTpw`:                   `Authorization: Basic ********`,
		`sent "Authorization": "Bearer abc.def" to h`: `sent "Authorization": "********" to h`,
		`got Bearer abcdefgh.ijk`:                     `got Bearer ********`,
		`Basic authenticator with name [a] does not exist.`: "" +
			`Basic authenticator with name [a] does not exist.`,
		`SELECT a FROM t WHERE b = 'c'`: `SELECT a FROM t WHERE b = 'c'`,
		`User [bob] has no password`:    `User [bob] has no password`,
	} {
		if got := MaskSQL(in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1.50,"a":{"password":"pw","list":[{"clientSecret":{"x":1}}]},"sql":"EXTERN('{\"password\":\"pw\"}')"}`: "" +
			`{"b":1.50,"a":{"password":"********","list":[{"clientSecret":"********"}]},"sql":"EXTERN('{\"password\":\"********\"}')"}`,
		`{"password":null,"usePassword":true}`: `{"password":null,"usePassword":true}`,
		`null`:                                 `null`,
		`"<a>"`:                                `"<a>"`,
		` [1, {}]`:                             ` [1, {}]`,
		`{"pass\u0077ord":"pw","b":"\u003ca"}`: `{"pass\u0077ord":"********","b":"\u003ca"}`,
		`{"sasl.jaas.config":"x","ssl.keystore.key":"y","group.id":"g"}`: "" +
			`{"sasl.jaas.config":"********","ssl.keystore.key":"********","group.id":"g"}`,
		`{"requestHeaders":{"A":"v","B":["w"]},"headers":null}`: "" +
			`{"requestHeaders":{"A":"********","B":"********"},"headers":null}`,
		`{"druid.dynamic.config.provider":{"type":"mapString","config":{"a":"b"}}}`: "" +
			`{"druid.dynamic.config.provider":{"type":"mapString","config":{"a":"********"}}}`,
		`{"properties":{"account":"n","key":"k"},"key":"kept"}`: "" +
			`{"properties":{"account":"n","key":"********"},"key":"kept"}`,
		`{"password":{"type":"environment","variable":"V"},"uris":["https://u:p@h/"]}`: "" +
			`{"password":{"type":"environment","variable":"V"},"uris":["https://********@h/"]}`,
		`{"password":-1.5e3,"n":[{"secret":[1,{"a":2}]}]}`: "" +
			`{"password":"********","n":[{"secret":"********"}]}`,
	} {
		got, err := MaskJSON(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s, %v\nwant %s", in, got, err, want)
		}
	}
	for _, broken := range []string{`{"a":`, `{"password":`, `x`} {
		if _, err := MaskJSON(json.RawMessage(broken)); err == nil {
			t.Errorf("%s is no error", broken)
		}
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
