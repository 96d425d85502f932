package lookup

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
)

// broken is a source whose reading panics behind its first key.
type broken struct{}

func (broken) read(_ context.Context, _ *ingest.Access, _ string, add func(key, value string) error) (bool, string, error) {
	if err := add("k", "v"); err != nil {
		return false, "", err
	}
	panic("unforeseen")
}

func TestAPanicOfASourceIsAnError(t *testing.T) {
	e := &entry{factory: &factory{source: broken{}, timeout: fileTimeout}}
	table, _, err := NewSet(Options{}).read(t.Context(), e)
	if table != nil || fault.Find(err) == nil || !strings.Contains(err.Error(), "Reading met an unexpected condition") {
		t.Errorf("%v, %v", table, err)
	}
	if cause := errors.Unwrap(err); cause == nil || !strings.Contains(cause.Error(), "unforeseen") || !strings.Contains(cause.Error(), "guard_test.go") {
		t.Errorf("the log would have %v", cause)
	}
}
