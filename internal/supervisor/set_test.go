package supervisor

import (
	"encoding/json"
	"strings"
	"testing"
)

// Whatever the text, reading it ends with a specification that has an id and is written as it is
// read, or with a fault.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"type":"noop","id":"a","dataSources":["b"]}`, `{"type":"NoopSupervisorSpec","dataSources":["b"]}`, `{"type":"noop","id":null}`, `{"type":"x"}`, `[]`, `{`,
		`{"type":"noop","id":"a","x":"[[[\"[["}`, strings.Repeat(`{"type":`, 300),
	} {
		f.Add(seed)
	}
	set := New(nil, map[string]Kind{"noop": Noop{}, NoopType: Noop{}})
	f.Fuzz(func(t *testing.T, text string) {
		v, err := set.parse(json.RawMessage(text))
		if err != nil {
			return
		}
		if v.ID() == "" {
			t.Fatal("no id")
		}
		first, err := json.Marshal(v.Spec)
		if err != nil {
			t.Fatal(err)
		}
		again, err := set.parse(first)
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		if second, err := json.Marshal(again.Spec); err != nil || string(second) != string(first) {
			t.Fatalf("%s became %s, %v", first, second, err)
		}
	})
}
