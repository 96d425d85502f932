package coordinator

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/timeline"
)

// dutyRoutes adds what the Coordinator tells of its own work.
func (a *API) dutyRoutes(mux routes) {
	mux.On("GET "+coordinatorBase+"/duties", a.duties)
	mux.On("GET "+coordinatorBase+"/config/syncedBrokers", a.syncedBrokers)
	mux.On("GET "+coordinatorBase+"/config/cloneStatus", a.cloneStatus)
	mux.On("POST "+coordinatorBase+"/metadata/bootstrapSegments", a.bootstrapSegments)
}

func (a *API) duties(w http.ResponseWriter, _ *http.Request) error {
	groups := []object{}
	for _, r := range a.o.Duties() {
		s := r.Stats()
		var start, end any
		if s.Count > 0 {
			start, end = chrono.FormatMillis(s.Start.UnixMilli(), chrono.UTC), chrono.FormatMillis(s.End.UnixMilli(), chrono.UTC)
		}
		groups = append(groups, object{
			{"name", r.Name}, {"period", chrono.Period{Seconds: int32(r.Period / time.Second)}}, {"dutyNames", r.Duties}, {"lastRunStart", start}, {"lastRunEnd", end},
			{"avgRuntimeMillis", s.Runtime.Milliseconds()}, {"avgRunGapMillis", s.Gap.Milliseconds()},
		})
	}
	return write(w, map[string]any{"dutyGroups": groups})
}

// syncedBrokers answers which Brokers know the settings: those of this process read them where they
// are written.
func (a *API) syncedBrokers(w http.ResponseWriter, _ *http.Request) error {
	out := []object{}
	for _, n := range a.o.Nodes() {
		if n.Role == "broker" {
			out = append(out, object{{"host", n.Host}, {"port", n.Port}, {"lastSyncTimestampMillis", a.now()}})
		}
	}
	return write(w, map[string]any{"syncedBrokers": out})
}

// cloneStatus answers how far the servers of the setting [cloneServers] are from being like those
// they are to be clones of.
func (a *API) cloneStatus(w http.ResponseWriter, r *http.Request) error {
	c, err := duty.ReadSettings(r.Context(), a.store)
	if err != nil {
		return err
	}
	v, out := a.view(), []object{}
	for _, target := range slices.Sorted(maps.Keys(c.CloneServers)) {
		if only := r.URL.Query().Get("targetServer"); only == "" || only == target {
			out = append(out, v.clone(target, c.CloneServers[target]))
		}
	}
	return write(w, map[string]any{"cloneStatus": out})
}

func (v *view) clone(target, source string) object {
	find := func(host string) *Server {
		if i := slices.IndexFunc(v.servers, func(s Server) bool { return s.Host == host }); i >= 0 {
			return &v.servers[i]
		}
		return nil
	}
	from, to := find(source), find(target)
	state, loads, drops, size := "IN_PROGRESS", 0, 0, int64(0)
	switch {
	case from == nil:
		state = "SOURCE_SERVER_MISSING"
	case to == nil:
		state = "TARGET_SERVER_MISSING"
	default:
		for s := range v.all() {
			there, here := from.holds(s.Segment, s.id), to.holds(s.Segment, s.id)
			switch {
			case there && !here:
				loads++
				size += s.Size
			case here && !there:
				drops++
			}
		}
	}
	return object{
		{"sourceServer", source}, {"targetServer", target}, {"state", state}, {"segmentLoadsRemaining", loads}, {"segmentDropsRemaining", drops},
		{"bytesToLoad", size},
	}
}

// bootstrapSegments answers the segments that every server must hold before it serves.
func (a *API) bootstrapSegments(w http.ResponseWriter, r *http.Request) error {
	rules, err := a.allRules(r.Context())
	if err != nil {
		return fault.Unavailable("The retention rules can't be read now").WithCause(err)
	}
	v, out := a.view(), []*timeline.Segment{}
	for _, name := range v.state.DataSources() {
		tl := v.state.Timeline(name)
		for s := range v.used(name) {
			if match, ok := rules.find(name, s.ID.Interval, a.now()); ok && match.Action == rule.Broadcast && !tl.SegmentIsOvershadowed(s.Segment) {
				out = append(out, s.Segment)
			}
		}
	}
	return write(w, out)
}
