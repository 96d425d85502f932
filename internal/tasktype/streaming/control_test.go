package streaming

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
)

// controlled is a control of a task that has read up to a position of partition 0.
func controlled(t *testing.T, checkpoints map[int]stream.Positions, at stream.Position) *control {
	t.Helper()
	c := newControl(clock.System(), "base", (&topic{}).Compare)
	c.keep = func(context.Context, []cut) error { return nil }
	c.begin(openSequences("base", checkpoints, nil))
	c.enter(chat.Reading)
	c.advance("0", at)
	return c
}

func one(p stream.Position) stream.Positions { return stream.Positions{"0": p} }

func TestEndsAreRefusedOrRepeatedAsTheProtocolSays(t *testing.T) {
	c := controlled(t, map[int]stream.Positions{0: one("0")}, "10")
	if err := c.SetEnds(t.Context(), one("20"), false); err == nil {
		t.Error("ends of a task that reads were taken")
	}
	c.pauseSelf()
	for _, ends := range []stream.Positions{one("9"), {}, {"0": "20", "1": "20"}} {
		if f := fault.Find(c.SetEnds(t.Context(), ends, false)); f == nil || f.Category != fault.CategoryInvalidInput {
			t.Errorf("ends %v: %v", ends, f)
		}
	}
	for range 2 { // the second is a repetition
		if err := c.SetEnds(t.Context(), one("20"), false); err != nil {
			t.Fatal(err)
		}
	}
	s := c.Status()
	if diff := cmp.Diff(map[int]stream.Positions{0: one("0"), 1: one("20")}, s.Checkpoints); diff != "" || s.Ends["0"] != stream.Unbounded {
		t.Errorf("%v, %s", s, diff)
	}
	c.pauseSelf()
	for range 2 {
		if err := c.SetEnds(t.Context(), one("30"), true); err != nil {
			t.Fatal(err)
		}
	}
	c.pauseSelf()
	if err := c.SetEnds(t.Context(), one("40"), true); err == nil {
		t.Error("a sequence got other ends")
	}
}

// A task that was lost reads its former sequences again: until it is behind them its last sequence
// ends where it begins at least.
func TestAPauseInAFormerSequenceIsAtTheStartOfTheNewest(t *testing.T) {
	c := controlled(t, map[int]stream.Positions{0: one("0"), 1: one("50")}, "10")
	c.pauseSelf()
	at, err := c.Pause(t.Context())
	if err != nil || at["0"] != "50" {
		t.Fatalf("%v, %v", at, err)
	}
	if err := c.SetEnds(t.Context(), one("10"), true); err == nil {
		t.Error("ends before the start were taken")
	}
	if err := c.SetEnds(t.Context(), at, true); err != nil {
		t.Fatal(err)
	}
	if ready, over := c.ready(); len(ready) > 0 || over {
		t.Error("it is over before it has read")
	}
	c.advance("0", "50")
	if ready, over := c.ready(); len(ready) != 2 || !over {
		t.Errorf("[%d] sequences are read, over is [%t]", len(ready), over)
	}
}

func TestAChangeThatIsNotKeptIsNone(t *testing.T) {
	c := controlled(t, map[int]stream.Positions{0: one("0")}, "10")
	failure := errors.New("away")
	c.keep = func(context.Context, []cut) error { return failure }
	c.pauseSelf()
	if err := c.SetEnds(t.Context(), one("20"), false); !errors.Is(err, failure) {
		t.Fatal(err)
	}
	if s := c.Status(); len(s.Checkpoints) != 1 || s.State != chat.Paused {
		t.Errorf("%+v", s)
	}
}

func TestOnlyATaskThatReadsIsPaused(t *testing.T) {
	c := controlled(t, map[int]stream.Positions{0: one("0")}, "10")
	c.enter(chat.Publishing)
	_, err := c.Pause(t.Context())
	const want = "Cannot pause task as it is currently in state[PUBLISHING]. Pausable states are [READING, PAUSED]."
	if f := fault.Find(err); f == nil || f.Message != want || f.Category != fault.CategoryConflict {
		t.Errorf("%v", err)
	}
	c.enter(chat.Reading)
	c.end()
	if _, err := c.Pause(t.Context()); err == nil {
		t.Error("a task that has ended was paused")
	}
}

func TestSequencesOfACrashAreThoseThatAreNotPublished(t *testing.T) {
	list := openSequences("base", map[int]stream.Positions{3: one("0"), 4: one("50"), 5: one("70")}, one("90"))
	for stored, want := range map[stream.Position]int{"0": 3, "49": 3, "50": 2, "69": 2, "70": 1, "90": 1} {
		if got := unpublished(list, one(stored), (&topic{}).Compare); len(got) != want {
			t.Errorf("stored [%s]: [%d] sequences, want [%d]", stored, len(got), want)
		}
	}
	if list[2].name != "base_5" || list[2].closed || list[2].ends["0"] != "90" || !list[0].closed || list[0].ends["0"] != "50" {
		t.Errorf("%+v %+v", *list[0], *list[2])
	}
}
