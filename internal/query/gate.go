package query

import (
	"sync"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
)

// Gate counts running queries in total, per lane, per user and per datasource, and rejects queries
// above the limits.
type Gate struct {
	limits Limits
	about  obs.Occurrence // how a refusal is counted, but for the limit
	meter  *obs.Meter

	mu struct {
		sync.Mutex
		total                 int
		lanes, users, sources map[string]int
		parts                 map[string]*parts // by query
		bound                 map[string]int    // queries of users whose limits bound them
	}
}

// parts is a query of which several parts run.
type parts struct {
	running int
	lane    string
}

// NewGate returns a gate without queries. The meter, if not nil, counts rejected queries by limit,
// as the metric query/overLimit/count of a service.
func NewGate(l Limits, service string, m *obs.Meter) *Gate {
	g := &Gate{limits: l, about: obs.Occurrence{Service: service, Metric: "query/overLimit/count"}, meter: m}
	g.mu.lanes, g.mu.users, g.mu.sources, g.mu.parts = map[string]int{}, map[string]int{}, map[string]int{}, map[string]*parts{}
	g.mu.bound = map[string]int{}
	return g
}

// counted counts a refusal by what is limited: "total", "lane", "user", "dataSource", or "limits"
// of a user's roles.
func (g *Gate) counted(limited string) {
	about := g.about
	about.Dims = []string{"limit", limited}
	g.meter.Count(about, 1)
}

// over refuses a query, and counts that.
func (g *Gate) over(limited, format string, args ...any) error {
	g.counted(limited)
	return fault.Capacity(format, args...)
}

// Enter admits a query of a user in a lane, or rejects it if too many are running. The caller must
// call Leave once for each admitted query.
func (g *Gate) Enter(user, lane string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if limit, limited := g.limits.Users.of(user); limited && g.mu.users[user] >= limit {
		return g.over("user", "Too many concurrent queries for user '%s', query capacity of %d exceeded. Please try your query again later.", user, limit)
	}
	if err := g.enterLocked(lane); err != nil {
		return err
	}
	g.mu.users[user]++
	return nil
}

// Read permits an admitted query to read datasources, or rejects it if too many queries read one of
// them. The caller calls Unread with the same datasources at its end.
func (g *Gate) Read(sources []string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range sources {
		if limit, limited := g.limits.DataSources.of(name); limited && g.mu.sources[name] >= limit {
			return g.over("dataSource", "Too many concurrent queries for datasource '%s', query capacity of %d exceeded. Please try your query again later.", name, limit)
		}
	}
	for _, name := range sources {
		g.mu.sources[name]++
	}
	return nil
}

// Unread reverts Read.
func (g *Gate) Unread(sources []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range sources {
		less(g.mu.sources, name)
	}
}

// less counts one down, and forgets a name that nothing is left of.
func less(counts map[string]int, name string) {
	if counts[name]--; counts[name] == 0 {
		delete(counts, name)
	}
}

func (g *Gate) enterLocked(lane string) error {
	if total := g.limits.Total; total > 0 && g.mu.total >= total {
		return g.over("total", "Too many concurrent queries, total query capacity of %d exceeded. Please try your query again later.", total)
	}
	if err := g.roomLocked(lane); err != nil {
		return err
	}
	g.mu.total++
	g.mu.lanes[lane]++
	return nil
}

func (g *Gate) roomLocked(lane string) error {
	if limit, limited := g.limits.Lanes[lane]; limited && g.mu.lanes[lane] >= limit {
		return g.over("lane", "Too many concurrent queries for lane '%s', query capacity of %d exceeded. Please try your query again later.", lane, limit)
	}
	return nil
}

// EnterBound admits a query of a user with a personal limit on running queries, or rejects it. The
// caller calls LeaveBound with the same arguments at its end.
func (g *Gate) EnterBound(user string, bounds *auth.Bounds) error {
	limit, limited := bounds.Find(auth.ConcurrentQueries)
	if !limited {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if float64(g.mu.bound[user]) >= limit.Most {
		g.counted("limits")
		return bounds.TooMany()
	}
	g.mu.bound[user]++
	return nil
}

// LeaveBound reverts EnterBound.
func (g *Gate) LeaveBound(user string, bounds *auth.Bounds) {
	if _, limited := bounds.Find(auth.ConcurrentQueries); limited {
		g.mu.Lock()
		defer g.mu.Unlock()
		less(g.mu.bound, user)
	}
}

// Leave reverts Enter.
func (g *Gate) Leave(user, lane string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leaveLocked(lane)
	less(g.mu.users, user)
}

func (g *Gate) leaveLocked(lane string) {
	g.mu.total--
	less(g.mu.lanes, lane)
}

// move changes the lane of a query that is in, unless too many run in the other one.
func (g *Gate) move(from, to string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if from == to {
		return nil
	}
	if err := g.roomLocked(to); err != nil {
		return err
	}
	g.leaveLocked(from)
	g.mu.total++
	g.mu.lanes[to]++
	return nil
}

// EnterPart admits a part of a query of another process. A query counts once, regardless of the
// number of its parts in this process. The caller calls Leave at the end of the part.
func (g *Gate) EnterPart(id, lane string) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.mu.parts[id]
	if p == nil {
		if err := g.enterLocked(lane); err != nil {
			return nil, err
		}
		p = &parts{lane: lane}
		g.mu.parts[id] = p
	}
	p.running++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if p.running--; p.running == 0 {
			delete(g.mu.parts, id)
			g.leaveLocked(p.lane)
		}
	}, nil
}
