package ingest

import (
	"context"
	"encoding/json"
	"slices"
)

// Combining is the inputs of several sources, one after the other.
type Combining struct {
	Delegates []Source
}

// maxCombining bounds how deep combining sources nest.
const maxCombining = 8

func parseCombining(text json.RawMessage, depth int) (Source, error) {
	var w struct {
		Delegates []json.RawMessage `json:"delegates"`
	}
	if err := decodeWire("inputSource", text, &w); err != nil {
		return nil, err
	}
	if len(w.Delegates) == 0 {
		return nil, invalidField("inputSource", "a combining source needs 'delegates'")
	}
	if depth == maxCombining {
		return nil, invalidField("inputSource", "combining sources nest deeper than %d", maxCombining)
	}
	s := &Combining{}
	for _, d := range w.Delegates {
		delegate, err := parseSource(d, depth+1)
		if err != nil {
			return nil, err
		}
		s.Delegates = append(s.Delegates, delegate)
	}
	return s, nil
}

// Type returns "combining".
func (s *Combining) Type() string { return "combining" }

// MarshalJSON returns the wire form.
func (s *Combining) MarshalJSON() ([]byte, error) {
	return marshalPlain(struct {
		Type      string   `json:"type"`
		Delegates []Source `json:"delegates"`
	}{"combining", s.Delegates})
}

func (*Combining) source() {}

// List returns the entities of all delegates.
func (s *Combining) List(ctx context.Context, access *Access) ([]Entity, error) {
	var out []Entity
	for _, d := range s.Delegates {
		entities, err := d.List(ctx, access)
		if err != nil {
			return nil, err
		}
		out = append(out, entities...)
	}
	return out, nil
}

// Reads returns what an input source reads, for permissions: the types of it and of those that it
// combines, and the datasources, each sorted.
func Reads(text json.RawMessage) (types, dataSources []string, err error) {
	s, err := ParseSource(text)
	if err != nil {
		return nil, nil, err
	}
	types, dataSources = readBy(s, nil, nil)
	slices.Sort(types)
	slices.Sort(dataSources)
	return slices.Compact(types), slices.Compact(dataSources), nil
}

func readBy(s Source, types, dataSources []string) (_, _ []string) {
	switch x := s.(type) {
	case *Combining:
		for _, d := range x.Delegates {
			types, dataSources = readBy(d, types, dataSources)
		}
		return types, dataSources
	case *Datasource:
		dataSources = append(dataSources, x.Name)
	}
	return append(types, s.Type()), dataSources
}
