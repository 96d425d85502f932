package stream

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStored: the row of the interface, read under either name of its members, and written under
// both.
func TestStored(t *testing.T) {
	const row = `{"type":"kafka","partitions":{"type":"end","stream":"orders","topic":"orders","partitionSequenceNumberMap":{"0":120400},` +
		`"partitionOffsetMap":{"0":120400}}}`
	for _, text := range []string{row, `{"type":"kafka","partitions":{"type":"end","topic":"orders","partitionOffsetMap":{"0":"120400"}}}`,
		`{"type":"kafka","partitions":{"type":"start","stream":"orders","partitionSequenceNumberMap":{"0":120400},"exclusivePartitions":[]}}`} {
		s, err := ParseStored(json.RawMessage(text))
		if err != nil || s.Type != "kafka" || s.Stream != "orders" || s.Positions["0"] != "120400" {
			t.Errorf("%s: %+v (%v)", text, s, err)
		}
	}
	s, _ := ParseStored(json.RawMessage(row))
	if out, err := json.Marshal(s); err != nil || string(out) != row {
		t.Errorf("%s (%v)", out, err)
	}
	if _, err := ParseStored(json.RawMessage(`{"partitions":{"partitionOffsetMap":{"0":{}}}}`)); err == nil {
		t.Error("a position that is an object is read")
	}
	none, err := ParseStored(nil)
	if err != nil || len(none.Positions) != 0 {
		t.Errorf("%+v (%v)", none, err)
	}
	next := none.Plus("kafka", "orders", Positions{"1": "5"}).Plus("kafka", "orders", Positions{"0": "3", "1": "6"})
	if diff := cmp.Diff(Positions{"0": "3", "1": "6"}, next.Positions); diff != "" {
		t.Error(diff)
	}
	if other := next.Plus("kafka", "others", Positions{"7": "1"}); len(other.Positions) != 1 {
		t.Errorf("positions of another stream are kept: %v", other.Positions)
	}
}

// TestStoredOf: a topic that is read alone, and as one of several, has the same positions.
func TestStoredOf(t *testing.T) {
	single := Stored{Sequences: Sequences{Stream: "a", Positions: Positions{"0": "5"}}}
	several := Stored{Sequences: Sequences{Stream: "[ab]", Positions: Positions{"a:0": "5", "b:0": "6", "x:y:1": "7"}}}
	for _, c := range []struct {
		stored     Stored
		name       string
		pattern    bool
		partitions []Partition
		want       Positions
	}{
		{single, "a", false, []Partition{"0", "1"}, Positions{"0": "5"}},
		{single, "b", false, []Partition{"0"}, Positions{}},
		{single, "a|b", true, []Partition{"a:0", "b:0"}, Positions{"a:0": "5"}},
		{several, "[ab]", true, []Partition{"a:0", "b:0"}, Positions{"a:0": "5", "b:0": "6"}},
		{several, "b.*", true, []Partition{"b:0", "b:1"}, Positions{"b:0": "6"}},
		{several, "a", false, []Partition{"0"}, Positions{"0": "5"}},
		{several, "x:y", false, []Partition{"1"}, Positions{"1": "7"}},
	} {
		if diff := cmp.Diff(c.want, c.stored.Of(c.name, c.pattern, c.partitions)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if topic, number := Partition("x:y:1").Split(); topic != "x:y" || number != "1" {
		t.Errorf("[%s] [%s]", topic, number)
	}
}
