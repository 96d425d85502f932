package worker

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/obs"
)

// FrameServer serves the outputs of tasks of this process to other workers.
type FrameServer interface {
	// Serve serves frames under the name of a session until the returned function is called.
	Serve(name string, frame func(id string, number int) ([]byte, error)) func()
}

// PeersOptions are the options of Peers.
type PeersOptions struct {
	View *cluster.View
	// Own is this process as a worker. Only workers of the same release are peers, because other
	// releases may interpret plans differently.
	Own    cluster.Member
	Parts  FrameServer
	Client *http.Client
	Clock  clock.Clock
	Log    *slog.Logger
}

// Peers finds the workers that run parts of the tasks of this process.
type Peers struct{ o PeersOptions }

// NewPeers returns the peers of a process.
func NewPeers(o PeersOptions) *Peers { return &Peers{o} }

// Join starts a session of a job with other workers; see msq.Deps.
func (h *Peers) Join(ctx context.Context, job msq.PartJob, frame func(id string, number int) ([]byte, error)) msq.Session {
	own := h.o.Own
	name := rand.Text()
	out := &peerSession{o: h.o, self: own.URL() + PartsPath + "/" + name}
	sessions, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until Close
	out.cancel, out.run = cancel, job.Run
	out.withdraw = h.o.Parts.Serve(name, frame)
	body, err := json.Marshal(job)
	if err != nil {
		h.o.Log.WarnContext(ctx, "task runs without other workers", "task", job.ID, "error", err)
		return out
	}
	h.o.resume(ctx, sessions, out, job)
	members := h.o.View.Members(cluster.Indexer)
	mathrand.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	var asked sync.WaitGroup
	wanted := job.Options.MaxNumTasks - 2 // the controller, and the worker of this process
	if job.MaxPeers > 0 {
		wanted = min(wanted, job.MaxPeers)
	}
	wanted = max(0, wanted-len(out.Peers()))
	for _, m := range members {
		if m.Holder == own.Holder || m.Version != own.Version || m.Protocol != own.Protocol || wanted == 0 || out.has(m) {
			continue
		}
		wanted--
		asked.Go(func() { out.ask(ctx, sessions, m, name, body) })
	}
	asked.Wait()
	return out
}

// resume takes up the sessions in which earlier runs of the task have left something, as far as
// they are there. More than the statement has workers may be there then.
func (o *PeersOptions) resume(ctx, sessions context.Context, out *peerSession, job msq.PartJob) {
	members := o.View.Members(cluster.Indexer)
	var asked sync.WaitGroup
	for _, at := range job.Kept {
		i := slices.IndexFunc(members, func(m cluster.Member) bool {
			return strings.HasPrefix(at, m.URL()+PartsPath+"/") && m.Version == o.Own.Version && m.Protocol == o.Own.Protocol
		})
		if i < 0 {
			continue
		}
		job.Kept = []string{at}
		body, err := json.Marshal(job)
		if err != nil {
			continue // Join tells
		}
		asked.Go(func() {
			out.ask(ctx, sessions, members[i], strings.TrimPrefix(at, members[i].URL()+PartsPath+"/"), body)
		})
	}
	asked.Wait()
}

// has reports whether a worker is a peer of the session.
func (h *peerSession) has(m cluster.Member) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.peers, func(o *peer) bool { return o.name == m.Address() })
}

// peerSession is a job's session with its peers. It implements msq.Session.
type peerSession struct {
	o        PeersOptions
	self     string
	run      int64
	withdraw func() // stops serving the outputs
	cancel   context.CancelFunc
	open     sync.WaitGroup

	mu    sync.Mutex
	peers []*peer
}

// peer is another worker with a session for a job.
type peer struct {
	o    PeersOptions
	name string
	url  string          // of the session
	lost <-chan struct{} // closed when the session is over
	own  bool            // it is this process, which once helped with the task: it only has what was written then
}

// ask begins a session on a worker, which lasts until sessions is done. One that does not answer at
// once, or refuses, is no peer.
func (h *peerSession) ask(ctx, sessions context.Context, m cluster.Member, name string, body []byte) {
	own, cancel := context.WithCancel(sessions)
	url := m.URL() + PartsPath + "/" + name
	begun := make(chan error, 1)
	h.open.Go(func() {
		defer cancel()
		h.hold(own, url, body, begun)
	})
	patience := h.o.Clock.NewTimer(beatLost)
	defer patience.Stop()
	err := error(fault.Timeout("It does not answer"))
	select {
	case err = <-begun:
	case <-patience.C():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		h.o.Log.InfoContext(ctx, "worker does not take part in a task", "worker", m.Address(), "error", err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.peers = append(h.peers, &peer{o: h.o, name: m.Address(), url: url, lost: own.Done(), own: m.Holder == h.o.Own.Holder})
}

// hold keeps a session open until ctx is done or it breaks.
func (h *peerSession) hold(ctx context.Context, url string, body []byte, begun chan<- error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := post(ctx, h.o.Client, url, body)
	if err != nil {
		begun <- err
		return
	}
	defer resp.Body.Close() // it is only read
	beats := make(chan struct{}, 1)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() { h.watch(ctx, cancel, beats) })
	lines := bufio.NewReader(resp.Body)
	for first := true; ; first = false {
		if _, err := lines.ReadByte(); err != nil {
			if first {
				begun <- err
			}
			return
		}
		if first {
			begun <- nil
		}
		select {
		case beats <- struct{}{}:
		default:
		}
	}
}

// watch ends a session that says nothing for too long.
func (h *peerSession) watch(ctx context.Context, lose func(), beats <-chan struct{}) {
	look := h.o.Clock.NewTicker(beatLost)
	defer look.Stop()
	for alive := true; ; {
		select {
		case <-beats:
			alive = true
		case <-look.C():
			if !alive {
				lose()
				return
			}
			alive = false
		case <-ctx.Done():
			return
		}
	}
}

// post sends a request; a status of failure is a fault.
func post(ctx context.Context, client *http.Client, url string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 512)) // only makes the message better
		_ = resp.Body.Close()                                 // it was only read
		return nil, fmt.Errorf("status [%d]: %s", resp.StatusCode, text)
	}
	return resp, nil
}

