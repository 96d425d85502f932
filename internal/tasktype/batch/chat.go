package batch

import (
	"cmp"
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
)

// Chats are the native tasks that run in this process and serve requests about themselves
// (docs/ingestion.md). It is safe for use by many goroutines.
type Chats struct {
	mu      sync.Mutex
	running map[string]*report // by task id
}

// NewChats returns Chats without tasks.
func NewChats() *Chats { return &Chats{running: map[string]*report{}} }

func (c *Chats) add(id string, r *report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[id] = r
}

func (c *Chats) remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, id)
}

func (c *Chats) find(id string) *report {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[id]
}

// Ask answers a request to a task. path is the path after the id of the task. The result is a
// string, or a value to be written as JSON.
func (c *Chats) Ask(id, path string) (any, error) {
	r := c.find(id)
	if r == nil {
		return nil, fault.Unavailable("Can't find chatHandler for handler[%s]", id)
	}
	switch path {
	case "liveReports":
		return json.RawMessage(r.live()), nil
	case "rowStats":
		return r.whole().json(clock.Millis(r.clock)).Rows, nil
	case "unparseableEvents":
		return r.whole().json(0).Events, nil
	}
	if r.subtasks == nil {
		return nil, fault.NotFound("Task [%s] has no [%s]", id, path)
	}
	if path == "mode" {
		if r.subtasks.parallel() {
			return "parallel", nil
		}
		return "sequential", nil
	}
	if !r.subtasks.parallel() {
		return nil, fault.InvalidInput("task is running in the sequential mode")
	}
	return r.subtasks.ask(path)
}

// subtasks are the parts of a load. In Druid each is a task of its own; here the workers of the
// task read them, in this process and in others.
type subtasks struct {
	task, dataSource string
	context          json.RawMessage
	clock            clock.Clock
	location         location

	mu struct {
		sync.Mutex
		several  bool
		expected int
		list     []*subtask
		of       map[splitPlace]*subtask
	}
}

// location is host and port, as statuses of tasks have it.
type location struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	TLS  int    `json:"tlsPort"`
}

// splitPlace is what is read of a source: a file, from an offset.
type splitPlace struct {
	name   string
	file   int
	offset int64
}

// subtask is a split, and how often it was begun.
type subtask struct {
	id       string
	split    string
	attempts []attempt
}

type attempt struct {
	by           *reader
	at           location
	begun, ended int64 // milliseconds; 0: it runs
	failed       bool
}

// splitState is an attempt on its way between processes.
type splitState struct {
	Name         string
	File         int
	Offset       int64
	Begun, Ended int64
	Failed       bool
}

// newSubtasks starts without parts; address is host:port of the worker.
func newSubtasks(r *report, address string) *subtasks {
	s := &subtasks{task: r.task, dataSource: r.dataSource, context: r.context, clock: r.clock, location: locationOf(address)}
	s.mu.of = map[splitPlace]*subtask{}
	return s
}

func locationOf(address string) location {
	l := location{Port: -1, TLS: -1}
	if host, port, err := net.SplitHostPort(address); err == nil {
		if n, err := strconv.Atoi(port); err == nil {
			l.Host, l.Port = host, n
		}
	}
	return l
}

// expect says how many splits there will be at least, and whether several are read at once.
func (s *subtasks) expect(n int, several bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.expected, s.mu.several = n, several
}

func (s *subtasks) parallel() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.several
}

// subtaskLocked returns the subtask of what is read, which may be new.
func (s *subtasks) subtaskLocked(place splitPlace) *subtask {
	t := s.mu.of[place]
	if t == nil {
		t = &subtask{id: s.task + "_" + strconv.Itoa(len(s.mu.list)), split: place.name}
		s.mu.of[place], s.mu.list = t, append(s.mu.list, t)
	}
	return t
}

// drop makes all that a reader has read failed: it is read again.
func (s *subtasks) drop(by *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.mu.list {
		for i := range t.attempts {
			a := &t.attempts[i]
			if a.by != by {
				continue
			}
			if a.failed = true; a.ended == 0 {
				a.ended = clock.Millis(s.clock)
			}
		}
	}
}

// of returns what a reader reads, or has read.
func (s *subtasks) of(by *reader) []splitState {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []splitState
	for place, t := range s.mu.of {
		for _, a := range t.attempts {
			if a.by == by {
				out = append(out, splitState{place.name, place.file, place.offset, a.begun, a.ended, a.failed})
			}
		}
	}
	slices.SortFunc(out, func(a, b splitState) int { return cmp.Compare(a.Begun, b.Begun) })
	return out
}

