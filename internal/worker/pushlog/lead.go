package pushlog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream/push"
)

// lead is a log that this worker leads.
type lead struct {
	k              *Keeper
	dataSource, id string

	serving *push.Log // under the keeper's lock; nil: it is not led yet
	log     *push.Log
	// is what the metastore says of the log. Once it is served only the log's writer changes it.
	is Log
}

// run leads the log until another one does, or ctx is done.
func (l *lead) run(ctx context.Context) {
	if !l.take(ctx) {
		return
	}
	tried := time.Time{}
	for {
		changed := l.k.o.Places.Changed()
		tables, err := l.k.o.Places.Tables(ctx)
		if err == nil {
			t := tables[l.dataSource]
			if now := t.Find(l.id); now == nil || now.Leader != l.k.o.Own {
				l.serve(nil)
				if l.log.Failed() == nil {
					_ = l.log.Hold(ctx, func(h *push.Held) { h.End(errElsewhere) }) // it fails when the log is closed, which is as good
				}
				return
			}
			l.log.Readers(t.Replicas)
			if now := l.k.o.Clock.Now(); l.log.Failed() == nil && now.Sub(tried) >= time.Second && l.tend(ctx, t) {
				tried = now
			}
		}
		timer := l.k.o.Clock.NewTimer(lookEvery)
		select {
		case <-changed:
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// serve lets the log be asked; nil: not any more.
func (l *lead) serve(log *push.Log) {
	l.k.mu.Lock()
	defer l.k.mu.Unlock()
	l.serving = log
	l.k.raiseLocked()
}

// take opens the log, and gives its copy what that lacks; false: another one leads it, or ctx is
// done.
func (l *lead) take(ctx context.Context) bool {
	for ; ctx.Err() == nil; _ = l.k.o.Clock.Sleep(ctx, again) {
		tables, err := l.k.o.Places.Refresh(ctx)
		if err != nil {
			continue
		}
		now := tables[l.dataSource].Find(l.id)
		if now == nil || now.Leader != l.k.o.Own {
			return false
		}
		l.is = *now
		if l.log, err = l.k.o.Store.Log(nameOf(l.dataSource, l.id)); err != nil {
			l.k.o.Log.WarnContext(ctx, "failed to open a push log; retrying", "error", err)
			continue
		}
		if l.is.Copy != "" {
			if err := l.complete(ctx); err != nil {
				if refuses(err) || l.k.lost(l.is.Copy) {
					_ = l.leave(ctx) // the next turn looks what came of it
				}
				continue
			}
		}
		if l.log.Hold(ctx, func(h *push.Held) {
			h.Epoch(l.is.Epoch)
			h.CopyTo(func(entries []*push.Entry) error { return l.copy(ctx, entries) })
		}) == nil {
			l.serve(l.log)
			return true
		}
	}
	return false
}

// refuses reports whether a worker says that it has no copy, or that another one leads the log.
func refuses(err error) bool {
	f := fault.Find(err)
	return f != nil && (f.Category == fault.CategoryConflict || f.Category == fault.CategoryNotFound)
}

// peer is the log on the worker that has its copy.
func (l *lead) peer() (*peer, error) {
	m, ok := l.k.o.Places.Where(l.is.Copy)
	if !ok {
		return nil, fault.Unavailable("The worker that has the copy of a log is not there")
	}
	return l.peerAt(m), nil
}

func (l *lead) peerAt(m cluster.Member) *peer {
	return &peer{l.k.o.Client, m, l.dataSource, l.id}
}

// complete gives the copy what it lacks.
func (l *lead) complete(ctx context.Context) error {
	p, err := l.peer()
	if err != nil {
		return err
	}
	return l.k.whileAwake(ctx, p.member, func(ctx context.Context) error {
		b, err := p.bounds(ctx)
		if err != nil {
			return err
		}
		_, err = l.bring(ctx, p, b.Latest, 0)
		return err
	})
}

// bring gives a worker the entries from a position on, until it lacks no more than some, and
// returns the position behind them.
func (l *lead) bring(ctx context.Context, p *peer, at, but int64) (int64, error) {
	for {
		_, latest := l.log.Bounds()
		if latest-at <= but {
			return at, nil
		}
		entries, err := l.log.Entries(ctx, at)
		if err != nil {
			return at, err
		}
		if len(entries) == 0 {
			return at, nil
		}
		if err := p.accept(ctx, l.is.Epoch, entries); err != nil {
			return at, err
		}
		at = entries[len(entries)-1].Position + 1
	}
}

// copy brings entries to the copy, if there is one. A copy that is lost is left. The log's writer
// calls it.
func (l *lead) copy(ctx context.Context, entries []*push.Entry) error {
	for l.is.Copy != "" {
		p, err := l.peer()
		if err == nil {
			err = l.k.whileAwake(ctx, p.member, func(ctx context.Context) error { return p.accept(ctx, l.is.Epoch, entries) })
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if refuses(err) || l.k.lost(l.is.Copy) {
			switch err := l.leave(ctx); {
			case err == nil, errors.Is(err, errMoved) && l.again(ctx):
				continue
			case errors.Is(err, errMoved):
				return err
			}
		}
		if err := l.k.o.Clock.Sleep(ctx, again); err != nil {
			return err
		}
	}
	return nil
}

// leave goes on without the copy.
func (l *lead) leave(ctx context.Context) error {
	next := l.is
	next.Copy = ""
	err := l.k.o.Places.change(ctx, l.dataSource, l.is, next)
	if err == nil {
		l.k.o.Log.WarnContext(ctx, "push log has no copy now",
			"dataSource", l.dataSource, "log", l.id, "was", l.is.Copy)
		next.Epoch = l.is.Epoch + 1
		l.is = next
	}
	return err
}

// movedAfter is how long a worker has to be there before it is given logs of others, in
// milliseconds.
const movedAfter = 3_000

// tend has the log be where it should be, and reports whether it tried to change that.
func (l *lead) tend(ctx context.Context, t *Table) bool {
	is := *t.Find(l.id)
	var err error
	switch target, ok := l.better(t); {
	case ok && target.Holder == is.Copy:
		err = l.hand(ctx, is)
	case ok:
		next := is
		next.Leader, next.Copy = target.Holder, ""
		err = l.send(ctx, target, next)
	case is.Copy != "" && (t.Replicas < MaxReplicas || l.k.lost(is.Copy)):
		err = l.log.Hold(ctx, func(*push.Held) {
			if l.is == is {
				_ = l.leave(ctx) // it is tried again
			}
		})
	case is.Copy == "" && t.Replicas >= MaxReplicas:
		target, ok := l.other("")
		if !ok {
			return false
		}
		next := is
		next.Copy = target.Holder
		err = l.send(ctx, target, next)
	default:
		return false
	}
	if err != nil && ctx.Err() == nil {
		l.k.o.Log.InfoContext(ctx, "push log cannot move to another worker yet",
			"dataSource", l.dataSource, "log", l.id, "error", err)
	}
	return true
}

// other returns a worker that could have the log, too.
func (l *lead) other(prefer string) (cluster.Member, bool) {
	var out []cluster.Member
	for _, m := range l.k.o.Places.Workers() {
		if m.Holder != l.k.o.Own && !l.k.o.Pulse.Silent(m.URL()) {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return cluster.Member{}, false
	}
	if i := slices.IndexFunc(out, func(m cluster.Member) bool { return m.Holder == prefer }); i >= 0 {
		return out[i], true
	}
	return out[0], true
}

// better returns the worker that should lead the log in the place of this one: any, if this one
// takes nothing on any more, and one that leads at least two logs of the datasource less.
func (l *lead) better(t *Table) (cluster.Member, bool) {
	if !l.k.o.Open() {
		return l.other(t.Find(l.id).Copy)
	}
	leads := map[string]int{}
	for _, log := range t.Logs {
		leads[log.Leader]++
	}
	now := l.k.o.Clock.Now().UnixMilli()
	for _, m := range l.k.o.Places.Workers() {
		if m.Holder != l.k.o.Own && leads[l.k.o.Own]-leads[m.Holder] >= 2 && now-m.Started >= movedAfter && !l.k.o.Pulse.Silent(m.URL()) {
			return m, true
		}
	}
	return cluster.Member{}, false
}

// holdPatience bounds how long senders wait for the last entries to be brought elsewhere.
const holdPatience = 3 * time.Second

// send makes a copy of the log on another worker, and writes in the metastore what it is for.
func (l *lead) send(ctx context.Context, to cluster.Member, next Log) error {
	p := l.peerAt(to)
	first, snapshot, err := l.log.Head()
	if err != nil {
		return err
	}
	at := first
	err = l.k.whileAwake(ctx, to, func(ctx context.Context) (err error) {
		if err = p.begin(ctx, next.Epoch, first, snapshot); err == nil {
			at, err = l.bring(ctx, p, at, 200)
		}
		return err
	})
	if err != nil {
		return err
	}
	return l.held(ctx, next.Epoch, func(h *push.Held) error {
		patient, cancel := context.WithTimeout(ctx, holdPatience)
		defer cancel()
		if _, err := l.bring(patient, p, at, 0); err != nil {
			return err
		}
		return l.become(ctx, h, next)
	})
}

// hand gives the log to the worker that has its copy.
func (l *lead) hand(ctx context.Context, is Log) error {
	return l.held(ctx, is.Epoch, func(h *push.Held) error {
		next := is
		next.Leader, next.Copy = is.Copy, ""
		return l.become(ctx, h, next)
	})
}

// held does something while nothing is written, if the epoch is still the same.
func (l *lead) held(ctx context.Context, epoch int64, do func(h *push.Held) error) (err error) {
	failed := l.log.Hold(ctx, func(h *push.Held) {
		if err = errMoved; l.is.Epoch == epoch {
			err = do(h)
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

// become writes who has the log from now on. What the metastore has written, though its answer was
// lost, is found out before anything else is written to the log.
func (l *lead) become(ctx context.Context, h *push.Held, next Log) error {
	err := l.k.o.Places.change(ctx, l.dataSource, l.is, next)
	for err != nil && !errors.Is(err, errMoved) && l.k.o.Clock.Sleep(ctx, again) == nil {
		err = l.k.o.Places.change(ctx, l.dataSource, l.is, next)
	}
	switch {
	case err == nil && next.Leader == l.k.o.Own:
		next.Epoch = l.is.Epoch + 1
		l.is = next
	case !errors.Is(err, errMoved) || !l.again(ctx): // another one leads it, or may
		h.End(errElsewhere)
	}
	h.Epoch(l.is.Epoch)
	return err
}

// again looks who has the log after somebody else has changed that, and reports whether this worker
// leads it still: its copy has left.
func (l *lead) again(ctx context.Context) bool {
	for {
		tables, err := l.k.o.Places.Refresh(ctx)
		if err == nil {
			now := tables[l.dataSource].Find(l.id)
			if now == nil || now.Leader != l.k.o.Own {
				return false
			}
			l.is = *now
			return true
		}
		if l.k.o.Clock.Sleep(ctx, again) != nil {
			return false
		}
	}
}
