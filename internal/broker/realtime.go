package broker

import (
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/timeline"
)

// unpublishedOnly reports whether a query's context wants the rows of streaming tasks alone, which are not published yet. It may also want them
// beside the published ones, or not at all: with segments that are all published this is the same.
func unpublishedOnly(context map[string]any) (bool, error) {
	only, err := querycontext.RealtimeSegmentsOnly.Read(context)
	if err != nil {
		return false, err
	}
	mode, err := querycontext.RealtimeSegmentsMode.Read(context)
	if err != nil {
		return false, err
	}
	switch mode {
	case "include", "exclude", "exclusive":
		return only || mode == "exclusive", nil
	}
	return false, fault.BadContext("Expected key [realtimeSegmentsMode] to be one of [include, exclude, exclusive], but got [%s]", mode)
}

// tablesOf gives the segments that a query reads.
func (b *Broker) tablesOf(p *Prepared) *tables {
	state := p.State
	if p.unpublishedOnly {
		state = timeline.NewState(state.Number(), slices.Values([]*timeline.Segment(nil)))
	}
	return &tables{segments: b.segments, state: state}
}
