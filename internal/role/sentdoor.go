package role

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	api "github.com/hengedb/henge/internal/api/push"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/stream/push"
	"github.com/hengedb/henge/internal/supervisor"
	"github.com/hengedb/henge/internal/worker/pushlog"
)

// sentDoor brings what is about a sender of rows to the worker that leads the sender's log.
type sentDoor struct {
	s    *services
	own  *api.API
	turn atomic.Uint64
}

const (
	// passedHeader says that a request was passed on by a process that took this one for the leader.
	passedHeader = "Henge-Passed-On"
	// followCopy is how long a request waits for the copy of a log to take the place of its leader, or
	// for a log that is brought elsewhere.
	followCopy = 3 * time.Second
)

// to answers by here what this process has the log of, and passes on the rest.
func (d *sentDoor) to(here edge.Handler) edge.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		locations, name := d.s.sent.locations, r.PathValue("datasource")
		find := locations.Table
		if r.Method == http.MethodPost {
			find = locations.Make
		}
		t, err := find(r.Context(), name)
		if err != nil {
			return err
		}
		sender := r.PathValue("channel")
		if sender == "" {
			sender = api.SenderOf(r)
		}
		if t == nil {
			return fault.NotFound("Channel [%s] of datasource [%s] has sent nothing", sender, name)
		}
		if d.isHere(t, name, sender) {
			return here(w, r)
		}
		if r.Header.Get(passedHeader) != "" {
			if t, err = d.afresh(r.Context(), name); err != nil {
				return err
			}
			if d.isHere(t, name, sender) {
				return here(w, r)
			}
			return fault.Unavailable("The log of these rows is on its way to another worker; send them again")
		}
		return d.pass(w, r, name, sender)
	}
}

func (d *sentDoor) afresh(ctx context.Context, name string) (*pushlog.Table, error) {
	tables, err := d.s.sent.locations.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	return tables[name], nil
}

// isHere reports whether this process leads the log of a sender, or is about to.
func (d *sentDoor) isHere(t *pushlog.Table, name, sender string) bool {
	keeper := d.s.sent.keeper
	if keeper == nil {
		return false
	}
	if sender == "" {
		return keeper.Leads(t, name) != nil
	}
	return t.Of(sender).Leader == d.s.n.peers.membership.Holder
}

// pass sends a request to the worker that leads the log of its sender. While that is away, and no
// other has a copy, it is refused.
func (d *sentDoor) pass(w http.ResponseWriter, r *http.Request, name, sender string) error {
	locations, ctx := d.s.sent.locations, r.Context()
	targets := func() []string {
		t, err := locations.Table(ctx, name)
		if err != nil || t == nil {
			return nil
		}
		logs := t.Logs
		if sender != "" {
			logs = []pushlog.Log{*t.Of(sender)}
		}
		var out []string
		first := int(d.turn.Add(1) % uint64(len(logs)))
		for i := range logs {
			if m, ok := locations.Where(logs[(first+i)%len(logs)].Leader); ok {
				out = append(out, m.URL())
			}
		}
		return out
	}
	to := &forward{n: d.s.n, targets: targets, none: func(*http.Request) error {
		return fault.Unavailable("The worker that has the log of these rows is away; send them again when it is back")
	}}
	if t, err := locations.Table(ctx, name); err == nil && t != nil && t.Replicas > 1 {
		to.patience = followCopy
	}
	r = r.Clone(ctx)
	r.Header.Set(passedHeader, "1")
	return to.ServeHTTP(w, r)
}

// send sends rows of this process's own to the log of their sender, until it is reached or its
// leader
// is away for too long. Request makes a request to the process at a URL, or to this one.
func (d *sentDoor) send(ctx context.Context, name, sender string, request func(base string) (*http.Request, error)) error {
	t, err := d.s.sent.locations.Make(ctx, name)
	if err != nil {
		return err
	}
	began := d.s.n.o.Clock.Now()
	for {
		leader := t.Of(sender).Leader
		err := fault.Unavailable("The worker that has the log of these rows is away; send them again when it is back")
		if d.isHere(t, name, sender) {
			r, failed := request("")
			if failed != nil {
				return failed
			}
			return d.own.Receive(unread{http.Header{}}, r)
		}
		if m, ok := d.s.sent.locations.Where(leader); ok {
			r, failed := request(m.URL())
			if failed != nil {
				return failed
			}
			r.Header.Set(passedHeader, "1")
			failed = cluster.Do(d.s.n.peers.client, r, nil)
			if f := fault.Find(failed); failed == nil || f == nil || f.Category != fault.CategoryServiceUnavailable {
				return failed
			}
			err = fault.Find(failed)
		}
		if d.s.n.o.Clock.Now().Sub(began) >= followCopy {
			return err
		}
		if err := d.s.n.o.Clock.Sleep(ctx, lookAgain); err != nil {
			return err
		}
		now, failed := d.afresh(ctx, name)
		if failed != nil {
			return failed
		}
		if t = now; t == nil {
			return err
		}
	}
}

// sentLogs are the logs of this process. It implements api.Logs.
type sentLogs struct{ *sent }

// For implements api.Logs.
func (l sentLogs) For(ctx context.Context, dataSource, sender string) (*push.Log, error) {
	t, err := l.locations.Make(ctx, dataSource)
	if err != nil {
		return nil, err
	}
	if sender == "" {
		if led := l.keeper.Leads(t, dataSource); led != nil {
			return l.keeper.Leading(ctx, dataSource, led.ID)
		}
	}
	return l.keeper.Leading(ctx, dataSource, t.Of(sender).ID)
}

// Find implements api.Logs.
func (l sentLogs) Find(ctx context.Context, dataSource, channel string) (*push.Log, error) {
	t, err := l.locations.Table(ctx, dataSource)
	if err != nil || t == nil {
		return nil, err
	}
	return l.keeper.Leading(ctx, dataSource, t.Of(channel).ID)
}

// leadingSupervisors are the supervisors as the leading Overlord has them, wherever it is. It
// implements api.Supervisors.
type leadingSupervisors struct{ s *services }

// Find implements api.Supervisors.
func (l leadingSupervisors) Find(ctx context.Context, id string) (*supervisor.Supervisor, error) {
	return l.s.supervisors.Find(ctx, id)
}

// Put implements api.Supervisors.
func (l leadingSupervisors) Put(ctx context.Context, text json.RawMessage, keep bool, entry func(id string) *metastore.AuditEntry) (
	*supervisor.Supervisor, supervisor.Change, error,
) {
	leadership := l.s.n.peers.leaders[cluster.Overlord]
	if leadership.Leads() {
		return l.s.supervisors.Put(leadership.Fence(ctx), text, keep, entry)
	}
	v, err := l.s.supervisors.Read(text)
	if err != nil {
		return nil, supervisor.Change{}, err
	}
	leader := leadership.Leader()
	if leader == "" {
		return nil, supervisor.Change{}, fault.Unavailable("No Overlord leads at the moment; send the rows again")
	}
	path := leader + "/service/indexer/v1/supervisor"
	if keep {
		path += "?skipRestartIfUnmodified=true"
	}
	return v, supervisor.Change{Modified: true, Restarted: true},
		cluster.Call(ctx, l.s.n.peers.client, http.MethodPost, path, text, nil)
}
