package spec

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Segments of a compaction are ids, or descriptors that have them; their order says nothing.
func TestSegmentsOfCompactions(t *testing.T) {
	for text, want := range map[string][]string{
		`{"segments":["b","a"]}`: {"a", "b"},
		`{"segments":[{"identifier":"b","size":5},{"identifier":"a"}]}`:                      {"a", "b"},
		`{"ioConfig":{"inputSpec":{"type":"segments","segments":[{"identifier":"c"},"b"]}}}`: {"b", "c"},
		`{"segments":[{"id":"a"}]}`: nil,
		`{"segments":[]}`:           nil,
	} {
		c, err := ParseCompaction(json.RawMessage(text))
		if want == nil {
			if err == nil {
				t.Errorf("%s was accepted", text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if d := cmp.Diff(want, c.Segments); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}
