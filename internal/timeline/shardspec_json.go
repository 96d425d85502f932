package timeline

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/invariant"
)

// shardSpecJSON reads every kind: members that a kind does not have stay nil.
type shardSpecJSON struct {
	Type                   string              `json:"type"`
	PartitionNum           *int                `json:"partitionNum"`
	Partitions             *int                `json:"partitions"`
	NumCorePartitions      *int                `json:"numCorePartitions"`
	Dimensions             []string            `json:"dimensions"`
	Dimension              *string             `json:"dimension"`
	Start                  json.RawMessage     `json:"start"`
	End                    json.RawMessage     `json:"end"`
	BucketID               *int                `json:"bucketId"`
	NumBuckets             *int                `json:"numBuckets"`
	PartitionDimensions    []string            `json:"partitionDimensions"`
	PartitionFunction      *string             `json:"partitionFunction"`
	PartitionDimensionVals map[string][]string `json:"partitionDimensionValues"`
	PartitionID            *int                `json:"partitionId"`
	StartRootPartitionID   *int                `json:"startRootPartitionId"`
	EndRootPartitionID     *int                `json:"endRootPartitionId"`
	MinorVersion           *int                `json:"minorVersion"`
	AtomicUpdateGroupSize  *int                `json:"atomicUpdateGroupSize"`
	problem                *fault.Error
}

// ParseShardSpec reads the JSON form of a shard spec. A missing text or null is None, as in Druid.
// See quirk Q012.
func ParseShardSpec(text []byte) (ShardSpec, error) {
	if len(text) == 0 || string(text) == "null" {
		return None{}, nil
	}
	var w shardSpecJSON
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, fault.Malformed("The shardSpec is not readable: it must be a JSON object with a [type]").WithCause(err)
	}
	spec := w.spec()
	if w.problem != nil {
		return nil, w.problem
	}
	return spec, nil
}

func (w *shardSpecJSON) spec() ShardSpec {
	switch w.Type {
	case "numbered":
		return Numbered{Partition: w.number("partitionNum", w.PartitionNum, 0), Core: w.number("partitions", w.Partitions, 0)}
	case "range":
		s := Range{
			Dimensions: w.Dimensions,
			Start:      w.tuple("start", w.Start),
			End:        w.tuple("end", w.End),
			Partition:  w.number("partitionNum", w.PartitionNum, 0),
			Core:       w.number("numCorePartitions", w.NumCorePartitions, 0),
		}
		for name, t := range map[string]Tuple{"start": s.Start, "end": s.End} {
			if t != nil && len(t) != len(s.Dimensions) {
				w.fail("The shardSpec of type [range] has [%d] values in [%s] for [%d] dimensions", len(t), name, len(s.Dimensions))
			}
		}
		if len(s.Dimensions) == 0 {
			w.fail("The shardSpec of type [range] must have dimensions")
		}
		return s
	case "single":
		s := Single{
			Start:     w.text("start", w.Start),
			End:       w.text("end", w.End),
			Partition: w.number("partitionNum", w.PartitionNum, 0),
			Core:      UnknownCore,
		}
		if w.NumCorePartitions != nil && *w.NumCorePartitions != UnknownCore {
			s.Core = w.number("numCorePartitions", w.NumCorePartitions, 0)
		}
		if w.Dimension == nil {
			w.fail("The shardSpec of type [single] must have a [dimension]")
			return s
		}
		s.Dimension = *w.Dimension
		return s
	case "hashed":
		s := Hashed{
			Partition:  w.number("partitionNum", w.PartitionNum, 0),
			Core:       w.number("partitions", w.Partitions, 0),
			Dimensions: w.PartitionDimensions,
		}
		// Segments of old releases have no buckets: one for each core partition.
		s.Bucket = w.number("bucketId", w.BucketID, s.Partition)
		s.Buckets = w.number("numBuckets", w.NumBuckets, s.Core)
		if w.PartitionFunction != nil {
			s.Function = *w.PartitionFunction
		}
		return s
	case "tombstone":
		return Tombstone{}
	case "none":
		return None{}
	case "linear":
		return Linear{Partition: w.number("partitionNum", w.PartitionNum, 0)}
	case "dim_value_set":
		return DimValueSet{
			Partition: w.number("partitionNum", w.PartitionNum, 0),
			Core:      w.number("partitions", w.Partitions, 0),
			Values:    w.PartitionDimensionVals,
		}
	case "numbered_overwrite":
		return NumberedOverwrite{
			Partition: w.number("partitionId", w.PartitionID, 0),
			RootStart: w.number("startRootPartitionId", w.StartRootPartitionID, 0),
			RootEnd:   w.number("endRootPartitionId", w.EndRootPartitionID, 0),
			Minor:     w.number("minorVersion", w.MinorVersion, 0),
			GroupSize: w.number("atomicUpdateGroupSize", w.AtomicUpdateGroupSize, 1),
		}
	case "":
		w.fail("The shardSpec has no [type]")
		return None{}
	default:
		w.fail("The shardSpec type [%s] is not known", w.Type)
		return None{}
	}
}

