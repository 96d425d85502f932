package query

import (
	"sync"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
)

// Gate counts the queries that run, all of them and those of a lane, a user and a datasource, and
// refuses those beyond the limits.
type Gate struct {
	limits Limits
	about  obs.Occurrence // how a refusal is counted, but for the limit
	meter  *obs.Meter

	mu struct {
		sync.Mutex
		total                 int
		lanes, users, sources map[string]int
		parts                 map[string]*parts // by query
	}
}

// parts is a query of which several parts run.
type parts struct {
	running int
	lane    string
}

// NewGate returns a gate through which nobody has come. A meter is told, as the metric
// query/overLimit/count of a service, how many were refused by which limit; nil: nobody wants to
// know.
func NewGate(l Limits, service string, m *obs.Meter) *Gate {
	g := &Gate{limits: l, about: obs.Occurrence{Service: service, Metric: "query/overLimit/count"}, meter: m}
	g.mu.lanes, g.mu.users, g.mu.sources, g.mu.parts = map[string]int{}, map[string]int{}, map[string]int{}, map[string]*parts{}
	return g
}

// over refuses a query, and counts that by what is limited: "total", "lane", "user" or
// "dataSource".
func (g *Gate) over(limited, format string, args ...any) error {
	about := g.about
	about.Dims = []string{"limit", limited}
	g.meter.Count(about, 1)
	return fault.Capacity(format, args...)
}

// Enter lets a query of a user in a lane in, or refuses it when too many run. Leave must be called
// once for each that came in.
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

// Read lets a query that is in read datasources, or refuses it when too many read one of them.
// Unread is called with the same at its end.
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

// Unread ends what Read began.
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

// Leave ends what Enter began.
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

// EnterPart lets a part of another process's query in: a query counts once, however many of its
// parts run here. Leave is called at the part's end.
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
