package secret

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

func environment(name string) (string, bool) {
	if name == "SET" {
		return "stones", true
	}
	return "", false
}

func TestPassword(t *testing.T) {
	for _, c := range []struct {
		given, want, shown, problem string
		env                         Environment
	}{
		{given: `"pw"`, want: "pw", shown: `"********"`},
		{given: `{"type":"default","password":"pw"}`, want: "pw", shown: `"********"`},
		{given: `{"type":"environment","variable":"SET"}`, want: "stones", shown: `{"type":"environment","variable":"SET"}`, env: environment},
		{given: `{"type":"environment","variable":"UNSET"}`, problem: "environment variable 'UNSET' is not set", env: environment},
		{given: `{"type":"environment","variable":"SET"}`, problem: "passwords from the environment are not allowed here"},
		{given: `{"type":"environment"}`, problem: "password type 'environment' is unknown"},
		{given: `{"type":"file"}`, problem: "password type 'file' is unknown"},
		{given: `[1]`, problem: "a password is a string or an object with a 'type'"},
	} {
		var p Password
		err := json.Unmarshal([]byte(c.given), &p)
		var got Text
		if err == nil {
			got, err = p.Resolve(c.env)
		}
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: %v, want %q", c.given, err, c.problem)
			}
			continue
		}
		if shown, _ := json.Marshal(p); err != nil || got.Reveal() != c.want || string(shown) != c.shown {
			t.Errorf("%s: %q %s %v, want %q %s", c.given, got, shown, err, c.want, c.shown)
		}
	}
}

func TestProvided(t *testing.T) {
	for _, c := range []struct {
		given, problem string
		want           map[string]string
	}{
		{given: `{"a":"b"}`, want: map[string]string{}},
		{given: `{"service.dynamic.config.provider":null}`, want: map[string]string{}},
		{given: `{"a":"b","service.dynamic.config.provider":{"type":"mapString","config":{"a":"c"}}}`, want: map[string]string{"a": "c"}},
		{given: `{"druid.dynamic.config.provider":{"type":"environment","variables":{"a":"SET"}}}`, want: map[string]string{"a": "stones"}},
		{given: `{"druid.dynamic.config.provider":{"type":"environment","variables":{"a":"UNSET"}}}`, problem: "'UNSET' is not set"},
		{given: `{"service.dynamic.config.provider":{"type":"environmnt"}}`,
			problem: "could not resolve type id 'environmnt': known type ids = [environment, mapString]; did you mean 'environment'?"},
		{given: `{"service.dynamic.config.provider":3}`, problem: "Invalid value for the field [service.dynamic.config.provider]"},
	} {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.given), &members); err != nil {
			t.Fatal(err)
		}
		got, err := Provided(members, environment)
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: %v, want %q", c.given, err, c.problem)
			}
			continue
		}
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v %v, want %v", c.given, got, err, c.want)
		}
	}
}
