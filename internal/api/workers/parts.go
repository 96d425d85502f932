package workers

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/worker"
)

// PartsOptions are what Parts works with.
type PartsOptions struct {
	// Follow returns what does parts of a job, and what frees it.
	Follow func(ctx context.Context, job msq.PartJob, read msq.ReadFrame) (*msq.Follower, func(), error)
	// Read reads frames of other processes.
	Read msq.ReadFrame
	// Open reports whether this process takes parts.
	Open  func() bool
	Clock clock.Clock
}

// Parts does parts of tasks that run on other workers, and lends those what tasks of this one have
// written.
type Parts struct {
	o PartsOptions

	mu struct {
		sync.Mutex
		sessions map[string]*session
	}
}

// session is what a run of a task has here.
type session struct {
	frame    func(id string, number int) ([]byte, error)
	follower *msq.Follower // nil: the task runs in this process
	ended    chan struct{} // closed when no more parts begin
	parts    sync.WaitGroup

	mu struct {
		sync.Mutex
		run     int64 // the newest that holds it
		holders int
		over    bool
		changed chan struct{} // closed when one of the others is another
	}
}

func newSession(frame func(id string, number int) ([]byte, error), f *msq.Follower, run int64) *session {
	s := &session{frame: frame, follower: f, ended: make(chan struct{})}
	s.mu.run, s.mu.changed = run, make(chan struct{})
	return s
}

// hold counts a request that holds the session; false: it is over, or held by a later run of the
// task.
func (s *session) hold(run int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.over || run < s.mu.run {
		return false
	}
	s.mu.run = run
	s.mu.holders++
	s.changeLocked()
	return true
}

func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.holders--
	s.changeLocked()
}

// end ends the session if no later run than that who asks has it.
func (s *session) end(run int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run >= s.mu.run {
		s.mu.over = true
		s.changeLocked()
	}
}

func (s *session) changeLocked() {
	close(s.mu.changed)
	s.mu.changed = make(chan struct{})
}

func (s *session) state() (holders int, over bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.holders, s.mu.over, s.mu.changed
}

// NewParts returns the parts of a process.
func NewParts(o PartsOptions) *Parts {
	p := &Parts{o: o}
	p.mu.sessions = map[string]*session{}
	return p
}

// Serve serves what a task of this process has written, until the result is called.
func (p *Parts) Serve(name string, frame func(id string, number int) ([]byte, error)) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.sessions[name] = newSession(frame, nil, 0)
	return func() { p.forget(name) }
}

func (p *Parts) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.sessions, name)
}

func (p *Parts) find(r *http.Request) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.mu.sessions[r.PathValue("session")]; s != nil {
		return s, nil
	}
	return nil, fault.NotFound("Session [%s] is not known here", r.PathValue("session"))
}

// Routes adds what other workers ask.
func (p *Parts) Routes(mux *edge.Mux) {
	mux.On("POST "+worker.PartsPath+"/{session}", p.begin)
	mux.On("DELETE "+worker.PartsPath+"/{session}", p.end)
	mux.On("POST "+worker.PartsPath+"/{session}/run", p.run)
	mux.On("GET "+worker.PartsPath+"/{session}/outputs/{id}/{frame}", p.output)
}

// begin begins a session, or takes one up that another run of the task has begun. Who has begun it
// waits until it is over, and frees what it has.
func (p *Parts) begin(w http.ResponseWriter, r *http.Request) error {
	var job msq.PartJob
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, worker.MaxPart)).Decode(&job); err != nil || job.Options == nil {
		return fault.Malformed("The body is not a job").WithCause(err)
	}
	if !p.o.Open() {
		return fault.Unavailable("This worker takes no parts of tasks")
	}
	name := r.PathValue("session")
	if len(job.Kept) > 0 {
		s, err := p.find(r)
		if err != nil {
			return err
		}
		if s.follower == nil || s.follower.Job() != job.ID || !s.hold(job.Run) {
			return fault.Conflict("Session [%s] is not one that run [%d] of task [%s] can take up", name, job.Run, job.ID)
		}
		defer s.release()
		p.beat(r.Context(), w, s)
		return nil
	}
	follower, done, err := p.o.Follow(r.Context(), job, p.o.Read)
	if err != nil {
		return err
	}
	s := newSession(follower.Frame, follower, job.Run)
	if !p.add(name, s) {
		defer done()
		return errors.Join(fault.Conflict("Session [%s] already exists", name), follower.Close())
	}
	defer done()
	defer func() {
		p.forget(name)
		close(s.ended)
		s.end(math.MaxInt64)
		s.parts.Wait()
		_ = follower.Close() // what can't be removed is removed with the folder at the next start
	}()
	s.hold(job.Run)
	p.beat(r.Context(), w, s)
	s.release()
	p.linger(s)
	return nil
}

