package task

import (
	"context"
	"fmt"
	"testing"
)

// Under a steady queue of loads, of which one comes each time that another has begun, a task of
// lower priority runs after a bounded number of them, and higher priority goes first until then.
func TestASteadyQueueDoesNotStarveLowerPriority(t *testing.T) {
	began, next := make(chan string), make(chan struct{})
	k := &scripted{run: func(ctx context.Context, task *Task) error {
		began <- task.ID
		select {
		case <-next:
		case <-ctx.Done():
		}
		return nil
	}}
	q := start(t, newMemStore(), k, Options{Capacity: 1})
	put := func(id string, second int64, priority int) {
		t.Helper()
		if err := q.Submit(t.Context(), &Task{ID: id, Type: "t", DataSource: "ds", Created: 1000 * second, Priority: priority}); err != nil {
			t.Fatal(err)
		}
	}
	put("first", 0, 50)
	if got := <-began; got != "first" {
		t.Fatal(got)
	}
	put("kill", 0, 0)
	put("compact", 0, 25)
	var order []string
	for second := range int64(60) { // two loads are always there, so that kill and compact have no gap
		put(fmt.Sprint("load ", second), second, 50)
		if second == 0 {
			continue
		}
		next <- struct{}{}
		order = append(order, <-began)
	}
	at := map[string]int{}
	for n, id := range order {
		at[id] = n
	}
	if n, ran := at["compact"]; !ran || n < 20 || n > 30 {
		t.Errorf("compact ran [%d]th (%v): %v", n, ran, order)
	}
	if n, ran := at["kill"]; !ran || n < 45 || n > 56 {
		t.Errorf("kill ran [%d]th (%v): %v", n, ran, order)
	}
	if at["load 1"] > at["load 2"] || at["load 0"] != 0 {
		t.Errorf("loads of one priority don't keep their order: %v", order)
	}
	close(next)
	go func() {
		for range began {
		}
	}()
	for n := range 60 {
		wait(t, q, fmt.Sprint("load ", n))
	}
	close(began)
}

func TestTurnsOfExtremePriorities(t *testing.T) {
	const most = int(^uint(0) >> 1)
	for _, p := range []int{-most - 1, -1, 0, 50, most} {
		if p < most && turn(&Task{Priority: p, Created: 1 << 41}) <= turn(&Task{Priority: most, Created: 1 << 41}) {
			t.Errorf("priority [%d] goes ahead of the highest", p)
		}
	}
}
