package timeline

import (
	"encoding/json"
	"strings"
	"unique"

	"github.com/hengedb/henge/internal/chrono"
)

// Location is a load spec: the JSON by which deep storage finds the bytes of a segment,
// {"type":"local","path":".."}. A cluster has millions of them, and most keys are derived from
// segment ids. A Location therefore omits the parts that are in the id, and shares the beginning,
// which is common to the whole store. The zero Location is empty.
type Location struct {
	head unique.Handle[string]
	// rest begins with the first mark, if there is one, and is all of it where there is none.
	rest string
}

// Equal reports whether two segments of one id have the same load spec.
func (l Location) Equal(o Location) bool { return l == o }

// marks stand for the parts of an id; JSON has no such bytes.
const marks = "\x01\x02\x03\x04"

// parts returns what the marks stand for.
func (id SegmentID) parts() [len(marks)]string {
	return [...]string{id.DataSource, chrono.FormatMillis(id.Interval.Start, chrono.UTC), chrono.FormatMillis(id.Interval.End, chrono.UTC), id.Version}
}

// Locate sets the location of the bytes of s to a load spec, or to nil if it is omitted. No other
// goroutine may use s yet. It returns s.
func (s *Segment) Locate(spec json.RawMessage) *Segment {
	s.Location = Location{}
	if len(spec) == 0 {
		return s
	}
	text := string(spec)
	if strings.ContainsAny(text, marks) { // no JSON, but it is not for us to say so
		s.Location.head = unique.Make(text)
		return s
	}
	for i, part := range s.ID.parts() {
		if part != "" && !strings.ContainsAny(part, marks) {
			text = strings.ReplaceAll(text, part, marks[i:i+1])
		}
	}
	at := max(strings.IndexAny(text, marks), 0)
	s.Location = Location{unique.Make(text[:at]), strings.Clone(text[at:])}
	return s
}

// IsLocated reports whether the segment has a load spec.
func (s *Segment) IsLocated() bool { return s.Location != Location{} }

// LoadSpecEnd returns the stored end of the load spec, without building all of it: usually the name
// of the file, without the parts of the id.
func (s *Segment) LoadSpecEnd() string {
	if rest := s.Location.rest; rest != "" {
		return rest[strings.LastIndexAny(rest, marks)+1:]
	}
	return string(s.LoadSpec())
}

// LoadSpec returns the load spec of the segment, or nil.
func (s *Segment) LoadSpec() json.RawMessage {
	if !s.IsLocated() {
		return nil
	}
	head, rest := s.Location.head.Value(), s.Location.rest
	out := make([]byte, 0, len(head)+2*len(rest))
	out = append(out, head...)
	parts := s.ID.parts()
	for i := range len(rest) {
		if mark := strings.IndexByte(marks, rest[i]); mark >= 0 {
			out = append(out, parts[mark]...)
		} else {
			out = append(out, rest[i])
		}
	}
	return out
}
