package historical

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/fault"
)

// Keep holds the segments that the retention rules want on this server's tier, until ctx is done: the visible ones of the published
// timeline, the newest first.
func (h *Historical) Keep(ctx context.Context, follow *duty.Follower) error {
	k := keeper{h, map[string]map[string]bool{}}
	return follow.Run(ctx, func(ctx context.Context, v duty.Visit) error { return k.visit(ctx, v, clock.Millis(follow.Clock)) })
}

// keeper knows what Keep holds by datasource.
type keeper struct {
	*Historical
	held map[string]map[string]bool
}

// visit brings the cache in line with the rules at the time now; the error says that something is left to do.
func (k *keeper) visit(ctx context.Context, v duty.Visit, now int64) error {
	var failed []error
	loaded := map[string]bool{}
	if v.All { // an earlier process may have left them
		for _, id := range k.cache.Loaded() {
			loaded[id] = true
		}
	}
	for _, dataSource := range v.DataSources {
		there := k.held[dataSource]
		if v.All {
			there = loaded
		}
		wanted, err := k.follow(ctx, v, dataSource, now, there)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			failed = append(failed, err)
		}
		for id := range k.held[dataSource] {
			if !wanted[id] {
				failed = append(failed, k.drop(ctx, id))
			}
		}
		if k.held[dataSource] = wanted; len(wanted) == 0 {
			delete(k.held, dataSource)
		}
	}
	if v.All { // what is left is nobody's
		failed = append(failed, k.dropOthers(ctx))
	}
	return errors.Join(failed...)
}

// follow loads what is wanted of a datasource and is not there, and returns the ids that stay.
func (h *Historical) follow(
	ctx context.Context, v duty.Visit, dataSource string, now int64, there map[string]bool,
) (wanted map[string]bool, failed error) {
	wanted = map[string]bool{}
	verdicts := map[chrono.Interval]placement{} // segments of one interval share their rule
	missing := 0
	holders := v.State.Timeline(dataSource).Lookup(chrono.Eternity)
	slices.Reverse(holders)
	for _, holder := range holders {
		for _, s := range holder.Segments() {
			id := s.ID.String()
			if s.IsTombstone() || wanted[id] {
				continue
			}
			p, ok := verdicts[s.ID.Interval]
			if !ok {
				p = h.place(s.ID.Interval, now, v.Rules[dataSource], v.Rules[rule.Default])
				verdicts[s.ID.Interval] = p
			}
			if p == away || p == asItIs && !there[id] {
				continue
			}
			wanted[id] = true
			if there[id] {
				continue
			}
			if err := h.Load(ctx, s); err != nil {
				if ctx.Err() != nil {
					return wanted, nil
				}
				h.log.ErrorContext(ctx, "a segment could not be loaded", "segment", id, "error", err)
				delete(wanted, id)
				missing, failed = missing+1, err
			}
		}
	}
	if missing > 0 {
		return wanted, fault.Runtime("[%d] segments of datasource [%s] could not be loaded", missing, dataSource).WithCause(failed)
	}
	return wanted, nil
}

// placement is what the rules say of a segment on this server.
type placement uint8

const (
	// away: no copy is wanted here.
	away placement = iota
	here
	// asItIs: no rule is about the segment; it stays if it is here.
	asItIs
)

func (h *Historical) place(iv chrono.Interval, now int64, lists ...rule.List) placement {
	match, found := rule.Find(iv, now, lists...)
	switch {
	case !found:
		return asItIs
	case match.Copies(h.tier, 1) > 0:
		return here
	}
	return away
}

func (h *Historical) drop(ctx context.Context, id string) error {
	err := h.cache.Drop(id)
	if err != nil {
		h.log.ErrorContext(ctx, "a segment could not be dropped", "segment", id, "error", err)
	}
	return err
}

// dropOthers drops what is loaded and not held for any datasource.
func (k *keeper) dropOthers(ctx context.Context) error {
	keep := map[string]bool{}
	for _, ids := range k.held {
		maps.Copy(keep, ids)
	}
	var failed []error
	for _, id := range k.cache.Loaded() {
		if !keep[id] {
			failed = append(failed, k.drop(ctx, id))
		}
	}
	return errors.Join(failed...)
}
