package streams

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPrioritiesOfReplicas: each group has as many tasks of each priority as the specification
// says. One that fails is replaced by one of its priority; other priorities are other tasks.
func TestPrioritiesOfReplicas(t *testing.T) {
	inBubble(t, 2, func(f *fixture) {
		priorities := func() string {
			var out []string
			for _, r := range f.report().Active {
				if made := f.queue.find(r.ID); made.spec.IO.ServerPriority != nil {
					out = append(out, fmt.Sprint(made.spec.IO.Group, ":", *made.spec.IO.ServerPriority))
				} else {
					out = append(out, fmt.Sprint(made.spec.IO.Group, ":none"))
				}
			}
			slices.Sort(out)
			return strings.Join(out, " ")
		}
		f.put(f.spec(`"taskCount":2,"serverPriorityToReplicas":{"1":2,"-5":1}`, "", ""))
		f.after(2 * time.Second)
		const want = "0:-5 0:1 0:1 1:-5 1:1 1:1"
		if got := priorities(); got != want {
			t.Fatalf("tasks %s, want %s", got, want)
		}
		for _, r := range f.report().Active {
			if made := f.queue.find(r.ID); made.spec.IO.Group == 0 && *made.spec.IO.ServerPriority == -5 {
				f.queue.end(r.ID, false)
				break
			}
		}
		f.after(5 * time.Second)
		if got := priorities(); got != want {
			t.Errorf("after one has failed: %s, want %s", got, want)
		}
		f.resign()
		f.lead()
		f.after(5 * time.Second)
		if got := priorities(); got != want {
			t.Errorf("another leader has %s, want %s", got, want)
		}
		f.put(f.spec(`"taskCount":2,"serverPriorityToReplicas":{"7":1}`, "", ""))
		f.after(5 * time.Second)
		if got := priorities(); got != "0:7 1:7" {
			t.Errorf("with other priorities: %s", got)
		}
	})
}
