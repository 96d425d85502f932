package dispatch

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/vector"
)

// read asks a server for its share and calls f with each batch until the end. It returns the
// stream, which then knows what the server's operators did.
func (r *running) read(ctx context.Context, s share, skip int64, f func(*vector.Batch) error) (_ *StreamReader, failed error) {
	defer r.d.busy(s)()
	ctx, span := obs.BeginSpan(ctx, "fragment", obs.ClientSpan)
	if span != nil {
		span.Text("server.address", s.server.Name)
		span.Number("henge.segments", int64(len(s.everything())))
		defer func() {
			span.Fail(failed)
			span.End()
		}()
	}
	began, first := r.d.o.Clock.Now(), time.Time{}
	stream, body, err := r.d.ask(ctx, s.server, r.request(ctx, s, skip))
	if err != nil {
		return nil, err
	}
	defer body.Close() // what was not read is not wanted
	defer func() { r.d.measure(r.q, s.server, began, first, body.bytes) }()
	if err := stream.Begin(); err != nil {
		return nil, err
	}
	first = r.d.o.Clock.Now()
	for {
		b, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return stream, nil
		}
		if err != nil {
			return nil, err
		}
		if err := f(b); err != nil {
			return nil, err
		}
	}
}

// retries reports whether what failed may be done by another server, which was tried so often.
func retries(ctx context.Context, err error, attempt int) bool {
	var b *broken
	return errors.As(err, &b) && ctx.Err() == nil && attempt < partAttempts
}

// takeOver places the segments of a server that broke on others. Groups may come from any number of
// them. Rows have an order in the part as a whole, and those that were given are the first in it:
// one server goes on, the one that holds most of the segments. Where it can it merges what the
// others give, and reads the rest itself where it can't.
//
// All are told where the files are. Copies that are dropped on several servers at a time, as when a
// rule wants fewer, may each be missed where they are looked for, and a server that lacks one
// segment is not asked for the others again.
func (r *running) takeOver(segments []Segment, never map[string]bool) ([]share, error) {
	segments = r.again(segments)
	shares, err := r.d.place(r.q, segments, never)
	for i := range shares {
		shares[i].located = true
	}
	if err != nil || r.f.Groups {
		return shares, err
	}
	most := slices.MaxFunc(shares, func(a, b share) int { return len(a.segments) - len(b.segments) })
	if !mergeable(r.f) || !r.d.merges(most.server) {
		return []share{{server: most.server, segments: segments, located: true}}, nil
	}
	most.others = slices.DeleteFunc(shares, func(s share) bool { return s.server == most.server })
	return []share{most}, nil
}

// asks notes in the progress of the query that servers read a share.
func (r *running) asks(s *share) (end func(whole bool)) {
	if r.q.Progress == nil {
		return func(bool) {}
	}
	var urls []string
	segments, rows := int64(0), int64(0)
	for one := range s.all() {
		urls = append(urls, one.server.URL)
		for _, of := range one.segments {
			segments, rows = segments+1, rows+max(of.Of.Rows, 0)
		}
	}
	return r.q.Progress.Ask(urls, segments, rows)
}

// wholePart is a part that is held back until it is whole.
type wholePart struct {
	group   *exec.Group
	done    chan struct{}
	buffers []*buffer
	err     error
}

func startWhole(ctx context.Context, r *running, s share) *wholePart {
	p := &wholePart{group: exec.NewGroup(ctx), done: make(chan struct{})}
	end := r.asks(&s)
	p.group.Go(func(ctx context.Context) error {
		defer close(p.done)
		defer func() { end(p.err == nil) }()
		p.err = exec.Protect(func() (err error) {
			p.buffers, err = r.whole(ctx, s, nil, 1)
			return err
		})
		if p.err == nil {
			r.finished()
			r.f.Remote.Done(s.servers())
		}
		return nil // the reader is told
	})
	return p
}

// Next implements exec.Operator.
func (p *wholePart) Next(ctx context.Context) (*vector.Batch, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p.err != nil {
		return nil, p.err
	}
	for len(p.buffers) > 0 {
		b, err := p.buffers[0].Next(ctx)
		if !errors.Is(err, io.EOF) {
			return b, err
		}
		p.buffers[0].close()
		p.buffers = p.buffers[1:]
	}
	return nil, io.EOF
}

