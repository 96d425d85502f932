package jsontext

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
)

type readParts struct {
	N     int
	Small int8
	F     float64
	B     bool
	S     string
	P     *int
	List  []struct{ Name string }
	Texts map[string]string
	Own   ownJSON `json:"own"`
}

// ownJSON reads itself, as texts.
type ownJSON struct{ X int }

func (o *ownJSON) UnmarshalJSON(text []byte) error {
	var w struct{ X int }
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	o.X = w.X
	return nil
}

func TestRead(t *testing.T) {
	five := 5
	for _, c := range []struct {
		text string
		want readParts
	}{
		{`{"N":"5","F":" 1.5 ","B":"TRUE","S":5,"P":"5"}`, readParts{N: 5, F: 1.5, B: true, S: "5", P: &five}},
		{`{"N":2.7,"S":true,"B":1}`, readParts{N: 2, S: "true", B: true}},
		{`{"N":-2.7e1,"S":-1.5e3,"B":0}`, readParts{N: -27, S: "-1.5e3"}},
		{`{"N":"","P":"","B":"","S":""}`, readParts{}},
		{`{"n":1,"N":"5","s":"x","List":[{"name":"x","Name":1}]}`, readParts{N: 5, List: []struct{ Name string }{{"1"}}}},
		{`{"S":"a\"b\\","N":"\u0037","List":[{"Name":1},{"Name":false}],"Texts":{"a\\\"":12}}`,
			readParts{S: `a"b\`, N: 7, List: []struct{ Name string }{{"1"}, {"false"}}, Texts: map[string]string{`a\"`: "12"}}},
	} {
		var got readParts
		if err := Read([]byte(c.text), &got); err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.text, d)
		}
	}
}

// What does not say the same is an error that names it.
func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"N":"x"}`, "field 'N' can't be a JSON string"},
		{`{"S":7,"N":"1.5"}`, "field 'N' can't be a JSON string"},
		{`{"N":true}`, "field 'N' can't be a JSON bool"},
		{`{"Small":"300"}`, "field 'Small' can't be a JSON number 300"},
		{`{"N":1e300}`, "field 'N' can't be a JSON number 1e300"},
		{`{"B":"yes"}`, "field 'B' can't be a JSON string"},
		{`{"F":"NaN"}`, "field 'F' can't be a JSON string"},
		{`{"N":[1]}`, "field 'N' can't be a JSON array"},
		{`{"N":{}}`, "field 'N' can't be a JSON object"},
		{`{"own":{"X":"5"}}`, "field 'own.X' can't be a JSON string"}, // it reads itself
	} {
		var got readParts
		if err := Read([]byte(c.text), &got); err == nil {
			t.Errorf("%s: %+v", c.text, got)
		} else if problem := fault.JSONProblem(err); problem != c.want {
			t.Errorf("%s: %s, want %s", c.text, problem, c.want)
		}
	}
}

// Whatever reads true and false takes the same texts for them.
func TestReadFlag(t *testing.T) {
	for text, want := range map[string]struct{ value, ok bool }{
		`true`: {true, true}, `"True"`: {true, true}, `"true"`: {true, true}, `1`: {true, true}, `2`: {true, true},
		`false`: {false, true}, `"FALSE"`: {false, true}, `0`: {false, true}, `""`: {false, true}, `null`: {false, true},
		`"yes"`: {}, `1.5`: {}, `"1"`: {}, `[]`: {}, `{}`: {},
	} {
		if value, ok := ReadFlag([]byte(text)); value != want.value && ok || ok != want.ok {
			t.Errorf("%s: %t, %t", text, value, ok)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"N":"5","F":"1.5","B":"true","S":5}`, `{"N":2.5,"List":[{"Name":1}]}`, `{"S":"\\","N":"\""}`, `[]`, `"`, `{"N":1e999}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var strict, got readParts
		asIs, err := Unmarshal(text, &strict), Read(text, &got)
		if asIs == nil && (err != nil || !cmp.Equal(strict, got)) {
			t.Errorf("%q: %v, %s", text, err, cmp.Diff(strict, got))
		}
	})
}
