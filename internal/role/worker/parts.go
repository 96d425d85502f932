package worker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/msq"
)

// partsPath is where a worker does parts of tasks that run on other workers. A session, which its name comes behind, is the part that this process has in
// one run of one task; it lasts as long as the request that began it, which answers with a beat now and then.
const partsPath = "/service-internal/v1/parts"

const (
	// beatEvery is how often a session says that it is alive, beatLost how long the other side waits for that.
	beatEvery = 500 * time.Millisecond
	beatLost  = 5 * time.Second
	// maxPart bounds the body of a part: the splits and frames of one worker, some hundred bytes each.
	maxPart = 256 << 20
)

// PartsOptions are what Parts works with.
type PartsOptions struct {
	// Follow returns what does parts of a job, and what frees it.
	Follow func(job msq.PartJob, read msq.ReadFrame) (*msq.Follower, func(), error)
	// Read reads frames of other processes.
	Read msq.ReadFrame
	// Open reports whether this process takes parts.
	Open  func() bool
	Clock clock.Clock
}

// Parts does parts of tasks that run on other workers, and lends those what tasks of this one have written.
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
}

// NewParts returns the parts of a process.
func NewParts(o PartsOptions) *Parts {
	p := &Parts{o: o}
	p.mu.sessions = map[string]*session{}
	return p
}

// lend serves what a task of this process has written, until the result is called.
func (p *Parts) lend(name string, frame func(id string, number int) ([]byte, error)) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.sessions[name] = &session{frame: frame, ended: make(chan struct{})}
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
	mux.On("POST "+partsPath+"/{session}", p.begin)
	mux.On("POST "+partsPath+"/{session}/run", p.run)
	mux.On("GET "+partsPath+"/{session}/outputs/{id}/{frame}", p.output)
}

// begin begins a session and ends it when the asker goes, or this process does.
func (p *Parts) begin(w http.ResponseWriter, r *http.Request) error {
	var job msq.PartJob
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(&job); err != nil || job.Options == nil {
		return fault.Malformed("The body is no job").WithCause(err)
	}
	if !p.o.Open() {
		return fault.Unavailable("This worker takes no parts of tasks")
	}
	follower, done, err := p.o.Follow(job, p.o.Read)
	if err != nil {
		return err
	}
	s := &session{frame: follower.Frame, follower: follower, ended: make(chan struct{})}
	name := r.PathValue("session")
	if !p.add(name, s) {
		defer done()
		return errors.Join(fault.Conflict("Session [%s] is there already", name), follower.Close())
	}
	defer done()
	defer func() {
		p.forget(name)
		close(s.ended)
		s.parts.Wait()
		_ = follower.Close() // what can't be removed is removed with the folder at the next start
	}()
	beat := p.o.Clock.NewTicker(beatEvery)
	defer beat.Stop()
	for p.o.Open() {
		if _, err := io.WriteString(w, "\n"); err != nil {
			return nil // the asker has gone
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return nil // likewise
		}
		select {
		case <-beat.C():
		case <-r.Context().Done():
			return nil
		}
	}
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

// partLine is a line of the answer to a part: one of the three.
type partLine struct {
	Progress *msq.PartProgress `json:"progress,omitempty"`
	Result   *msq.PartResult   `json:"result,omitempty"`
	Fault    json.RawMessage   `json:"fault,omitempty"`
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
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPart)).Decode(&part); err != nil {
		return fault.Malformed("The body is no part of a task").WithCause(err)
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
	send := func(line partLine) {
		if out.Encode(line) == nil {
			_ = http.NewResponseController(w).Flush() // the asker may be gone
		}
	}
	result, err := s.follower.Do(ctx, &part, func(progress *msq.PartProgress) { send(partLine{Progress: progress}) })
	if ctx.Err() != nil {
		panic(http.ErrAbortHandler) // nobody listens, or this process ends
	}
	if err != nil {
		text, encodeErr := msq.EncodeFault(ctx, err)
		if encodeErr != nil {
			return errors.Join(err, encodeErr)
		}
		send(partLine{Fault: text})
		return nil
	}
	send(partLine{Result: result})
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
		return fault.InvalidInput("Frame [%s] is no number", r.PathValue("frame"))
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