// Self implements msq.Session.
func (h *peerSession) Self() string { return h.self }

// Peers implements msq.Session.
func (h *peerSession) Peers() []msq.Peer {
	var out []msq.Peer
	for _, one := range h.alive() {
		if !one.own {
			out = append(out, one)
		}
	}
	return out
}

// alive returns the sessions that are not lost.
func (h *peerSession) alive() []*peer {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.peers), func(one *peer) bool {
		select {
		case <-one.lost:
			return true
		default:
			return false
		}
	})
}

// Read implements msq.Session.
func (h *peerSession) Read(ctx context.Context, at, id string, number int, buf []byte) ([]byte, error) {
	return readFrame(ctx, h.o.Client, at, id, number, buf)
}

// Has implements msq.Session.
func (h *peerSession) Has(at string) bool {
	return slices.ContainsFunc(h.alive(), func(o *peer) bool { return o.url == at })
}

// endPatience is how long a worker may take to hear that its session has ended. One that
// does not hear it finds out by itself.
const endPatience = time.Second

// Close implements msq.Session.
func (h *peerSession) Close(keep bool) {
	if !keep {
		var told sync.WaitGroup
		for _, o := range h.alive() {
			told.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), endPatience)
				defer cancel()
				_ = cluster.Call(ctx, h.o.Client, http.MethodDelete, fmt.Sprintf("%s?run=%d", o.url, h.run), nil, nil) // see endPatience
			})
		}
		told.Wait()
	}
	h.cancel()
	h.open.Wait()
	h.withdraw()
}

// Name implements msq.Peer.
func (h *peer) Name() string { return h.name }

// Do implements msq.Peer.
func (h *peer) Do(ctx context.Context, p *msq.Part, progress func(*msq.PartProgress)) (r *msq.PartResult, lost bool, err error) {
	body, err := json.Marshal(p)
	if err != nil {
		return nil, false, fmt.Errorf("encoding a part of stage [%d]: %w", p.Stage, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		select {
		case <-h.lost:
			cancel()
		case <-ctx.Done():
		}
	})
	resp, err := post(ctx, h.o.Client, h.url+"/run", body)
	if err != nil {
		return nil, true, err
	}
	defer resp.Body.Close() // it is only read
	lines := json.NewDecoder(resp.Body)
	lines.UseNumber()
	for {
		var line PartLine
		if err := lines.Decode(&line); err != nil {
			return nil, true, err
		}
		switch {
		case line.Result != nil:
			if line.Result.Output.Key == "" {
				line.Result.Output.At = h.url
			}
			return line.Result, false, nil
		case line.Fault != nil:
			return nil, false, msq.DecodeFault(line.Fault)
		case line.Progress != nil:
			progress(line.Progress)
		}
	}
}

// ReadFrames returns a reader of frames of other processes.
func ReadFrames(client *http.Client) msq.ReadFrame {
	return func(ctx context.Context, at, id string, number int, buf []byte) ([]byte, error) {
		return readFrame(ctx, client, at, id, number, buf)
	}
}

// readFrame gets a frame from the process that has it.
func readFrame(ctx context.Context, client *http.Client, at, id string, number int, buf []byte) ([]byte, error) {
	ctx = obs.Unrecorded(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/outputs/%s/%d", at, id, number), nil)
	if err != nil {
		return buf, err
	}
	resp, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return buf, context.Cause(ctx)
		}
		return buf, msq.LostFrame(at, err)
	}
	defer resp.Body.Close() // it was only read
	if resp.StatusCode != http.StatusOK {
		return buf, msq.LostFrame(at, fmt.Errorf("status [%d]", resp.StatusCode))
	}
	if n := int(resp.ContentLength); n >= 0 && n <= maxFrame {
		if cap(buf) < n {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		if _, err := io.ReadFull(resp.Body, buf); err != nil {
			return buf, msq.LostFrame(at, err)
		}
		return buf, nil
	}
	return buf, msq.LostFrame(at, fmt.Errorf("its frame has [%d] bytes", resp.ContentLength))
}

// maxFrame bounds what is believed of the length of a frame: one holds at least a row, and those
// are bounded.
const maxFrame = 1 << 30
