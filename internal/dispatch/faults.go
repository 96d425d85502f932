package dispatch

import (
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/segment"
)

// sentFault is a failure in a stream.
type sentFault struct {
	Persona  fault.Persona     `json:"persona"`
	Category fault.Category    `json:"category"`
	Code     string            `json:"code"`
	Legacy   fault.Legacy      `json:"legacy,omitempty"`
	Class    string            `json:"class,omitempty"`
	Message  string            `json:"message"`
	Context  map[string]string `json:"context,omitempty"`
	// Again says that another server may do better.
	Again bool `json:"again,omitempty"`
	// Gone is the live segment that is not there any more, if that is the failure.
	Gone *live.Gone `json:"gone,omitempty"`
}

// encodeFault returns a failure as it is sent.
func encodeFault(err error) ([]byte, error) {
	f := fault.Find(err)
	if f == nil {
		f = fault.Runtime("A server with segments of the query has failed; see its log")
	}
	gone, _ := errors.AsType[*live.Gone](err)
	return json.Marshal(sentFault{
		Gone:    gone,
		Persona: f.Persona, Category: f.Category, Code: f.Code, Legacy: f.Legacy, Class: f.Class, Message: f.Message, Context: f.Context,
		Again: elsewhere(err, f),
	})
}

// elsewhere reports whether a failure lies in the server, or its copy of a segment, and not in the
// query.
func elsewhere(err error, f *fault.Error) bool {
	var b *broken
	return errors.As(err, &b) || errors.Is(err, segment.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) || f.Category == fault.CategoryServiceUnavailable ||
		f.Category == fault.CategoryRuntimeFailure && fault.Find(err) == nil
}

// broken marks failures of a server: another may do what it did not.
type broken struct{ cause error }

// Elsewhere marks a failure as a failure of this server: another server may succeed.
func Elsewhere(err error) error { return &broken{err} }

func (b *broken) Error() string { return b.cause.Error() }
func (b *broken) Unwrap() error { return b.cause }

// decodeFault returns the failure that was sent.
func decodeFault(text []byte) error {
	var s sentFault
	if err := json.Unmarshal(text, &s); err != nil || s.Category == "" {
		return &broken{corrupt("a fault can't be read")}
	}
	f := &fault.Error{
		Persona: s.Persona, Category: s.Category, Code: s.Code, Legacy: s.Legacy, Class: s.Class, Message: s.Message, Context: s.Context,
	}
	switch {
	case s.Gone != nil:
		return &broken{f.WithCause(s.Gone)}
	case s.Again:
		return &broken{f}
	}
	return f
}
