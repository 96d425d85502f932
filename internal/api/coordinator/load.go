package coordinator

import (
	"net/http"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/timeline"
)

// loadWindow is the time that the load status of a datasource is about when no interval is given:
// two weeks, in milliseconds.
const loadWindow = 14 * 24 * 60 * 60 * 1000

func (a *API) loadRoutes(mux routes) {
	mux.On("GET "+coordinatorBase+"/loadstatus", a.loadStatus)
	mux.On("GET "+coordinatorBase+"/loadqueue", a.loadQueue)
	mux.On("GET "+coordinatorBase+"/datasources/{dataSource}/loadstatus", a.dataSourceLoadStatus)
}

// wants is what the rules want of a segment, and what there is.
type wants struct {
	served
	// missing is the copies that lack by tier, for each tier that the rule names; capped likewise, but
	// wanting no more than the tier has servers.
	missing, capped map[string]int
	// unloaded says that rules want the segment loaded and no server has it.
	unloaded bool
}

// status looks at the segments of a datasource that are not overshadowed and overlap an interval.
// Those that rules keep in deep storage only, or drop, lack nothing.
func (v *view) status(dataSource string, iv chrono.Interval, rules ruleLists, now int64) []wants {
	var out []wants
	tl, tiers := v.state.Timeline(dataSource), v.tiers()
	for s := range v.used(dataSource) {
		if !s.ID.Interval.Overlaps(iv) || tl.SegmentIsOvershadowed(s.Segment) {
			continue
		}
		entry := wants{served: s, missing: map[string]int{}, capped: map[string]int{}}
		if match, ok := rules.find(dataSource, s.ID.Interval, now); ok {
			names := match.Replicas
			if names == nil && wanted(match, tiers) {
				names = tiers
			}
			for tier := range names {
				copies := match.Copies(tier, tiers[tier])
				loaded := 0
				for _, server := range s.on {
					if server.Tier == tier && server.replicates() {
						loaded++
					}
				}
				entry.missing[tier] = max(0, copies-loaded)
				entry.capped[tier] = max(0, min(copies, tiers[tier])-loaded)
			}
			entry.unloaded = wanted(match, tiers) && len(s.on) == 0
		}
		out = append(out, entry)
	}
	return out
}

// report sums statuses up by datasource in the form that a request's flags choose.
type report struct {
	r       *http.Request
	percent map[string]percent
	left    map[string]int
	tiers   map[string]map[string]int
}

func newReport(r *http.Request) *report {
	return &report{r: r, percent: map[string]percent{}, left: map[string]int{}, tiers: map[string]map[string]int{}}
}

func (p *report) add(dataSource string, list []wants) {
	capped := has(p.r, "computeUsingClusterView")
	for _, s := range list {
		if s.unloaded {
			p.left[dataSource]++
		}
		missing := s.missing
		if capped {
			missing = s.capped
		}
		for tier, n := range missing {
			if p.tiers[tier] == nil {
				p.tiers[tier] = map[string]int{}
			}
			p.tiers[tier][dataSource] += n
		}
	}
	p.left[dataSource] += 0 // present with 0
	p.percent[dataSource] = 100
	if len(list) > 0 {
		p.percent[dataSource] = percent(100 * float64(len(list)-p.left[dataSource]) / float64(len(list)))
	}
}

func (p *report) write(w http.ResponseWriter) error {
	switch {
	case has(p.r, "simple"):
		return write(w, p.left)
	case has(p.r, "full"):
		return write(w, p.tiers)
	}
	return write(w, p.percent)
}

func (a *API) loadStatus(w http.ResponseWriter, r *http.Request) error {
	rules, err := a.allRules(r.Context())
	if err != nil {
		return err
	}
	v, now, out := a.view(), a.now(), newReport(r)
	for _, name := range v.state.DataSources() {
		out.add(name, v.status(name, chrono.Eternity, rules, now))
	}
	return out.write(w)
}

func (a *API) dataSourceLoadStatus(w http.ResponseWriter, r *http.Request) error {
	name, now := r.PathValue("dataSource"), a.now()
	if !has(r, "forceMetadataRefresh") {
		writeText(w, http.StatusBadRequest, "Invalid request. forceMetadataRefresh must be specified")
		return nil
	}
	iv, err := queryInterval(r)
	if err != nil {
		return err
	}
	if iv == nil {
		iv = &chrono.Interval{Start: now - loadWindow, End: now}
	}
	if r.URL.Query().Get("forceMetadataRefresh") == "true" {
		number, err := a.store.Number(r.Context())
		if err != nil {
			return err
		}
		if err := a.caught(r.Context(), number); err != nil {
			return err
		}
	}
	rules, err := a.allRules(r.Context())
	if err != nil {
		return err
	}
	list := a.view().status(name, *iv, rules, now)
	if len(list) == 0 {
		return empty(w, http.StatusNoContent)
	}
	out := newReport(r)
	out.add(name, list)
	return out.write(w)
}

// Queue contains the pending loads and drops of a server, by the texts of ids, and its loading rate
// in kilobits per second; 0: not known.
type Queue struct {
	Load, Drop []string
	Kbps       int64
}

// loadQueue answers what each server has yet to load and to drop. Of segments that are used no more
// only the ids are known.
func (a *API) loadQueue(w http.ResponseWriter, r *http.Request) error {
	v, queues := a.view(), a.o.Queues()
	find := func(ids []string) (list []*timeline.Segment, size int64) {
		list = []*timeline.Segment{}
		for _, text := range ids {
			for _, id := range timeline.ParseAnyID(text) {
				if s := v.state.Timeline(id.DataSource).Segment(id); s != nil {
					list, size = append(list, s), size+s.Size
				}
			}
		}
		return list, size
	}
	out := object{}
	for _, server := range v.servers {
		queue := queues[server.Host]
		slices.Sort(queue.Load)
		slices.Sort(queue.Drop)
		var of object
		switch {
		case has(r, "simple"):
			_, load := find(queue.Load)
			_, drop := find(queue.Drop)
			expected := int64(0)
			if queue.Kbps > 0 {
				expected = 8 * load / queue.Kbps
			}
			of = object{
				{"segmentsToLoad", len(queue.Load)}, {"segmentsToDrop", len(queue.Drop)}, {"segmentsToLoadSize", load}, {"segmentsToDropSize", drop},
				{"expectedLoadTimeMillis", expected},
			}
		case has(r, "full"):
			load, _ := find(queue.Load)
			drop, _ := find(queue.Drop)
			of = object{{"segmentsToLoad", load}, {"segmentsToDrop", drop}}
		default:
			of = object{{"segmentsToLoad", append([]string{}, queue.Load...)}, {"segmentsToDrop", append([]string{}, queue.Drop...)}}
		}
		out = append(out, member{server.Host, of})
	}
	return write(w, out)
}
