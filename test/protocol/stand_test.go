package protocol

import (
	"context"
	"net/http"
	"time"

	"github.com/hengedb/henge/internal/api/data"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/timeline"
)

// historical stands behind today's endpoints of a Historical: of data.Historical it implements what
// older releases ask for.
type historical struct {
	data.Historical
	log     *cluster.Log
	command cluster.Command
	state   cluster.QueueState
}

func (h *historical) Changes() *cluster.Log { return h.log }

func (h *historical) Command(_ context.Context, c cluster.Command) (cluster.QueueState, error) {
	h.command = c
	return h.state, nil
}

func (h *historical) routes(log *cluster.Log) http.Handler {
	h.log = log
	mux := edge.NewMux(&edge.Errors{Host: "localhost", Log: quiet})
	data.New(h, timeline.NewPublished(), clock.System()).Routes(mux)
	return mux
}

type announcement = metastore.Member

// announced is a metastore in which processes have announced themselves. It implements
// cluster.Announcements.
type announced struct{ members, own []announcement }

func (a *announced) Announce(_ context.Context, holder string, members []announcement, _ time.Duration) error {
	a.own = members
	for _, m := range members {
		m.Holder, m.Held = holder, true
		a.members = append(a.members, m)
	}
	return nil
}

func (a *announced) RenewMembers(context.Context, string, time.Duration) (int64, error) {
	return int64(len(a.own)), nil
}
func (a *announced) Withdraw(context.Context, string) error          { return nil }
func (a *announced) Members(context.Context) ([]announcement, error) { return a.members, nil }
func (a *announced) MembersChanged() <-chan struct{}                 { return nil }
