package faulty

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/deepstore"
)

// trace is what a fixed run of calls meets.
func trace(t *testing.T, seed uint64) []string {
	t.Helper()
	local, err := deepstore.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	s := New(local, seed, Plan{Before: 0.2, After: 0.2, Short: 0.2, Flip: 0.2})
	ctx := context.Background()
	var out []string
	for key := range strings.SplitSeq("a b c d e f g h i j k l", " ") {
		state := "put"
		if err := s.Put(ctx, key, strings.NewReader("some text")); err != nil {
			if state = "failed"; !errors.Is(err, ErrInjected) {
				t.Fatal(err)
			}
		}
		o, err := local.Open(ctx, key)
		if err == nil {
			state += ", there"
			o.Close()
		}
		if o, err := s.Open(ctx, key); err == nil {
			b := make([]byte, 9)
			n, err := o.ReadAt(b, 0)
			switch {
			case errors.Is(err, io.ErrUnexpectedEOF):
				state += ", short"
			case err != nil:
				state += ", unread"
			case string(b[:n]) != "some text":
				state += ", flipped"
			}
			o.Close()
		}
		out = append(out, state)
	}
	return out
}

func TestFailuresFollowTheSeed(t *testing.T) {
	first := trace(t, 1)
	if diff := cmp.Diff(first, trace(t, 1)); diff != "" {
		t.Fatalf("the same seed fails differently: %s", diff)
	}
	all := ""
	for seed := range uint64(8) {
		all += strings.Join(trace(t, seed), ";") + ";"
	}
	for _, state := range []string{"put, there", "failed;", "failed, there", "short", "unread", "flipped"} {
		if !strings.Contains(all, state) {
			t.Errorf("no call ended as %q: %s", state, all)
		}
	}
}

func TestFailNextFailsOnce(t *testing.T) {
	local, err := deepstore.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	s := New(local, 1, Plan{})
	mine := errors.New("mine")
	s.FailNext(List, mine)
	for i, want := range []error{mine, nil} {
		if _, err := s.List(context.Background(), "", "", 1); !errors.Is(err, want) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if s.Calls(List) != 2 {
		t.Errorf("%d calls", s.Calls(List))
	}
}
