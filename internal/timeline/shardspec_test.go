package timeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
)

//go:fix inline

func TestShardSpecJSON(t *testing.T) {
	for _, tt := range []struct {
		spec ShardSpec
		json string
		part int
		core int
	}{
		{Numbered{Partition: 3, Core: 2}, `{"type":"numbered","partitionNum":3,"partitions":2}`, 3, 2},
		{
			Range{Dimensions: []string{"a", "b"}, End: Tuple{new("x"), nil}, Partition: 1, Core: 4},
			`{"type":"range","dimensions":["a","b"],"start":null,"end":["x",null],"partitionNum":1,"numCorePartitions":4}`, 1, 4,
		},
		{
			Single{Dimension: "a", Start: new("m"), Partition: 1, Core: 2},
			`{"type":"single","dimension":"a","start":"m","end":null,"partitionNum":1,"numCorePartitions":2}`, 1, 2,
		},
		{
			Single{Dimension: "a", Core: UnknownCore},
			`{"type":"single","dimension":"a","start":null,"end":null,"partitionNum":0,"numCorePartitions":-1}`, 0, UnknownCore,
		},
		{
			Hashed{Partition: 5, Core: 6, Bucket: 2, Buckets: 3, Dimensions: []string{"a"}, Function: "murmur3_32_abs"},
			`{"type":"hashed","partitionNum":5,"partitions":6,"bucketId":2,"numBuckets":3,"partitionDimensions":["a"],"partitionFunction":"murmur3_32_abs"}`, 5, 6,
		},
		{Tombstone{}, `{"type":"tombstone","partitionNum":0,"partitions":1}`, 0, 1},
		{None{}, `{"type":"none"}`, 0, 1},
		{Linear{Partition: 7}, `{"type":"linear","partitionNum":7}`, 7, 0},
		{
			DimValueSet{Partition: 1, Core: 0, Values: map[string][]string{"a": {"x", "y"}}},
			`{"type":"dim_value_set","partitionNum":1,"partitions":0,"partitionDimensionValues":{"a":["x","y"]}}`, 1, 0,
		},
		{
			NumberedOverwrite{Partition: 32768, RootStart: 0, RootEnd: 2, Minor: 1, GroupSize: 1},
			`{"type":"numbered_overwrite","partitionId":32768,"startRootPartitionId":0,"endRootPartitionId":2,"minorVersion":1,"atomicUpdateGroupSize":1}`, 32768, 0,
		},
	} {
		got, err := MarshalShardSpec(tt.spec)
		if err != nil || string(got) != tt.json {
			t.Errorf("JSON of %+v: got %s (%v), want %s", tt.spec, got, err, tt.json)
		}
		back, err := ParseShardSpec([]byte(tt.json))
		if err != nil {
			t.Errorf("reading %s: %v", tt.json, err)
		}
		if diff := cmp.Diff(tt.spec, back); diff != "" {
			t.Errorf("reading %s: %s", tt.json, diff)
		}
		if tt.spec.PartitionNum() != tt.part || tt.spec.CorePartitions() != tt.core {
			t.Errorf("%s: partition %d of core %d", tt.json, tt.spec.PartitionNum(), tt.spec.CorePartitions())
		}
	}
}

func TestShardSpecOldForms(t *testing.T) {
	for _, tt := range []struct {
		json string
		want ShardSpec
	}{
		{``, None{}},
		{`null`, None{}},
		{`{"type":"single","dimension":"a","start":null,"end":"b","partitionNum":0}`, Single{Dimension: "a", End: new("b"), Core: UnknownCore}},
		{`{"type":"hashed","partitionNum":1,"partitions":3}`, Hashed{Partition: 1, Core: 3, Bucket: 1, Buckets: 3}},
		{`{"type":"numbered","partitionNum":1,"partitions":3,"later":true}`, Numbered{Partition: 1, Core: 3}},
	} {
		got, err := ParseShardSpec([]byte(tt.json))
		if err != nil {
			t.Errorf("reading %s: %v", tt.json, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("reading %s: %s", tt.json, diff)
		}
	}
}

func TestShardSpecRefused(t *testing.T) {
	for _, bad := range []string{
		`[]`, `{}`, `{"type":"nosuch"}`, `{"type":"numbered","partitionNum":-1}`, `{"type":"numbered","partitions":2147483648}`,
		`{"type":"range","dimensions":[],"partitionNum":0}`, `{"type":"range","dimensions":["a"],"start":["x","y"]}`,
		`{"type":"range","dimensions":["a"],"start":"x"}`, `{"type":"single","partitionNum":0}`, `{"type":"single","dimension":"a","start":1}`,
	} {
		_, err := ParseShardSpec([]byte(bad))
		if f := fault.Find(err); f == nil || f.Category != fault.CategoryInvalidInput {
			t.Errorf("%s: got %v, want an invalid input fault", bad, err)
		}
	}
}

// TestWithCoreKnowsEveryKind fails when a shard spec is added that WithCore or the JSON do not
// know.
func TestWithCoreKnowsEveryKind(t *testing.T) {
	kinds := []ShardSpec{Numbered{}, Range{}, Single{}, Hashed{}, Tombstone{}, None{}, Linear{}, DimValueSet{}, NumberedOverwrite{}}
	for _, s := range kinds {
		got := WithCore(s, 9)
		switch s.(type) {
		case Tombstone, None, Linear, NumberedOverwrite:
			if diff := cmp.Diff(s, got); diff != "" {
				t.Errorf("%s changed: %s", s.Type(), diff)
			}
		default:
			if got.CorePartitions() != 9 {
				t.Errorf("%s has core %d after WithCore(9)", s.Type(), got.CorePartitions())
			}
		}
	}
}

func FuzzParseShardSpec(f *testing.F) {
	f.Add(`{"type":"range","dimensions":["a","b"],"start":null,"end":["x",null],"partitionNum":1,"numCorePartitions":4}`)
	f.Add(`{"type":"dim_value_set","partitionNum":1,"partitions":0,"partitionDimensionValues":{"a":["x","y"]}}`)
	f.Add(`{"type":"numbered_overwrite","partitionId":32768}`)
	f.Fuzz(func(t *testing.T, in string) {
		s, err := ParseShardSpec([]byte(in))
		if err != nil {
			return
		}
		out, err := MarshalShardSpec(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseShardSpec(out)
		if err != nil {
			t.Fatalf("%s became %s, which is refused: %v", in, out, err)
		}
		if last, _ := MarshalShardSpec(again); string(last) != string(out) {
			t.Fatalf("%s became %s, then %s", in, out, last)
		}
	})
}
