package query

import (
	"math"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/querycontext"
)

// Limits bound the queries that run at once: all of them, and those of a lane, a user and a
// datasource (spec/cluster.md, section 20). The zero value bounds none.
type Limits struct {
	// Total is how many queries may run at once; 0: any number.
	Total int
	// Lanes are how many may of a lane. A lane that is not named here has no limit of its own.
	Lanes map[string]int
	// LowLane puts queries of a negative priority into the lane "low".
	LowLane bool
	// Users and DataSources are how many may run of a user, and how many may read a datasource.
	Users, DataSources Quota
}

// Quota is a limit of each name, with others for some. The zero value is no limit.
type Quota struct {
	// Each is that of all names that Named does not have; 0: any number.
	Each int
	// Named are those of single names; 0: any number.
	Named map[string]int
}

// of returns the limit of a name, and whether there is one.
func (q Quota) of(name string) (limit int, limited bool) {
	limit, named := q.Named[name]
	if !named {
		limit = q.Each
	}
	return limit, limit > 0
}

// Validate refuses limits below 0; each and named are the keys of the settings they are from.
func (q Quota) Validate(each, named string) error {
	if q.Each < 0 {
		return fault.InvalidInput("%s must not be negative, but is [%d]", each, q.Each)
	}
	for name, limit := range q.Named {
		if limit < 0 {
			return fault.InvalidInput("%s.%s must not be negative, but is [%d]", named, name, limit)
		}
	}
	return nil
}

// lowLane is the lane of queries with a negative priority under the strategy hilo.
const lowLane = "low"

// HiLo returns the limits of the strategy hilo: queries of a negative priority get a share of all,
// in percent.
func HiLo(total, threads int, maxLowPercent int64) (Limits, error) {
	if maxLowPercent < 1 || maxLowPercent > 100 {
		return Limits{}, fault.InvalidInput("service.query.scheduler.laning.maxLowPercent must be in the range 1 to 100, but is [%d]", maxLowPercent)
	}
	return Limits{Total: total, Lanes: map[string]int{lowLane: share(maxLowPercent, total, threads)}, LowLane: true}, nil
}

// Manual returns the limits of the strategy manual: lanes that queries name in their context, with
// numbers or, with percent, shares.
func Manual(total, threads int, lanes map[string]int64, percent bool) (Limits, error) {
	out := Limits{Total: total, Lanes: map[string]int{}}
	if len(lanes) == 0 {
		return out, fault.InvalidInput("service.query.scheduler.laning.strategy [manual] needs at least one service.query.scheduler.laning.lanes.<name>")
	}
	for name, n := range lanes {
		switch {
		case name == "total" || name == "default":
			return out, fault.InvalidInput("Lane [%s] can't be limited: its name is kept for all queries, and for those without a lane", name)
		case n < 1 || percent && n > 100:
			return out, fault.InvalidInput("The limit [%d] of lane [%s] must be at least 1, and as a percentage at most 100", n, name)
		case percent:
			out.Lanes[name] = share(n, total, threads)
		default:
			out.Lanes[name] = int(min(n, math.MaxInt32))
		}
	}
	return out, nil
}

// share is a percentage of the queries that can run at once, at least one.
func share(percent int64, total, threads int) int {
	if total > 0 {
		threads = min(threads, total)
	}
	return int((percent*int64(threads) + 99) / 100)
}

// lane returns the lane of a query by its context; "" is none.
func (l *Limits) lane(context map[string]any, priority int64) (string, error) {
	if l.LowLane && priority < 0 {
		return lowLane, nil
	}
	return querycontext.Lane.Read(context)
}

// Priority returns the priority that a query's context asks for; 0 if it does not.
func Priority(context map[string]any) (int64, error) {
	n, err := querycontext.Priority.Read(context)
	return int64(n), err
}
