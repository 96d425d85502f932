//go:build invariants

package syntax

import (
	"testing"

	"github.com/hengedb/henge/internal/invariant"
)

func TestTokensAreReleased(t *testing.T) {
	l := borrow("SELECT 1")
	l.cut(0, 1)
	tokens := l.tokens
	l.release()
	if tokens[0].start != invariant.Poisoned[uint32]() {
		t.Errorf("a released token begins at %d", tokens[0].start)
	}
}
