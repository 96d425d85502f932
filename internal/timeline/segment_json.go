package timeline

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// Fields selects the members of the JSON of a segment, in addition to or less than those of Druid.
type Fields uint8

const (
	// WithRows adds "totalRows" if the number is known.
	WithRows Fields = 1 << iota
	// WithFile adds "file" and "schemaFingerprint": for messages between roles.
	WithFile
	// WithoutLoadSpec leaves out "loadSpec" and "lastCompactionState", as Brokers do.
	WithoutLoadSpec
)

type segmentJSON struct {
	DataSource          string          `json:"dataSource"`
	Interval            chrono.Interval `json:"interval"`
	Version             string          `json:"version"`
	LoadSpec            json.RawMessage `json:"loadSpec,omitempty"`
	Dimensions          nameList        `json:"dimensions"`
	Metrics             nameList        `json:"metrics"`
	ShardSpec           json.RawMessage `json:"shardSpec"`
	LastCompactionState json.RawMessage `json:"lastCompactionState,omitempty"`
	BinaryVersion       int             `json:"binaryVersion"`
	Size                int64           `json:"size"`
	TotalRows           *int64          `json:"totalRows,omitempty"`
	Projections         nameList        `json:"projections,omitempty"`
	IndexingState       string          `json:"indexingStateFingerprint,omitempty"`
	File                string          `json:"file,omitempty"`
	SchemaFingerprint   string          `json:"schemaFingerprint,omitempty"`
	Identifier          string          `json:"identifier"`
}

// nameList is column names joined by commas; arrays are read too. A name with a comma can't come
// back, as in Druid. See quirk Q012.
type nameList []string

func (l nameList) MarshalJSON() ([]byte, error) { return json.Marshal(strings.Join(l, ",")) }

func (l *nameList) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("[")) || string(text) == "null" {
		return json.Unmarshal(text, (*[]string)(l))
	}
	var joined string
	if err := json.Unmarshal(text, &joined); err != nil {
		return err
	}
	*l = nil
	for name := range strings.SplitSeq(joined, ",") {
		if name != "" {
			*l = append(*l, name)
		}
	}
	return nil
}

// MarshalJSON returns the JSON of Druid's metadata answers.
func (s *Segment) MarshalJSON() ([]byte, error) { return s.JSON(0) }

// JSON returns Druid's JSON with other members as chosen.
func (s *Segment) JSON(fields Fields) ([]byte, error) {
	shard, err := MarshalShardSpec(s.Shard)
	if err != nil {
		return nil, err
	}
	w := segmentJSON{
		DataSource: s.ID.DataSource, Interval: s.ID.Interval, Version: s.ID.Version,
		Dimensions: s.Schema.Dimensions(), Metrics: s.Schema.Metrics(),
		ShardSpec: shard, BinaryVersion: s.BinaryVersion, Size: s.Size, Identifier: s.ID.String(),
	}
	if s.Details != nil {
		w.Projections, w.IndexingState = s.Details.Projections, s.Details.IndexingState
	}
	if fields&WithoutLoadSpec == 0 {
		w.LoadSpec = s.LoadSpec()
		if s.Details != nil {
			w.LastCompactionState = s.Details.LastCompactionState
		}
	}
	if fields&WithRows != 0 && s.Rows >= 0 {
		w.TotalRows = &s.Rows
	}
	if fields&WithFile != 0 {
		w.File = s.File
		if s.Schema != nil {
			w.SchemaFingerprint = s.Schema.Fingerprint()
		}
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads every form that JSON writes, and arrays of names. The schema contains only
// names: a caller that knows its fingerprint sets the full one. "identifier" is ignored: it is
// derived.
func (s *Segment) UnmarshalJSON(text []byte) error {
	var w segmentJSON
	if depth(text) > maxNesting {
		return fault.InvalidInput("A segment's JSON is nested deeper than [%d] levels", maxNesting)
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return fault.Malformed("A segment's JSON is not readable").WithCause(err)
	}
	shard, err := ParseShardSpec(w.ShardSpec)
	if err != nil {
		return err
	}
	*s = Segment{
		ID: SegmentID{
			DataSource: w.DataSource, Interval: w.Interval, Version: w.Version, Partition: shard.PartitionNum(),
		},
		Shard: shard, File: w.File, Size: w.Size, Rows: -1, BinaryVersion: w.BinaryVersion,
	}
	s.Locate(present(w.LoadSpec))
	if w.TotalRows != nil {
		s.Rows = *w.TotalRows
	}
	if !s.IsTombstone() {
		s.Schema = SchemaOfNames(w.Dimensions, w.Metrics)
	}
	d := Details{LastCompactionState: present(w.LastCompactionState), Projections: w.Projections, IndexingState: w.IndexingState}
	if d.LastCompactionState != nil || d.Projections != nil || d.IndexingState != "" {
		s.Details = &d
	}
	return s.Validate()
}

// present maps a JSON null to absence.
func present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// depth returns how deep objects and arrays are nested in a JSON text, without recursion.
func depth(text []byte) int {
	level, deepest, inString := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString:
			switch c {
			case '\\':
				i++
			case '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
