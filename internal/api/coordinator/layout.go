package coordinator

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
)

func (a *API) layoutRoutes(mux routes) {
	mux.On("GET "+coordinatorBase+"/intervals", func(w http.ResponseWriter, r *http.Request) error {
		return write(w, byDataSource(readableSegments(r, slices.Collect(a.view().all()))))
	})
	mux.On("GET "+coordinatorBase+"/intervals/{interval}", a.interval)
	mux.On("GET "+coordinatorBase+"/servers", a.servers)
	mux.On("GET "+coordinatorBase+"/servers/{server}", a.server)
	mux.On("GET "+coordinatorBase+"/servers/{server}/segments", a.serverSegments)
	mux.On("GET "+coordinatorBase+"/servers/{server}/segments/{segment}", a.serverSegment)
	mux.On("GET "+coordinatorBase+"/tiers", a.tiers)
	mux.On("GET "+coordinatorBase+"/tiers/{tier}", a.tier)
}

// readableSegments leaves out the segments of datasources that the user may not read.
func readableSegments(r *http.Request, list []served) []served {
	return auth.Readable(r.Context(), auth.Of(r.Context()), list, func(s served) string { return s.ID.DataSource })
}

// byDataSource is the sums of segments by interval, the newest first, and by datasource.
func byDataSource(list []served) object {
	sums := map[chrono.Interval]map[string]*sizeCount{}
	for _, s := range list {
		of := sums[s.ID.Interval]
		if of == nil {
			of = map[string]*sizeCount{}
			sums[s.ID.Interval] = of
		}
		if of[s.ID.DataSource] == nil {
			of[s.ID.DataSource] = &sizeCount{}
		}
		of[s.ID.DataSource].add(s)
	}
	out := make(object, 0, len(sums))
	for _, iv := range slices.SortedFunc(maps.Keys(sums), newestFirst) {
		out = append(out, member{iv.String(), sums[iv]})
	}
	return out
}

// interval sums up the segments inside an interval, though prose elsewhere says those that meet it.
func (a *API) interval(w http.ResponseWriter, r *http.Request) error {
	iv, err := pathInterval(r)
	if err != nil {
		return err
	}
	list := readableSegments(r, contained(slices.Collect(a.view().all()), iv))
	switch {
	case has(r, "full"):
		return write(w, byDataSource(list))
	case has(r, "simple"):
		return write(w, intervalMap(list, false))
	case len(list) == 0:
		return write(w, struct{}{})
	}
	sum := sizeCount{}
	for _, s := range list {
		sum.add(s)
	}
	return write(w, sum)
}

// on returns what a server holds of the used segments.
func (v *view) on(server *Server) []served {
	var out []served
	for s := range v.all() {
		if server.holds(s.Segment, s.id) {
			out = append(out, s)
		}
	}
	return out
}

func (v *view) serverObject(s *Server, full bool) object {
	if !full {
		return object{
			{"host", s.Host}, {"tier", s.Tier}, {"type", s.Type}, {"priority", s.Priority}, {"currSize", s.UsedSize}, {"maxSize", s.MaxSize},
		}
	}
	segments := object{}
	for _, held := range v.on(s) {
		segments = append(segments, member{held.id, held.Segment})
	}
	return object{
		{"host", s.Host}, {"maxSize", s.MaxSize}, {"type", s.Type}, {"tier", s.Tier}, {"priority", s.Priority},
		{"segments", segments}, {"currSize", s.UsedSize},
	}
}

func (a *API) servers(w http.ResponseWriter, r *http.Request) error {
	v := a.view()
	if has(r, "full") || has(r, "simple") {
		out := make([]object, len(v.servers))
		for i := range v.servers {
			out[i] = v.serverObject(&v.servers[i], has(r, "full"))
		}
		return write(w, out)
	}
	out := make([]string, len(v.servers))
	for i, s := range v.servers {
		out[i] = s.Host
	}
	return write(w, out)
}

// named returns the server of the path, or nil.
func (v *view) named(r *http.Request) *Server {
	i := slices.IndexFunc(v.servers, func(s Server) bool { return s.Host == r.PathValue("server") })
	if i < 0 {
		return nil
	}
	return &v.servers[i]
}

func (a *API) server(w http.ResponseWriter, r *http.Request) error {
	v := a.view()
	s := v.named(r)
	if s == nil {
		return empty(w, http.StatusNotFound)
	}
	return write(w, v.serverObject(s, !has(r, "simple")))
}

func (a *API) serverSegments(w http.ResponseWriter, r *http.Request) error {
	v := a.view()
	s := v.named(r)
	switch {
	case s == nil:
		return empty(w, http.StatusNotFound)
	case has(r, "full"):
		return write(w, segmentsOf(v.on(s)))
	}
	return write(w, idsOf(v.on(s)))
}

func (a *API) serverSegment(w http.ResponseWriter, r *http.Request) error {
	v := a.view()
	s := v.named(r)
	if s == nil {
		return empty(w, http.StatusNotFound)
	}
	for _, held := range v.on(s) {
		if held.id == r.PathValue("segment") {
			return write(w, held.Segment)
		}
	}
	return empty(w, http.StatusNotFound)
}

func (a *API) tiers(w http.ResponseWriter, r *http.Request) error {
	type size struct {
		Used int64 `json:"currSize"`
		Max  int64 `json:"maxSize"`
	}
	sums := map[string]size{}
	for _, s := range a.view().servers {
		sum := sums[s.Tier]
		sums[s.Tier] = size{sum.Used + s.UsedSize, sum.Max + s.MaxSize}
	}
	if has(r, "simple") {
		return write(w, sums)
	}
	return write(w, slices.Sorted(maps.Keys(sums)))
}

// tier answers which datasources are on a tier, whose name matches in any case.
func (a *API) tier(w http.ResponseWriter, r *http.Request) error {
	var list []served
	for s := range a.view().all() {
		if slices.ContainsFunc(s.on, func(server *Server) bool { return strings.EqualFold(server.Tier, r.PathValue("tier")) }) {
			list = append(list, s)
		}
	}
	if has(r, "simple") {
		out := map[string]map[string]*sizeCount{}
		for _, s := range list {
			of, iv := out[s.ID.DataSource], s.ID.Interval.String()
			if of == nil {
				of = map[string]*sizeCount{}
				out[s.ID.DataSource] = of
			}
			if of[iv] == nil {
				of[iv] = &sizeCount{}
			}
			of[iv].add(s)
		}
		return write(w, out)
	}
	out := []string{}
	for _, s := range list {
		if n := len(out); n == 0 || out[n-1] != s.ID.DataSource {
			out = append(out, s.ID.DataSource)
		}
	}
	return write(w, out)
}
