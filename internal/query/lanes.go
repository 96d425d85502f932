package query

import (
	"math"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/querycontext"
)

// Limits limit the number of concurrent queries: in total, per lane, per user and per datasource.
// The zero value has no limits.
type Limits struct {
	// Total is the maximum number of concurrent queries; 0: any number.
	Total int
	// Lanes are the limits of lanes. A lane that is missing has no limit of its own.
	Lanes map[string]int
	// LowLane assigns queries with a negative priority to the lane "low".
	LowLane bool
	// Users and DataSources limit the queries per user and per datasource.
	Users, DataSources Quota
}

// Quota is a limit per name, with exceptions for some names. The zero value is no limit.
type Quota struct {
	// Each is the limit of names that are not in Named; 0: any number.
	Each int
	// Named are the limits of single names; 0: any number.
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

// Validate rejects negative limits; each and named are the keys of the settings, for messages.
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

// HiLo returns the limits of the strategy hilo: queries with a negative priority get a percentage
// of the total.
func HiLo(total, threads int, maxLowPercent int64) (Limits, error) {
	if maxLowPercent < 1 || maxLowPercent > 100 {
		return Limits{}, fault.InvalidInput("service.query.scheduler.laning.maxLowPercent must be in the range 1 to 100, but is [%d]", maxLowPercent)
	}
	return Limits{Total: total, Lanes: map[string]int{lowLane: share(maxLowPercent, total, threads)}, LowLane: true}, nil
}

// Manual returns the limits of the strategy manual: queries name their lane in the context; the
// limit of a lane is a number or, with percent, a share of the total.
func Manual(total, threads int, lanes map[string]int64, percent bool) (Limits, error) {
	out := Limits{Total: total, Lanes: map[string]int{}}
	if len(lanes) == 0 {
		return out, fault.InvalidInput("service.query.scheduler.laning.strategy [manual] needs at least one service.query.scheduler.laning.lanes.<name>")
	}
	for name, n := range lanes {
		switch {
		case name == "total" || name == "default":
			return out, fault.InvalidInput("Lane [%s] can't be limited: its name is reserved for all queries, and for queries without a lane", name)
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

// Priority returns the priority in the context of a query; 0 if it is missing.
func Priority(context map[string]any) (int64, error) {
	n, err := querycontext.Priority.Read(context)
	return int64(n), err
}
