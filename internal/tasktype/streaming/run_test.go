package streaming

import (
	"testing"

	"github.com/hengedb/henge/internal/stream"
)

func TestATaskReadsPublishesAndHandsOff(t *testing.T) {
	w := newWorld(t, 2)
	w.topic.produce(0, 1000, hours(3))
	g := w.newGroup()
	task, done := w.start(g)
	w.caughtUp(task.ID)
	w.once("before publishing", w.visible(), 1000)
	ends, err := w.rollOver(g, true, task.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.once("published", w.publishedIDs(), 1000)
	if open := w.set.Announced(); len(open) > 0 {
		t.Errorf("[%d] segments are still served", len(open))
	}
	if ends["0"] != "1000" {
		t.Errorf("it ended at %v", ends)
	}
}

func TestAStreamThatIsAwayIsWaitedFor(t *testing.T) {
	w := newWorld(t, 1)
	w.topic.setDown(&stream.ConnectionError{Class: "c.Timeout", Message: "no broker"})
	g := w.newGroup()
	task, done := w.start(g)
	w.wait("the task says why it waits", func() bool {
		r := w.running.find(task.ID)
		if r == nil {
			return false
		}
		p := r.ctl.Status().Problem
		return p != nil && p.Stream && p.Class == "c.Timeout" && p.Message == "no broker"
	})
	w.topic.setDown(nil)
	w.topic.produce(0, 10, hours(1))
	w.caughtUp(task.ID)
	if p := w.running.find(task.ID).ctl.Status().Problem; p != nil {
		t.Errorf("it reads and says %v", p)
	}
	if _, err := w.rollOver(g, true, task.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.once("published", w.publishedIDs(), 10)
}
