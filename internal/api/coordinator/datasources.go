package coordinator

import (
	"net/http"
	"slices"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/timeline"
)

func (a *API) servedRoutes(mux routes) {
	const base = coordinatorBase + "/datasources"
	mux.On("GET "+base, a.dataSources)
	mux.On("GET "+base+"/{dataSource}", a.known(dataSource))
	mux.On("GET "+base+"/{dataSource}/intervals", a.known(dataSourceIntervals))
	mux.On("GET "+base+"/{dataSource}/intervals/{interval}", a.dataSourceInterval)
	mux.On("GET "+base+"/{dataSource}/intervals/{interval}/serverview", a.serverView)
	mux.On("GET "+base+"/{dataSource}/segments", a.known(dataSourceSegments))
	mux.On("GET "+base+"/{dataSource}/segments/{segment}", a.known(dataSourceSegment))
	mux.On("GET "+base+"/{dataSource}/tiers", a.dataSourceTiers)
	mux.On("GET "+base+"/{dataSource}/handoffComplete", a.handoffComplete)
}

// known makes a handler of one for the served segments of the path's datasource. If there are none,
// the answer is 204.
func (a *API) known(h func(w http.ResponseWriter, r *http.Request, list []served) error) edge.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		list := a.view().served(r.PathValue("dataSource"))
		if len(list) == 0 {
			return empty(w, http.StatusNoContent)
		}
		return h(w, r, list)
	}
}

func (a *API) dataSources(w http.ResponseWriter, r *http.Request) error {
	v := a.view()
	if !has(r, "full") && !has(r, "simple") {
		names := v.dataSources()
		if a.o.Live != nil { // those that no Historical serves yet are served by workers
			names = slices.Concat(names, a.o.Live())
			slices.Sort(names)
			names = slices.Compact(names)
		}
		return write(w, readableNames(r, names))
	}
	names := readableNames(r, v.dataSources())
	out := make([]object, len(names))
	for i, name := range names {
		list := v.served(name)
		if has(r, "full") {
			out[i] = whole(name, list)
		} else {
			out[i] = object{{"name", name}, {"properties", properties(list)}}
		}
	}
	return write(w, out)
}

// whole is a datasource with all its segments. The served view keeps no properties of datasources.
func whole(name string, list []served) object {
	return object{{"name", name}, {"properties", struct{}{}}, {"segments", segmentsOf(list)}}
}

func dataSource(w http.ResponseWriter, r *http.Request, list []served) error {
	if has(r, "full") {
		return write(w, whole(r.PathValue("dataSource"), list))
	}
	return write(w, properties(list))
}

type tierProperties struct {
	SegmentCount   int   `json:"segmentCount"`
	Size           int64 `json:"size"`
	ReplicatedSize int64 `json:"replicatedSize"`
}

// properties sums a datasource up: each segment once, each copy in the replicated sizes.
func properties(list []served) object {
	tiers := map[string]*tierProperties{}
	count, size, replicated := 0, int64(0), int64(0)
	span := list[0].ID.Interval
	for _, s := range list {
		span = span.Span(s.ID.Interval)
		count++
		size += s.Size
		replicated += s.Size * int64(len(s.on))
		seen := map[string]bool{}
		for _, server := range s.on {
			t := tiers[server.Tier]
			if t == nil {
				t = &tierProperties{}
				tiers[server.Tier] = t
			}
			t.ReplicatedSize += s.Size
			if !seen[server.Tier] {
				seen[server.Tier] = true
				t.SegmentCount++
				t.Size += s.Size
			}
		}
	}
	return object{{"tiers", tiers}, {"segments", object{
		{"count", count}, {"size", size}, {"replicatedSize", replicated},
		{"minTime", chrono.FormatMillis(span.Start, chrono.UTC)}, {"maxTime", chrono.FormatMillis(span.End, chrono.UTC)},
	}}}
}

func dataSourceIntervals(w http.ResponseWriter, r *http.Request, list []served) error {
	if has(r, "full") || has(r, "simple") {
		return write(w, intervalMap(list, has(r, "full")))
	}
	out := []chrono.Interval{}
	for _, s := range list {
		out = append(out, s.ID.Interval)
	}
	slices.SortFunc(out, newestFirst)
	return write(w, slices.Compact(out))
}

func (a *API) dataSourceInterval(w http.ResponseWriter, r *http.Request) error {
	iv, err := pathInterval(r)
	if err != nil {
		return err
	}
	return a.known(func(w http.ResponseWriter, r *http.Request, list []served) error {
		list = contained(list, iv)
		if has(r, "full") || has(r, "simple") {
			return write(w, intervalMap(list, has(r, "full")))
		}
		return write(w, idsOf(list))
	})(w, r)
}

// contained returns the segments whose interval lies in iv.
func contained(list []served, iv chrono.Interval) []served {
	return slices.DeleteFunc(list, func(s served) bool { return !iv.Contains(s.ID.Interval) })
}

// intervalMap is segments by interval, the newest first: their sums, or in full each with the
// servers that hold it.
func intervalMap(list []served, full bool) object {
	sums, members := map[chrono.Interval]*sizeCount{}, map[chrono.Interval]object{}
	var order []chrono.Interval
	for _, s := range list {
		iv := s.ID.Interval
		if sums[iv] == nil {
			sums[iv] = &sizeCount{}
			order = append(order, iv)
		}
		sums[iv].add(s)
		members[iv] = append(members[iv], member{s.id, located(s)})
	}
	slices.SortFunc(order, newestFirst)
	out := make(object, len(order))
	for i, iv := range order {
		out[i] = member{iv.String(), sums[iv]}
		if full {
			out[i].value = members[iv]
		}
	}
	return out
}