func (w *shardSpecJSON) fail(format string, args ...any) {
	if w.problem == nil {
		w.problem = fault.InvalidInput(format, args...)
	}
}

func (w *shardSpecJSON) number(name string, v *int, absent int) int {
	if v == nil {
		return absent
	}
	if *v < 0 || *v > maxPartition {
		w.fail("The shardSpec of type [%s] has [%s] out of range: [%d]", w.Type, name, *v)
		return absent
	}
	return *v
}

func (w *shardSpecJSON) tuple(name string, raw json.RawMessage) Tuple {
	var t Tuple
	if len(raw) > 0 && json.Unmarshal(raw, &t) != nil {
		w.fail("The shardSpec of type [%s] must have an array of strings, or null, in [%s]", w.Type, name)
	}
	return t
}

func (w *shardSpecJSON) text(name string, raw json.RawMessage) *string {
	var s *string
	if len(raw) > 0 && json.Unmarshal(raw, &s) != nil {
		w.fail("The shardSpec of type [%s] must have a string, or null, in [%s]", w.Type, name)
	}
	return s
}

// MarshalShardSpec returns the JSON form: the members of Druid, in its order.
func MarshalShardSpec(s ShardSpec) ([]byte, error) {
	switch s := s.(type) {
	case Numbered:
		return json.Marshal(struct {
			Type         string `json:"type"`
			PartitionNum int    `json:"partitionNum"`
			Partitions   int    `json:"partitions"`
		}{s.Type(), s.Partition, s.Core})
	case Range:
		return json.Marshal(struct {
			Type              string   `json:"type"`
			Dimensions        []string `json:"dimensions"`
			Start             Tuple    `json:"start"`
			End               Tuple    `json:"end"`
			PartitionNum      int      `json:"partitionNum"`
			NumCorePartitions int      `json:"numCorePartitions"`
		}{s.Type(), s.Dimensions, s.Start, s.End, s.Partition, s.Core})
	case Single:
		return json.Marshal(struct {
			Type              string  `json:"type"`
			Dimension         string  `json:"dimension"`
			Start             *string `json:"start"`
			End               *string `json:"end"`
			PartitionNum      int     `json:"partitionNum"`
			NumCorePartitions int     `json:"numCorePartitions"`
		}{s.Type(), s.Dimension, s.Start, s.End, s.Partition, s.Core})
	case Hashed:
		var function *string
		if s.Function != "" {
			function = &s.Function
		}
		return json.Marshal(struct {
			Type                string   `json:"type"`
			PartitionNum        int      `json:"partitionNum"`
			Partitions          int      `json:"partitions"`
			BucketID            int      `json:"bucketId"`
			NumBuckets          int      `json:"numBuckets"`
			PartitionDimensions []string `json:"partitionDimensions"`
			PartitionFunction   *string  `json:"partitionFunction"`
		}{s.Type(), s.Partition, s.Core, s.Bucket, s.Buckets, append([]string{}, s.Dimensions...), function})
	case Tombstone:
		return []byte(`{"type":"tombstone","partitionNum":0,"partitions":1}`), nil
	case None:
		return []byte(`{"type":"none"}`), nil
	case Linear:
		return json.Marshal(struct {
			Type         string `json:"type"`
			PartitionNum int    `json:"partitionNum"`
		}{s.Type(), s.Partition})
	case DimValueSet:
		return json.Marshal(struct {
			Type         string              `json:"type"`
			PartitionNum int                 `json:"partitionNum"`
			Partitions   int                 `json:"partitions"`
			Values       map[string][]string `json:"partitionDimensionValues"`
		}{s.Type(), s.Partition, s.Core, s.Values})
	case NumberedOverwrite:
		return json.Marshal(struct {
			Type      string `json:"type"`
			ID        int    `json:"partitionId"`
			RootStart int    `json:"startRootPartitionId"`
			RootEnd   int    `json:"endRootPartitionId"`
			Minor     int    `json:"minorVersion"`
			GroupSize int    `json:"atomicUpdateGroupSize"`
		}{s.Type(), s.Partition, s.RootStart, s.RootEnd, s.Minor, s.GroupSize})
	}
	return nil, invariant.Failed("shard spec [%T] has no JSON form", s)
}
