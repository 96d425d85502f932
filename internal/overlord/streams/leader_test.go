package streams

import (
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/task"
)

// TestALeaderThatResignsEndsNoTask: neither while a task has not answered yet, nor by leaving one
// paused.
func TestALeaderThatResignsEndsNoTask(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		f.put(f.spec(`"taskDuration":"PT10M"`, "", ""))
		f.after(2 * time.Second)
		one := f.only()
		one.set(func(t *fakeTask) { t.slow = true })
		f.after(10*time.Minute + time.Second)
		f.resign()
		if one.state != task.Running {
			t.Fatalf("the task is %v: %s", one.state, f.queue.reason[one.task.ID])
		}
		one.set(func(t *fakeTask) { t.slow, t.chat, t.started = false, chat.Paused, t.started+8*60_000 })
		f.lead()
		f.after(3 * time.Second)
		if f.only() != one || one.chat != chat.Reading {
			t.Errorf("the paused task is %s", one.chat)
		}
		one.set(func(t *fakeTask) { t.slow = true }) // one that does not answer a leader is ended
		f.after(10 * time.Minute)
		if one.state != task.Failed || !strings.Contains(f.queue.reason[one.task.ID], "it did not say how far it has read") {
			t.Errorf("the task is %v: %s", one.state, f.queue.reason[one.task.ID])
		}
	})
}