// beat tells the asker that the session is there, until one of the three goes: the asker, the
// session, or this process.
func (p *Parts) beat(ctx context.Context, w http.ResponseWriter, s *session) {
	beat := p.o.Clock.NewTicker(worker.BeatEvery)
	defer beat.Stop()
	for p.o.Open() {
		_, over, changed := s.state()
		if over {
			return
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return // the asker has gone
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return // likewise
		}
		select {
		case <-beat.C():
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// linger waits until a session is over: nobody has held it for long, or who did says so, or this
// process ends.
func (p *Parts) linger(s *session) {
	look := p.o.Clock.NewTicker(worker.BeatEvery)
	defer look.Stop()
	free := p.o.Clock.Now()
	for p.o.Open() {
		holders, over, changed := s.state()
		if holders > 0 {
			free = p.o.Clock.Now()
		}
		if over || p.o.Clock.Now().Sub(free) > worker.SessionLinger {
			return
		}
		select {
		case <-look.C():
		case <-changed:
		}
	}
}

// end ends a session that the asker's task needs no more.
func (p *Parts) end(w http.ResponseWriter, r *http.Request) error {
	s, err := p.find(r)
	if err != nil {
		return err
	}
	run, err := number(r, "run")
	if err != nil {
		return err
	}
	s.end(run)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (p *Parts) add(name string, s *session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.sessions[name] != nil {
		return false
	}
	p.mu.sessions[name] = s
	return true
}

// run does a part and answers with lines: how far it is, and at last what came of it.
func (p *Parts) run(w http.ResponseWriter, r *http.Request) error {
	s, err := p.find(r)
	if err != nil {
		return err
	}
	if s.follower == nil {
		return fault.InvalidInput("Session [%s] takes no parts", r.PathValue("session"))
	}
	var part msq.Part
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, worker.MaxPart)).Decode(&part); err != nil {
		return fault.Malformed("The body is not a part of a task").WithCause(err)
	}
	s.parts.Add(1)
	defer s.parts.Done()
	ctx, cancel := context.WithCancel(r.Context())
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		select {
		case <-s.ended:
			cancel()
		case <-ctx.Done():
		}
	})
	out := json.NewEncoder(w)
	var writing sync.Mutex
	send := func(line worker.PartLine) {
		writing.Lock()
		defer writing.Unlock()
		if out.Encode(line) == nil {
			_ = http.NewResponseController(w).Flush() // the asker may be gone
		}
	}
	result, err := s.follower.Do(ctx, &part, func(progress *msq.PartProgress) { send(worker.PartLine{Progress: progress}) })
	if ctx.Err() != nil {
		panic(http.ErrAbortHandler) // nobody listens, or this process ends
	}
	if err != nil {
		text, encodeErr := msq.EncodeFault(ctx, err)
		if encodeErr != nil {
			return errors.Join(err, encodeErr)
		}
		send(worker.PartLine{Fault: text})
		return nil
	}
	send(worker.PartLine{Result: result})
	return nil
}

// output answers with a frame.
func (p *Parts) output(w http.ResponseWriter, r *http.Request) error {
	s, err := p.find(r)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(r.PathValue("frame"))
	if err != nil {
		return fault.InvalidInput("Frame [%s] is not a number", r.PathValue("frame"))
	}
	frame, err := s.frame(r.PathValue("id"), number)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(frame)))
	_, _ = w.Write(frame) // the asker may be gone
	return nil
}
