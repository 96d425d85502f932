package jsontext

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type part struct {
	Name  string `json:"name"`
	Limit int    `json:"limit"`
}

type selfRead struct{ text string }

func (s *selfRead) UnmarshalJSON(text []byte) error {
	s.text = string(text)
	return nil
}

// TestNamesAreReadLetterByLetter: what is another's name but for the case is no member, wherever
// the text has it.
func TestNamesAreReadLetterByLetter(t *testing.T) {
	type whole struct {
		part
		Parts  []*part         `json:"parts"`
		ByName map[string]part `json:"byName"`
		Free   map[string]any  `json:"free"`
		Own    selfRead        `json:"own"`
		Hidden string          `json:"-"`
		Plain  string
		Size   *int  `json:"size"`
		Flag   *bool `json:"flag"`
	}
	five := 5
	for _, c := range []struct {
		text string
		want whole
	}{
		{`{"name":"a","Name":"b","NAME":"c"}`, whole{part: part{Name: "a"}}},
		{`{"Limit" : 5}`, whole{}},
		{`{"\u004Cimit":5,"\u006cimit":6}`, whole{part: part{Limit: 6}}},
		{` {"parts":[{"name":"a","Limit":1},null,{"limit":2}]}`, whole{Parts: []*part{{Name: "a"}, nil, {Limit: 2}}}},
		{`{"byName":{"Name":{"name":"x","Name":"y"}},"Parts":[{}]}`, whole{ByName: map[string]part{"Name": {Name: "x"}}}},
		{`{"free":{"Name":1},"FREE":{}}`, whole{Free: map[string]any{"Name": 1.0}}},
		{`{"own":{"Name":1},"Hidden":"x","nosuch":2}`, whole{Own: selfRead{`{"Name":1}`}}},
		{`{"Plain":"x","plain":"y"}`, whole{Plain: "x"}},
		{`{"size":"","flag" : "" }`, whole{}}, // an empty text is none of what may be left out
		{`{"size":5,"Flag":"","plain":""}`, whole{Size: &five}},
		{`null`, whole{}},
	} {
		var got whole
		if err := Unmarshal([]byte(c.text), &got); err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(whole{}, selfRead{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
	text := []byte(`{"Limit":1,`)
	if err := Unmarshal(text, &part{}); err == nil || string(text) != `{"Limit":1,` {
		t.Errorf("a text that ends too early gives [%v] and is [%s]", err, text)
	}
	plain := []byte(`{"name":"a","other":1}`)
	if got := Exact(plain, &part{}); &got[0] != &plain[0] {
		t.Error("a text without such names is copied")
	}
}

// FuzzExact: what is changed is as long and as much JSON as it was.
func FuzzExact(f *testing.F) {
	f.Add(`{"Name":"x","name":"y","parts":[{"LIMIT":1}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		got := Exact([]byte(text), &struct {
			part
			Parts []part `json:"parts"`
		}{})
		if len(got) != len(text) || json.Valid(got) != json.Valid([]byte(text)) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
