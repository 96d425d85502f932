package coordinator

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/hashorder"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/timeline"
)

// BrokerRoutes adds the datasource endpoints of the Broker to mux.
func (a *API) BrokerRoutes(m *edge.Mux) {
	mux := routes{m}
	const base = "/service/v2/datasources"
	mux.On("GET "+base, func(w http.ResponseWriter, r *http.Request) error {
		return write(w, readableNames(r, a.seen().dataSources()))
	})
	mux.On("GET "+base+"/{dataSource}", a.describe)
	mux.On("GET "+base+"/{dataSource}/dimensions", func(w http.ResponseWriter, r *http.Request) error {
		columns, err := a.columns(r)
		if err != nil {
			return err
		}
		return write(w, columns.Dimensions)
	})
	mux.On("GET "+base+"/{dataSource}/metrics", func(w http.ResponseWriter, r *http.Request) error {
		columns, err := a.columns(r)
		if err != nil {
			return err
		}
		return write(w, columns.Metrics)
	})
	mux.On("GET "+base+"/{dataSource}/candidates", a.candidates)
	mux.On("POST /service/v2/candidates", a.queryCandidates)
}

// columnNames are the columns of some segments, each once, in the order of Druid's hash sets. See
// quirk Q006.
type columnNames struct {
	Dimensions []string `json:"dimensions"`
	Metrics    []string `json:"metrics"`
}

func namesOf(list []served) columnNames {
	out := columnNames{Dimensions: []string{}, Metrics: []string{}}
	seen := map[string]bool{}
	for _, s := range list {
		for _, name := range s.Schema.Dimensions() {
			if !seen["d"+name] {
				seen["d"+name] = true
				out.Dimensions = append(out.Dimensions, name)
			}
		}
		for _, name := range s.Schema.Metrics() {
			if !seen["m"+name] {
				seen["m"+name] = true
				out.Metrics = append(out.Metrics, name)
			}
		}
	}
	hashorder.SortTexts(out.Dimensions)
	hashorder.SortTexts(out.Metrics)
	return out
}

// asked is the interval of a request, or the configured time before now. Here intervals have /
// only.
func (a *API) asked(r *http.Request) (chrono.Interval, error) {
	if text := r.URL.Query().Get("interval"); text != "" {
		return chrono.ParseInterval(text)
	}
	now := a.now()
	return chrono.Interval{Start: now - a.o.History, End: now}, nil
}

// columns are those of the served segments that overlap the interval asked for.
func (a *API) columns(r *http.Request) (columnNames, error) {
	iv, err := a.asked(r)
	if err != nil {
		return columnNames{}, err
	}
	return namesOf(slices.DeleteFunc(a.seen().served(r.PathValue("dataSource")), func(s served) bool { return !s.ID.Interval.Overlaps(iv) })), nil
}

func (a *API) describe(w http.ResponseWriter, r *http.Request) error {
	if !has(r, "full") {
		columns, err := a.columns(r)
		if err != nil {
			return err
		}
		return write(w, columns)
	}
	iv, err := a.asked(r)
	if err != nil {
		return err
	}
	list := a.seen().served(r.PathValue("dataSource"))
	return write(w, describedIntervals(list, iv))
}

// describedIntervals is the columns of the visible chunks by interval, ascending; neighbours with
// equal columns are one. A chunk that is not complete has none.
func describedIntervals(list []served, iv chrono.Interval) object {
	type part struct {
		chrono.Interval
		columns columnNames
	}
	var parts []part
	byID := map[string]served{}
	for _, s := range list {
		byID[s.id] = s
	}
	for _, holder := range timelineOf(list).LookupIncomplete(iv) {
		columns := namesOf(nil)
		if holder.Chunk.IsComplete() {
			var of []served
			for _, s := range holder.Segments() {
				of = append(of, byID[s.ID.String()])
			}
			columns = namesOf(of)
		}
		if n := len(parts); n > 0 && parts[n-1].End == holder.Interval.Start &&
			slices.Equal(parts[n-1].columns.Dimensions, columns.Dimensions) && slices.Equal(parts[n-1].columns.Metrics, columns.Metrics) {
			parts[n-1].End = holder.Interval.End
			continue
		}
		parts = append(parts, part{holder.Interval, columns})
	}
	out := make(object, len(parts))
	for i, p := range parts {
		out[i] = member{p.Interval.String(), p.columns}
	}
	return out
}

// mostCandidates returns how many servers of a segment are asked for, 0 or less: all; false: it is
// no number.
func mostCandidates(r *http.Request) (int, bool) {
	limit, _, ok := queryInt(r, "numCandidates")
	return limit, ok
}

func (a *API) candidates(w http.ResponseWriter, r *http.Request) error {
	text := r.URL.Query().Get("intervals")
	if text == "" {
		return fault.InvalidInput("Parameter [intervals] is missing")
	}
	limit, ok := mostCandidates(r)
	if !ok {
		return empty(w, http.StatusNotFound)
	}
	var intervals []chrono.Interval
	if text = strings.TrimRight(text, ","); text != "" { // quirk Q012: as lists of Druid may end
		var err error
		if intervals, err = chrono.ParseIntervals(text); err != nil {
			return err
		}
	}
	return write(w, a.seen().candidates(r.PathValue("dataSource"), chrono.Condense(intervals), limit))
}

// queryCandidates answers which segments a native query would read, and where they are.
func (a *API) queryCandidates(w http.ResponseWriter, r *http.Request) error {
	text, err := a.body(w, r)
	if err != nil {
		return err
	}
	q, err := native.Decode(text)
	if err != nil {
		return err
	}
	limit, ok := mostCandidates(r)
	if !ok {
		return empty(w, http.StatusNotFound)
	}
	v, out := a.seen(), []object{}
	for _, dataSource := range native.ScannedTables(q.Parts().DataSource.DataSource) {
		out = append(out, v.candidates(dataSource, q.Parts().When(), limit)...)
	}
	return write(w, out)
}

// candidates describes the segments of the visible chunks in the intervals, each with the part of
// them that it answers for and at most limit servers; 0 or less is all.
func (v *view) candidates(dataSource string, intervals []chrono.Interval, limit int) []object {
	out := []object{}
	list := v.served(dataSource)
	byID := make(map[timeline.SegmentID]served, len(list))
	for _, s := range list {
		byID[s.ID] = s
	}
	for _, holder := range timelineOf(list).LookupIncomplete(intervals...) {
		for _, segment := range holder.Segments() {
			s := byID[segment.ID]
			on := s.on
			if limit > 0 {
				on = on[:min(limit, len(on))]
			}
			out = append(out, object{
				{"interval", holder.Interval}, {"version", s.ID.Version}, {"partitionNumber", s.ID.Partition}, {"size", s.Size},
				{"locations", serverObjects(on)},
			})
		}
	}
	return out
}
