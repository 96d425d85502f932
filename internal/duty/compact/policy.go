package compact

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// The policies.
const (
	newestSegmentFirst  = "newestSegmentFirst"
	fixedIntervalOrder  = "fixedIntervalOrder"
	mostFragmentedFirst = "mostFragmentedFirst"
)

// Policy defines the order in which groups of segments are compacted, and which are not compacted.
type Policy struct {
	Type string
	// Priority is the datasource that is compacted before all others; "": none.
	Priority string
	// Fixed are the groups of fixedIntervalOrder, in order. Other groups are not compacted.
	Fixed []FixedCandidate
	// Fragmented are the limits of mostFragmentedFirst.
	Fragmented FragmentedLimits
}

// FixedCandidate is an interval of a datasource.
type FixedCandidate struct {
	DataSource string          `json:"datasource"`
	Interval   chrono.Interval `json:"interval"`
}

// FragmentedLimits are the thresholds above which a group is fragmented.
type FragmentedLimits struct {
	MinCount   int64 `json:"minUncompactedCount"`
	MinBytes   int64 `json:"minUncompactedBytes"`
	MaxAverage int64 `json:"maxAverageUncompactedBytesPerSegment"`
}

var defaultFragmented = FragmentedLimits{MinCount: 100, MinBytes: 10 << 20, MaxAverage: 2 << 30}

// UnmarshalJSON parses a policy according to its type.
func (p *Policy) UnmarshalJSON(text []byte) error {
	w := struct {
		Type     string           `json:"type"`
		Priority string           `json:"priorityDatasource"`
		Fixed    []FixedCandidate `json:"eligibleCandidates"`
		FragmentedLimits
	}{FragmentedLimits: defaultFragmented}
	if isNull(text) {
		*p = Policy{Type: newestSegmentFirst}
		return nil
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return fault.InvalidInput("The compactionPolicy is not readable: %v", err).WithCause(err)
	}
	*p = Policy{Type: w.Type, Priority: w.Priority}
	switch w.Type {
	case fixedIntervalOrder:
		p.Fixed = w.Fixed
	case mostFragmentedFirst:
		p.Fragmented = w.FragmentedLimits
	}
	return nil
}

// MarshalJSON returns the members of the type.
func (p Policy) MarshalJSON() ([]byte, error) {
	switch p.Type {
	case fixedIntervalOrder:
		return json.Marshal(struct {
			Type  string           `json:"type"`
			Fixed []FixedCandidate `json:"eligibleCandidates"`
		}{p.Type, slices.Concat([]FixedCandidate{}, p.Fixed)})
	case mostFragmentedFirst:
		return json.Marshal(struct {
			Type     string `json:"type"`
			Priority string `json:"priorityDatasource,omitempty"`
			FragmentedLimits
		}{p.Type, p.Priority, p.Fragmented})
	}
	return json.Marshal(struct {
		Type     string `json:"type"`
		Priority string `json:"priorityDatasource,omitempty"`
	}{p.Type, p.Priority})
}

func (p *Policy) validate() error {
	switch p.Type {
	case newestSegmentFirst:
		return nil
	case fixedIntervalOrder:
		if len(p.Fixed) == 0 {
			return fault.InvalidInput("compactionPolicy [%s] needs eligibleCandidates", p.Type)
		}
		return nil
	case mostFragmentedFirst:
		if f := p.Fragmented; f.MinCount < 0 || f.MinBytes < 0 || f.MaxAverage <= 0 {
			return fault.InvalidInput("The limits of compactionPolicy [%s] must not be negative, and its average must be positive", p.Type)
		}
		return nil
	}
	return fault.InvalidInput("compactionPolicy [%s] is unknown; known policies are [%s, %s, %s]",
		p.Type, newestSegmentFirst, fixedIntervalOrder, mostFragmentedFirst)
}

// fixed returns the place of a group among those that fixedIntervalOrder takes, -1 if it is not
// there.
func (p *Policy) fixed(g *Group) int {
	return slices.IndexFunc(p.Fixed, func(f FixedCandidate) bool { return f.DataSource == g.DataSource && f.Interval.Contains(g.Interval) })
}

// refuses returns why the policy does not take a group, or "".
func (p *Policy) refuses(g *Group) string {
	switch p.Type {
	case fixedIntervalOrder:
		if p.fixed(g) < 0 {
			return "Rejected by search policy: not one of its eligible candidates"
		}
	case mostFragmentedFirst:
		f, count := p.Fragmented, int64(len(g.Segments))
		switch {
		case count < f.MinCount:
			return "Rejected by search policy: too few uncompacted segments"
		case g.Bytes < f.MinBytes:
			return "Rejected by search policy: too few uncompacted bytes"
		case g.Bytes/count > f.MaxAverage:
			return "Rejected by search policy: its segments are large already"
		}
	}
	return ""
}

// compare orders groups: what goes first is less.
func (p *Policy) compare(a, b *Group) int {
	if p.Type == fixedIntervalOrder {
		return cmp.Or(cmp.Compare(p.fixed(a), p.fixed(b)), b.Interval.Compare(a.Interval))
	}
	if p.Priority != "" && (a.DataSource == p.Priority) != (b.DataSource == p.Priority) {
		if a.DataSource == p.Priority {
			return -1
		}
		return 1
	}
	if p.Type == mostFragmentedFirst { // many segments for few bytes
		if c := cmp.Compare(float64(len(b.Segments))/float64(b.Bytes), float64(len(a.Segments))/float64(a.Bytes)); c != 0 {
			return c
		}
	}
	return cmp.Or(b.Interval.Compare(a.Interval), cmp.Compare(a.DataSource, b.DataSource))
}