// Ready reports whether the part is whole, or has failed.
func (p *wholePart) Ready() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Close implements exec.Operator.
func (p *wholePart) Close() {
	p.group.Stop()
	closeAll(p.buffers)
}

func closeAll(buffers []*buffer) {
	for _, b := range buffers {
		b.close()
	}
}

// whole gets a share from its server, or from those that take its place.
func (r *running) whole(ctx context.Context, s share, never map[string]bool, attempt int) ([]*buffer, error) {
	b, err := r.hedged(ctx, s)
	if err == nil {
		r.f.Remote.Add(b.did, s.servers())
		return []*buffer{b}, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !retries(ctx, err, attempt) {
		return nil, given(s.server, err)
	}
	r.d.broke(ctx, r.q, s.server, err)
	if s.isLive() {
		return nil, moved(err)
	}
	excluded := map[string]bool{s.server.Name: true}
	maps.Copy(excluded, never)
	shares, none := r.takeOver(s.everything(), excluded)
	if none != nil {
		return nil, given(s.server, err)
	}
	parts := make([][]*buffer, len(shares))
	group := exec.NewGroup(ctx)
	for i, o := range shares {
		group.Go(func(ctx context.Context) (err error) {
			parts[i], err = r.whole(ctx, o, excluded, attempt+1)
			return err
		})
	}
	err = group.Wait()
	out := slices.Concat(parts...)
	if err != nil {
		closeAll(out)
		return nil, err
	}
	return out, nil
}

// hedgeLook is how often a part is looked at that may be late.
const hedgeLook = 100 * time.Millisecond

// hedged gets a share from its server. When that is late compared with others, a second server is
// asked too, and the first answer counts.
func (r *running) hedged(ctx context.Context, s share) (*buffer, error) {
	type answer struct {
		from *Server
		b    *buffer
		err  error
	}
	answers := make(chan answer, 2)
	group := exec.NewGroup(ctx)
	var asked []*Server // that have not answered
	ask := func(s share) {
		asked = append(asked, s.server)
		group.Go(func(ctx context.Context) error {
			_, done := r.d.o.Pulse.Watch(s.server.URL)
			defer done()
			b := newBuffer(r.q.Memory, r.q.Spill)
			err := exec.Protect(func() (err error) {
				stream, err := r.read(ctx, s, 0, b.add)
				if err != nil {
					return err
				}
				b.did = stream.part(&s)
				r.keep(b, s.segments, stream.starts)
				return nil
			})
			if err != nil {
				b.close()
				b = nil
			}
			answers <- answer{s.server, b, err}
			return nil // the answer tells
		})
	}
	ask(s)
	defer func() {
		group.Stop()
		for range asked {
			if a := <-answers; a.b != nil {
				a.b.close() // the second best
			}
		}
	}()
	began := r.d.o.Clock.Now()
	look := r.d.o.Clock.NewTicker(hedgeLook)
	defer look.Stop()
	var failed error
	second := r.parts == 1
	for {
		select {
		case a := <-answers:
			asked = slices.DeleteFunc(asked, func(o *Server) bool { return o == a.from })
			if a.err == nil || len(asked) == 0 {
				if a.err != nil && failed != nil {
					a.err = failed
				}
				return a.b, a.err
			}
			failed = a.err
		case <-look.C():
			if first := len(asked) == 1 && failed == nil; first && r.left(s, began) || !first && r.allLeft(asked, began) {
				return nil, mute(s.server)
			}
			if second || !r.late() {
				continue
			}
			second = true
			if other := r.other(s); other != nil {
				r.d.o.Log.WarnContext(ctx, "fragment is late; starting it on another server as well", "server", s.server.Name,
					"second", other.Name, "query", r.q.ID)
				ask(share{server: other, segments: s.segments})
			}
		}
	}
}

// allLeft reports whether all of several servers have been silent for so long that they are left,
// also since they were asked: one that has just come back may still be known as silent.
func (r *running) allLeft(servers []*Server, began time.Time) bool {
	return r.d.o.Clock.Now().Sub(began) >= pulseAgain && !slices.ContainsFunc(servers, func(s *Server) bool { return r.d.o.Pulse.SilentFor(s.URL) < leaveAlone })
}

// mute is the failure of a server that is silent.
func mute(s *Server) error {
	return &broken{fault.Unavailable("Server [%s] does not answer, neither its part of a query nor whether it lives", s.Name)}
}

// left reports whether a server is silent and is to be left: at once if others can do what it was
// asked for, else after a while, when the query ends with that.
func (r *running) left(s share, began time.Time) bool {
	if r.allLeft([]*Server{s.server}, began) {
		return true
	}
	if !r.d.o.Pulse.Silent(s.server.URL) {
		return false
	}
	shares, err := r.d.place(r.q, r.again(s.everything()), map[string]bool{s.server.Name: true})
	return err == nil && !slices.ContainsFunc(shares, func(o share) bool { return r.d.o.Pulse.Silent(o.server.URL) })
}

// attentive asks a server for a share, and leaves it when it is silent.
func (r *running) attentive(ctx context.Context, s share, ask func(ctx context.Context) error) error {
	began := r.d.o.Clock.Now()
	silent, done := r.d.o.Pulse.Watch(s.server.URL)
	defer done()
	asking, leave := context.WithCancelCause(ctx)
	group := exec.NewGroup(asking)
	defer func() {
		leave(nil)
		group.Stop()
	}()
	group.Go(func(ctx context.Context) error {
		select {
		case <-silent:
		case <-ctx.Done():
			return nil
		}
		look := r.d.o.Clock.NewTicker(hedgeLook)
		defer look.Stop()
		for !r.left(s, began) {
			select {
			case <-look.C():
			case <-ctx.Done():
				return nil
			}
		}
		leave(mute(s.server))
		return nil
	})
	err := ask(asking)
	if err != nil && ctx.Err() == nil && asking.Err() != nil {
		return context.Cause(asking)
	}
	return err
}

// other returns a server that holds all segments of a share beside the one that has it, or nil.
// What a server merges is asked for a second time by that one itself.
func (r *running) other(s share) *Server {
	if len(s.segments) == 0 || len(s.others) > 0 {
		return nil
	}
	for _, o := range s.segments[0].Holders {
		all := o.Name != s.server.Name && !o.Here
		for _, seg := range s.segments {
			all = all && holds(seg.Holders, o)
		}
		if all {
			return o
		}
	}
	return nil
}

// streamedPart is a part whose rows are given as they come.
type streamedPart struct {
	group   *exec.Group
	batches chan *vector.Batch // closed at the end
	err     error
}

func startStreamed(ctx context.Context, r *running, s share) *streamedPart {
	p := &streamedPart{group: exec.NewGroup(ctx), batches: make(chan *vector.Batch, streamDepth)}
	end := r.asks(&s)
	p.group.Go(func(ctx context.Context) error {
		defer close(p.batches)
		defer func() { end(p.err == nil) }()
		if p.err = exec.Protect(func() error { return p.run(ctx, r, s) }); p.err == nil {
			r.f.Remote.Done(s.servers())
		}
		return nil // the reader is told
	})
	return p
}

// run gets the rows from the share's server, and what it did not give from others, one after the
// other.
func (p *streamedPart) run(ctx context.Context, r *running, s share) error {
	never := map[string]bool{}
	rows := int64(0)
	for attempt := 1; ; attempt++ {
		var stream *StreamReader
		err := r.attentive(ctx, s, func(ctx context.Context) (err error) {
			stream, err = r.read(ctx, s, rows, func(b *vector.Batch) error {
				select {
				case p.batches <- b:
					rows += int64(b.Rows())
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
			return err
		})
		if err == nil {
			r.f.Remote.Add(stream.part(&s), s.servers())
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !retries(ctx, err, attempt) {
			return given(s.server, err)
		}
		r.d.broke(ctx, r.q, s.server, err)
		if s.isLive() {
			return moved(err)
		}
		never[s.server.Name] = true
		shares, none := r.takeOver(s.segments, never)
		if none != nil {
			return given(s.server, err)
		}
		s = shares[0]
	}
}

// Next implements exec.Operator.
func (p *streamedPart) Next(ctx context.Context) (*vector.Batch, error) {
	select {
	case b, ok := <-p.batches:
		if ok {
			return b, nil
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p.err != nil {
		return nil, p.err
	}
	return nil, io.EOF
}

// Close implements exec.Operator.
func (p *streamedPart) Close() { p.group.Stop() }
