package ingest

import (
	"context"
	"encoding/json"
	"io"
	"strings"
)

// Inline is text within the statement.
type Inline struct {
	Data string
}

type inlineWire struct {
	Type string  `json:"type"`
	Data *string `json:"data"`
}

func parseInline(text json.RawMessage) (Source, error) {
	var w inlineWire
	if err := decodeWire("inputSource", text, &w); err != nil {
		return nil, err
	}
	if w.Data == nil || *w.Data == "" {
		return nil, invalidField("inputSource", "an inline source needs a non-empty 'data'")
	}
	return &Inline{Data: *w.Data}, nil
}

// Type returns "inline".
func (s *Inline) Type() string { return "inline" }

// MarshalJSON returns the wire form.
func (s *Inline) MarshalJSON() ([]byte, error) {
	return marshalPlain(inlineWire{Type: "inline", Data: &s.Data})
}

// List returns the text as one entity.
func (s *Inline) List(context.Context, *Access) ([]Entity, error) {
	return []Entity{inlineEntity{s.Data}}, nil
}

func (*Inline) source() {}

type inlineEntity struct{ data string }

func (e inlineEntity) Name() string                      { return "" }
func (e inlineEntity) Size() int64                       { return int64(len(e.data)) }
func (e inlineEntity) Seekable() bool                    { return true }
func (e inlineEntity) SystemField(string) (string, bool) { return "", false }

func (e inlineEntity) Open(_ context.Context, offset int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(e.data[min(offset, int64(len(e.data))):])), nil
}

func (e inlineEntity) openRandom(context.Context) (randomFile, error) {
	return stringFile{strings.NewReader(e.data)}, nil
}

// stringFile is a randomFile of text.
type stringFile struct{ *strings.Reader }

func (stringFile) Close() error { return nil }
