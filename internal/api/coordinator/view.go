package coordinator

import (
	"cmp"
	"iter"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/timeline"
)

// Inventory lists the data servers and their segments.
type Inventory interface {
	// Servers returns the current servers, sorted by host.
	Servers() []Server
}

// Server is a data server.
type Server struct {
	// Host is host:port, which names the server.
	Host string
	// Plain and Secure are host:port of HTTP and of HTTPS; "": not open. If both are empty, Host is
	// that of HTTP.
	Plain, Secure string
	// Type is "historical", "indexer-executor", ...; only historicals are targets of replication.
	Type, Tier        string
	Priority          int
	MaxSize, UsedSize int64
	// Clone is true if it mirrors another server, regardless of the rules.
	Clone bool
	// Loaded are the sorted ids of its segments.
	Loaded []string
}

// replicates reports whether rules place segments on the server.
func (s *Server) replicates() bool { return s.Type == "historical" && !s.Clone }

// holds reports whether the server answers for a segment. A tombstone has no bytes, and so is
// wherever segments may be.
func (s *Server) holds(segment *timeline.Segment, id string) bool {
	if segment.IsTombstone() {
		return s.replicates()
	}
	_, found := slices.BinarySearch(s.Loaded, id)
	return found
}

// served is a segment with the servers that hold it.
type served struct {
	*timeline.Segment
	id string
	on []*Server
}

// hosts returns the addresses of the servers.
func (s served) hosts() []string {
	out := make([]string, len(s.on))
	for i, server := range s.on {
		out[i] = server.Host
	}
	return out
}

// view is the used segments and the servers at one moment.
type view struct {
	state   *timeline.State
	servers []Server
}

func (a *API) view() *view { return &view{state: a.published.Pin(), servers: a.inventory.Servers()} }

// seen is the view of the Broker of this process.
func (a *API) seen() *view {
	v := a.view()
	if a.o.Seen != nil {
		v.state = a.o.Seen()
	}
	return v
}

// used yields the used segments of a datasource with the servers that hold them, those that none
// holds too.
func (v *view) used(dataSource string) iter.Seq[served] {
	return func(yield func(served) bool) {
		for s := range v.state.Timeline(dataSource).All() {
			out := served{Segment: s, id: s.ID.String()}
			for i := range v.servers {
				if v.servers[i].holds(s, out.id) {
					out.on = append(out.on, &v.servers[i])
				}
			}
			if !yield(out) {
				return
			}
		}
	}
}

// served returns the segments of a datasource that are on some server, ascending by the text of
// their id.
func (v *view) served(dataSource string) []served {
	var out []served
	for s := range v.used(dataSource) {
		if len(s.on) > 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b served) int { return cmp.Compare(a.id, b.id) })
	return out
}

// all yields the served segments of every datasource.
func (v *view) all() iter.Seq[served] {
	return func(yield func(served) bool) {
		for _, dataSource := range v.state.DataSources() {
			for _, s := range v.served(dataSource) {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// dataSources returns the names of the datasources that are served, ascending.
func (v *view) dataSources() []string {
	out := []string{}
	for _, dataSource := range v.state.DataSources() {
		for s := range v.used(dataSource) {
			if len(s.on) > 0 {
				out = append(out, dataSource)
				break
			}
		}
	}
	return out
}

// tiers returns the tiers that have servers, ascending, with the number of servers that rules place
// segments on.
func (v *view) tiers() map[string]int {
	out := map[string]int{}
	for _, s := range v.servers {
		if s.replicates() {
			out[s.Tier]++
		}
	}
	return out
}

// newestFirst orders intervals as the answers of Druid do: by start, then end, both falling. See
// quirk Q014.
func newestFirst(a, b chrono.Interval) int { return b.Compare(a) }

// sizeCount is the sum of some segments.
type sizeCount struct {
	Size  int64 `json:"size"`
	Count int   `json:"count"`
}

func (c *sizeCount) add(s served) {
	c.Size += s.Size
	c.Count++
}

// segmentsOf returns the descriptors.
func segmentsOf(list []served) []*timeline.Segment {
	out := make([]*timeline.Segment, len(list))
	for i, s := range list {
		out[i] = s.Segment
	}
	return out
}

// idsOf returns the texts of the ids.
func idsOf(list []served) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.id
	}
	return out
}