// located is a segment with the addresses that hold it.
func located(s served) object { return object{{"metadata", s.Segment}, {"servers", s.hosts()}} }

func dataSourceSegments(w http.ResponseWriter, r *http.Request, list []served) error {
	if has(r, "full") {
		return write(w, segmentsOf(list))
	}
	return write(w, idsOf(list))
}

func dataSourceSegment(w http.ResponseWriter, r *http.Request, list []served) error {
	id := r.PathValue("segment")
	i := slices.IndexFunc(list, func(s served) bool { return s.id == id })
	if i < 0 {
		return empty(w, http.StatusNoContent)
	}
	return write(w, located(list[i]))
}

// serverView answers which servers hold the chunks that overlap an interval: under the interface's
// own name by interval, under an alias as Druid's flat list. See quirk Q014.
func (a *API) serverView(w http.ResponseWriter, r *http.Request) error {
	iv, err := pathInterval(r)
	if err != nil {
		return err
	}
	byInterval, order := map[chrono.Interval][]object{}, []chrono.Interval{}
	flat := []object{}
	for _, s := range servedChunks(a.view().served(r.PathValue("dataSource")), iv) {
		element := object{{"segment", s.Segment}, {"servers", serverObjects(s.on)}}
		if _, ok := byInterval[s.ID.Interval]; !ok {
			order = append(order, s.ID.Interval)
		}
		byInterval[s.ID.Interval] = append(byInterval[s.ID.Interval], element)
		flat = append(flat, element)
	}
	if edge.DialectOf(r.Context()).IsAlias() {
		return write(w, flat)
	}
	out := make(object, len(order))
	for i, iv := range order {
		out[i] = member{iv.String(), byInterval[iv]}
	}
	return write(w, out)
}

// servedChunks returns the served segments of the chunks that are visible among them in the
// intervals, incomplete ones included.
func servedChunks(list []served, intervals ...chrono.Interval) []served {
	byID := make(map[timeline.SegmentID]served, len(list))
	for _, s := range list {
		byID[s.ID] = s
	}
	var out []served
	seen := map[timeline.SegmentID]bool{}
	for _, holder := range timelineOf(list).LookupIncomplete(intervals...) {
		for _, s := range holder.Segments() {
			if !seen[s.ID] {
				seen[s.ID] = true
				out = append(out, byID[s.ID])
			}
		}
	}
	return out
}

// timelineOf returns the timeline of served segments only.
func timelineOf(list []served) *timeline.Timeline {
	var t *timeline.Timeline
	return t.Apply(timeline.Added(segmentsOf(list)...))
}

// plain is host:port of HTTP; "": there is none.
func (s *Server) plain() string {
	if s.Secure == "" {
		return s.Host
	}
	return s.Plain
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// serverObjects describes servers as the Broker's endpoints do.
func serverObjects(servers []*Server) []object {
	out := make([]object, len(servers))
	for i, s := range servers {
		out[i] = object{
			{"name", s.Host}, {"host", orNull(s.plain())}, {"hostAndTlsPort", orNull(s.Secure)}, {"maxSize", s.MaxSize}, {"storageSize", s.UsedSize},
			{"tier", s.Tier}, {"type", s.Type}, {"priority", s.Priority},
		}
	}
	return out
}

func (a *API) dataSourceTiers(w http.ResponseWriter, r *http.Request) error {
	out := []string{}
	for _, s := range a.view().served(r.PathValue("dataSource")) {
		for _, server := range s.on {
			if !slices.Contains(out, server.Tier) {
				out = append(out, server.Tier)
			}
		}
	}
	slices.Sort(out)
	return write(w, out)
}

// handoffComplete tells a task that its segment is served by others, or never will be, so that it
// may let go of it.
func (a *API) handoffComplete(w http.ResponseWriter, r *http.Request) error {
	iv, err := queryInterval(r)
	if err != nil {
		return refuseInput(w, err)
	}
	version := r.URL.Query().Get("version")
	partition, present, ok := queryInt(r, "partitionNumber")
	switch {
	case !ok:
		return empty(w, http.StatusNotFound)
	case iv == nil || version == "" || !present:
		return write(w, false)
	}
	name := r.PathValue("dataSource")
	rules, err := a.allRules(r.Context())
	if err != nil {
		return err
	}
	v := a.view()
	if match, ok := rules.find(name, *iv, a.now()); ok && !wanted(match, v.tiers()) {
		return write(w, true)
	}
	for _, s := range v.served(name) {
		if !slices.ContainsFunc(s.on, (*Server).replicates) || !s.ID.Interval.Contains(*iv) {
			continue
		}
		if s.ID.Version > version || s.ID.Version == version && s.ID.Partition == partition {
			return write(w, true)
		}
	}
	return write(w, false)
}

// wanted reports whether a rule wants a copy anywhere.
func wanted(r rule.Rule, tiers map[string]int) bool {
	if r.Action == rule.Broadcast {
		return len(tiers) > 0
	}
	for _, n := range r.Replicas {
		if n > 0 {
			return true
		}
	}
	return false
}
