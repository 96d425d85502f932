package query

import (
	"sync"

	"github.com/hengedb/henge/internal/fault"
)

// Gate counts the queries that run, all of them and those of a lane, and refuses those beyond the limits.
type Gate struct {
	limits Limits

	mu struct {
		sync.Mutex
		total int
		lanes map[string]int
		parts map[string]*parts // by query
	}
}

// parts is a query of which several parts run.
type parts struct {
	running int
	lane    string
}

// NewGate returns a gate through which nobody has come.
func NewGate(l Limits) *Gate {
	g := &Gate{limits: l}
	g.mu.lanes, g.mu.parts = map[string]int{}, map[string]*parts{}
	return g
}

// Enter lets a query of a lane in, or refuses it when too many run. Leave must be called once for each that came in.
func (g *Gate) Enter(lane string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.enterLocked(lane)
}

func (g *Gate) enterLocked(lane string) error {
	if total := g.limits.Total; total > 0 && g.mu.total >= total {
		return fault.Capacity("Too many concurrent queries, total query capacity of %d exceeded. Please try your query again later.", total)
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
		return fault.Capacity("Too many concurrent queries for lane '%s', query capacity of %d exceeded. Please try your query again later.", lane, limit)
	}
	return nil
}

// Leave ends what Enter began.
func (g *Gate) Leave(lane string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leaveLocked(lane)
}

func (g *Gate) leaveLocked(lane string) {
	g.mu.total--
	if g.mu.lanes[lane]--; g.mu.lanes[lane] == 0 {
		delete(g.mu.lanes, lane)
	}
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

// EnterPart lets a part of another process's query in: a query counts once, however many of its parts run here. Leave is called at the part's end.
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