// set makes what a reader has read that which was read in the process at address.
func (s *subtasks) set(by *reader, address string, splits []splitState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range splits {
		t := s.subtaskLocked(splitPlace{n.Name, n.File, n.Offset})
		now := attempt{by, locationOf(address), n.Begun, n.Ended, n.Failed}
		same := func(a attempt) bool { return a.at == now.at && a.begun == now.begun } // also of a reader before, whose work was found
		if i := slices.IndexFunc(t.attempts, same); i >= 0 {
			t.attempts[i] = now
		} else {
			t.attempts = append(t.attempts, now)
		}
	}
}

// begin notes that a split is read. The function that it returns notes the end; only its first call
// counts.
func (s *subtasks) begin(split ingest.Split, by *reader) func(failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.subtaskLocked(splitPlace{split.Entity.Name(), split.File, split.Offset})
	n := len(t.attempts)
	t.attempts = append(t.attempts, attempt{by: by, at: s.location, begun: clock.Millis(s.clock)})
	return func(failed bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if a := &t.attempts[n]; a.ended == 0 {
			a.ended, a.failed = clock.Millis(s.clock), failed
		}
	}
}

// progress is the answer to the question of that name.
type progress struct {
	Running   int `json:"running"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Complete  int `json:"complete"`
	Total     int `json:"total"`
	Expected  int `json:"estimatedExpectedSucceeded"`
}

func (t *subtask) last() attempt { return t.attempts[len(t.attempts)-1] }

// ask answers what is about the parts.
func (s *subtasks) ask(path string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch path {
	case "phase":
		return "segment generation", nil
	case "progress":
		p := progress{Expected: max(s.mu.expected, len(s.mu.list))}
		for _, t := range s.mu.list {
			switch a := t.last(); {
			case a.ended == 0:
				p.Running++
			case a.failed:
				p.Failed++
			default:
				p.Succeeded++
			}
		}
		p.Complete, p.Total = p.Succeeded+p.Failed, len(s.mu.list)
		return p, nil
	case "subtasks/running":
		return s.chosen(true, func(t *subtask) any { return t.id }), nil
	case "subtaskspecs/running":
		return s.chosen(true, s.spec), nil
	case "subtaskspecs/complete":
		return s.chosen(false, s.spec), nil
	case "subtaskspecs":
		return append(s.chosen(true, s.spec), s.chosen(false, s.spec)...), nil
	}
	id, what, _ := strings.Cut(strings.TrimPrefix(path, "subtaskspec/"), "/")
	for _, t := range s.mu.list {
		if t.id != id || !strings.HasPrefix(path, "subtaskspec/") {
			continue
		}
		var history []any
		for i := range t.attempts {
			history = append(history, s.status(t, i))
		}
		switch what {
		case "":
			return s.spec(t), nil
		case "state":
			out := map[string]any{"spec": s.spec(t), "currentStatus": nil, "taskHistory": history}
			if t.last().ended == 0 {
				out["currentStatus"], out["taskHistory"] = history[len(history)-1], append([]any{}, history[:len(history)-1]...)
			}
			return out, nil
		case "history":
			return map[string]any{"spec": s.spec(t), "attemptHistory": history}, nil
		}
	}
	return nil, fault.NotFound("Task [%s] has no [%s]", s.task, path)
}

func (s *subtasks) chosen(running bool, f func(*subtask) any) []any {
	out := []any{}
	for _, t := range s.mu.list {
		if (t.last().ended == 0) == running {
			out = append(out, f(t))
		}
	}
	return out
}

func (s *subtasks) spec(t *subtask) any {
	return map[string]any{"id": t.id, "groupId": s.task, "supervisorTaskId": s.task, "context": s.context, "inputSplit": map[string]string{"split": t.split}}
}

// status is an attempt, as the status of a task.
func (s *subtasks) status(t *subtask, n int) any {
	a, code, runner, duration := t.attempts[n], "RUNNING", "RUNNING", int64(-1)
	if a.ended != 0 {
		code, runner, duration = "SUCCESS", "NONE", a.ended-a.begun
		if a.failed {
			code = "FAILED"
		}
	}
	begun := chrono.FormatMillis(a.begun, chrono.UTC)
	return map[string]any{"id": t.id + "_" + strconv.Itoa(n), "groupId": s.task, "type": "single_phase_sub_task", "createdTime": begun, "queueInsertionTime": begun, "statusCode": code,
		"status": code, "runnerStatusCode": runner, "duration": duration, "location": a.at, "dataSource": s.dataSource, "errorMsg": nil}
}
