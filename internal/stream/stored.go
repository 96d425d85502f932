package stream

import (
	"encoding/json"
	"maps"
	"strconv"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// Kinds of Sequences.
const (
	Start = "start"
	End   = "end"
)

// Sequences are positions of a stream in the form of the public interface: start and end of tasks,
// and published positions of a supervisor. Integer positions are JSON numbers, others strings.
type Sequences struct {
	// Kind is Start or End; "" is End.
	Kind string
	// Stream is the name of the stream, or the pattern of topics.
	Stream    string
	Positions Positions
	// Exclusive are the partitions whose record at the start was already read.
	Exclusive []Partition
	// Texts: positions are written as strings, as for Kinesis.
	Texts bool
}

// wireSequences has the older names of members beside the newer ones, as the interface does.
type wireSequences struct {
	Type      string        `json:"type"`
	Stream    string        `json:"stream"`
	Topic     string        `json:"topic"`
	Numbers   positionsWire `json:"partitionSequenceNumberMap"`
	Offsets   positionsWire `json:"partitionOffsetMap"`
	Exclusive *[]Partition  `json:"exclusivePartitions,omitempty"`
}

type positionsWire map[Partition]positionWire

// positionWire is a position as a number or as text.
type positionWire struct {
	position Position
	text     bool
}

// MarshalJSON writes a number where the position is one.
func (p positionWire) MarshalJSON() ([]byte, error) {
	if _, err := strconv.ParseInt(string(p.position), 10, 64); err == nil && !p.text {
		return []byte(p.position), nil
	}
	return json.Marshal(string(p.position))
}

// UnmarshalJSON reads either form.
func (p *positionWire) UnmarshalJSON(text []byte) error {
	var number int64
	if json.Unmarshal(text, &number) == nil {
		p.position = Position(strconv.FormatInt(number, 10))
		return nil
	}
	var s string
	if json.Unmarshal(text, &s) != nil || s == "" {
		return fault.InvalidInput("A position of a partition is a number or text, not [%s]", text)
	}
	p.position, p.text = Position(s), true
	return nil
}

func wireOf(positions Positions, texts bool) positionsWire {
	out := make(positionsWire, len(positions))
	for p, at := range positions {
		out[p] = positionWire{at, texts}
	}
	return out
}

// MarshalJSON writes the positions under both of their names.
func (s Sequences) MarshalJSON() ([]byte, error) {
	w := wireSequences{Type: s.Kind, Stream: s.Stream, Topic: s.Stream, Numbers: wireOf(s.Positions, s.Texts)}
	w.Offsets = w.Numbers
	if w.Type == "" {
		w.Type = End
	}
	if w.Type == Start {
		exclusive := s.Exclusive
		if exclusive == nil {
			exclusive = []Partition{}
		}
		w.Exclusive = &exclusive
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads positions under either of their names.
func (s *Sequences) UnmarshalJSON(text []byte) error {
	var w wireSequences
	if err := jsontext.Read(text, &w); err != nil {
		return err
	}
	*s = Sequences{Kind: w.Type, Stream: w.Stream, Positions: Positions{}}
	if s.Stream == "" {
		s.Stream = w.Topic
	}
	if w.Numbers == nil {
		w.Numbers = w.Offsets
	}
	for p, at := range w.Numbers {
		s.Positions[p] = at.position
		s.Texts = s.Texts || at.text
	}
	if w.Exclusive != nil && len(*w.Exclusive) > 0 {
		s.Exclusive = *w.Exclusive
	}
	return nil
}

// Plain writes positions as a JSON object from partitions to numbers, or to strings if they are not
// numbers.
func (p Positions) Plain() json.RawMessage {
	text, err := json.Marshal(wireOf(p, false))
	if err != nil { // maps of texts always encode
		return json.RawMessage("{}")
	}
	return text
}

// MarshalJSON is Plain.
func (p Positions) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("null"), nil
	}
	return p.Plain(), nil
}

// UnmarshalJSON reads the JSON of Plain.
func (p *Positions) UnmarshalJSON(text []byte) error {
	var w positionsWire
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	if w == nil {
		return nil
	}
	*p = make(Positions, len(w))
	for partition, at := range w {
		(*p)[partition] = at.position
	}
	return nil
}

// Stored contains the published positions of the stream of a supervisor, which the metastore stores
// with the segments.
type Stored struct {
	// Type is the type of the stream.
	Type string
	Sequences
}

type storedWire struct {
	Type       string    `json:"type"`
	Partitions Sequences `json:"partitions"`
}

// MarshalJSON writes the stored form.
func (s Stored) MarshalJSON() ([]byte, error) { return json.Marshal(storedWire{s.Type, s.Sequences}) }

// ParseStored parses the stored form; an empty text has no positions.
func ParseStored(text json.RawMessage) (Stored, error) {
	var w storedWire
	if len(text) == 0 || string(text) == "null" {
		return Stored{Sequences: Sequences{Kind: End, Positions: Positions{}}}, nil
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return Stored{}, fault.InvalidInput("The stored offsets are not readable: [%s]", fault.JSONProblem(err)).WithCause(err)
	}
	if w.Partitions.Positions == nil {
		w.Partitions.Positions = Positions{}
	}
	return Stored{w.Type, w.Partitions}, nil
}

// Plus returns s with some positions replaced. Positions of another stream than s's replace all of
// them.
func (s Stored) Plus(kind, name string, positions Positions) Stored {
	out := Stored{Type: kind, Sequences: Sequences{Kind: End, Stream: name, Positions: Positions{}, Texts: s.Texts}}
	if s.Stream == name || s.Stream == "" {
		maps.Copy(out.Positions, s.Positions)
	}
	maps.Copy(out.Positions, positions)
	return out
}

// Of returns the positions of s for partitions of the stream with that name: all of them if it is
// the stream of s. A topic has the same positions whether it is read alone ("3") or as one of
// several ("topic:3").
func (s Stored) Of(name string, isPattern bool, partitions []Partition) Positions {
	out := Positions{}
	for _, p := range partitions {
		at, ok := s.Positions[p]
		switch {
		case s.Stream == name:
		case isPattern:
			if topic, number := p.Split(); !ok && topic == s.Stream {
				at, ok = s.Positions[Partition(number)]
			}
		default:
			at, ok = s.Positions[Partition(name+":"+string(p))]
		}
		if ok {
			out[p] = at
		}
	}
	return out
}

// Split divides the name of a partition of several topics at its last colon; the topic is "" if
// there is only one.
func (p Partition) Split() (topic, number string) {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] == ':' {
			return string(p[:i]), string(p[i+1:])
		}
	}
	return "", string(p)
}
