package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
)

// Combining is the concatenation of several sources.
type Combining struct {
	Delegates []Source
}

// maxCombining bounds how deep combining sources nest.
const maxCombining = 8

func parseCombining(text json.RawMessage, depth int) (Source, error) {
	var w struct {
		Delegates []json.RawMessage `json:"delegates"`
	}
	if err := wire.Decode("inputSource", text, &w); err != nil {
		return nil, err
	}
	if len(w.Delegates) == 0 {
		return nil, wire.Invalid("inputSource", "a combining source needs 'delegates'")
	}
	if depth == maxCombining {
		return nil, wire.Invalid("inputSource", "combining sources nest deeper than %d", maxCombining)
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

// MarshalJSON returns the JSON form.
func (s *Combining) MarshalJSON() ([]byte, error) {
	return jsontext.Marshal(struct {
		Type      string   `json:"type"`
		Delegates []Source `json:"delegates"`
	}{"combining", s.Delegates})
}

func (*Combining) source() {}

// List returns the entities of all delegates. A delegate whose filter matches no file is skipped,
// unless it is the only one.
func (s *Combining) List(ctx context.Context, access *Access) ([]Entity, error) {
	var out []Entity
	var nothing error
	for _, d := range s.Delegates {
		entities, err := d.List(ctx, access)
		if errors.Is(err, errNoFile) {
			nothing = cmp.Or(nothing, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, entities...)
	}
	if len(out) == 0 && nothing != nil {
		return nil, nothing
	}
	return out, nil
}

// Reads returns what an input source reads, for permissions: the types of the source and of the
// sources it combines, and the datasources, both sorted.
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
