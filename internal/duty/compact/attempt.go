package compact

import (
	"crypto/sha256"
	"time"

	"github.com/hengedb/henge/internal/chrono"
)

const (
	// firstRetry is how long after its first failure a group is tried again; each further failure
	// doubles it, up to lastRetry.
	firstRetry = time.Minute
	lastRetry  = time.Hour
	// arrival is how long after a task's success its segments may take to be seen.
	arrival = time.Minute
	// fruitlessLimit is how many tasks may succeed on a group without reaching the wanted state.
	fruitlessLimit = 2
)

// place names a group.
type place struct {
	dataSource string
	interval   chrono.Interval
}

// attempt is what became of the tasks for a group since the start of the process.
type attempt struct {
	// task is the last one submitted; "" if it was refused.
	task string
	// key is the settings, before the segments that the last task was submitted for; after those that
	// were there when it was given up.
	key           string
	before, after fingerprint
	ended         bool
	// failures in a row, and the last one's message.
	failures int
	message  string
	// next is, in milliseconds, when the next try may be after a failure, and until when the segments
	// of a success are awaited.
	next int64
	// fruitless are the successes that left the group in need.
	fruitless int
}

type fingerprint [sha256.Size]byte

// print is equal for groups of the same segments.
func (g *Group) print() fingerprint {
	h := sha256.New()
	for _, s := range g.Segments {
		h.Write([]byte(s.ID.String()))
		h.Write([]byte{0})
	}
	var out fingerprint
	h.Sum(out[:0])
	return out
}

// end notes how a task ended. now is in milliseconds.
func (a *attempt) end(succeeded bool, message string, now int64) {
	a.ended = true
	if succeeded {
		a.failures, a.message, a.next = 0, "", now+arrival.Milliseconds()
		a.fruitless++
		return
	}
	wait := lastRetry
	if a.failures < 6 {
		wait = min(firstRetry<<a.failures, lastRetry)
	}
	a.failures++
	a.message, a.next = message, now+wait.Milliseconds()
}

// hinders returns why a group that needs compaction gets no task now, by what became of the tasks
// before: pending means that the wait is short, else it is given up until something changes. ""
// means that it gets one.
func (a *attempt) hinders(g *Group, key string, now int64) (why string, pending bool) {
	if a == nil || a.key != key {
		return "", false
	}
	switch {
	case !a.ended:
		return "task [" + a.task + "] was submitted", true
	case a.failures > 0 && now < a.next:
		what := "no task could be submitted: "
		if a.task != "" {
			what = "task [" + a.task + "] failed: "
		}
		return what + a.message + "; it is tried again at " + chrono.FormatMillis(a.next, chrono.UTC), true
	case a.failures > 0:
		return "", false
	case g.print() == a.before && now < a.next:
		return "task [" + a.task + "] succeeded; its segments are on their way", true
	case g.print() == a.before:
		return "task [" + a.task + "] succeeded and left the segments as they are; left alone until segments or settings change", false
	case a.fruitless < fruitlessLimit:
		return "", false
	}
	if a.after == (fingerprint{}) {
		a.after = g.print()
	}
	if a.after == g.print() {
		return "task [" + a.task + "] succeeded and did not change that: " + g.reason + "; left alone until segments or settings change", false
	}
	return "", false
}
