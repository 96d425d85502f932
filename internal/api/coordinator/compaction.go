package coordinator

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/timeline"
)

func (a *API) compactionRoutes(mux routes) {
	const config, overlord = coordinatorBase + "/config/compaction", overlordBase + "/compaction"
	mux.On("GET "+config, func(w http.ResponseWriter, r *http.Request) error {
		c, err := a.compaction(r.Context())
		if err != nil {
			return err
		}
		return write(w, c)
	})
	mux.On("POST "+config, a.setCompaction)
	mux.On("POST "+config+"/cluster", a.setClusterCompaction)
	mux.On("POST "+config+"/taskslots", a.setTaskSlots)
	mux.On("GET "+coordinatorBase+"/compaction/status", a.compactionStatus)
	mux.On("GET "+coordinatorBase+"/compaction/progress", a.compactionProgress)
	mux.On("POST "+coordinatorBase+"/compaction/compact", func(w http.ResponseWriter, r *http.Request) error {
		if err := a.o.Compaction.Round(r.Context()); err != nil {
			return err
		}
		return empty(w, http.StatusOK)
	})
	for _, base := range []string{coordinatorBase + "/compaction", overlord} {
		mux.On("POST "+base+"/simulate", a.simulateCompaction)
	}

	mux.On("GET "+overlord+"/isSupervisorEnabled", func(w http.ResponseWriter, r *http.Request) error {
		c, err := a.compaction(r.Context())
		if err != nil {
			return err
		}
		return write(w, c.UseSupervisors)
	})
	mux.On("GET "+overlord+"/config/cluster", func(w http.ResponseWriter, r *http.Request) error {
		c, err := a.compaction(r.Context())
		if err != nil {
			return err
		}
		return write(w, c.Cluster)
	})
	mux.On("POST "+overlord+"/config/cluster", a.setClusterCompaction)
	for _, method := range []string{"GET ", "DELETE "} { // no name of a datasource
		mux.On(method+config+"/taskslots", func(w http.ResponseWriter, _ *http.Request) error {
			return empty(w, http.StatusMethodNotAllowed)
		})
	}
	mux.On("GET "+config+"/{dataSource}", a.compactionOf)
	mux.On("DELETE "+config+"/{dataSource}", a.deleteCompaction)
	a.supervisedRoutes(mux, overlord+"/config/datasources")
	mux.On("GET "+config+"/{dataSource}/history", func(w http.ResponseWriter, r *http.Request) error {
		entries, answered, err := a.compactionHistory(w, r)
		if answered || err != nil {
			return err
		}
		return write(w, entries)
	})
	mux.On("GET "+overlord+"/config/datasources/{dataSource}/history", func(w http.ResponseWriter, r *http.Request) error {
		entries, answered, err := a.compactionHistory(w, r)
		if answered || err != nil {
			return err
		}
		return write(w, map[string]any{"entries": entries})
	})
	mux.On("GET "+overlord+"/status/datasources", a.compactionStatusOfReadable)
	mux.On("GET "+overlord+"/status/datasources/{dataSource}", func(w http.ResponseWriter, r *http.Request) error {
		s, err := a.o.Compaction.Snapshots(r.Context(), r.PathValue("dataSource"))
		if err != nil {
			return err
		}
		if len(s) == 0 {
			return errNoCompaction
		}
		return write(w, s[0])
	})
}

// errNoCompaction is for a datasource without settings.
var errNoCompaction = fault.NotFound("Datasource compaction config does not exist")

func (a *API) compaction(ctx context.Context) (compact.Settings, error) {
	text, _, err := a.store.Setting(ctx, compact.SettingName)
	if err != nil {
		return compact.Settings{}, err
	}
	return compact.ParseStored(text)
}

// change replaces the setting by what edit makes of it.
func (a *API) change(r *http.Request, edit func(*compact.Settings) error) error {
	_, err := a.store.UpdateSetting(r.Context(), metastore.Fence{}, compact.SettingName, Audit(r, compact.SettingName, compact.SettingName),
		func(stored json.RawMessage) (json.RawMessage, error) {
			c, err := compact.ParseStored(stored)
			if err != nil {
				return nil, err
			}
			if err := edit(&c); err != nil {
				return nil, err
			}
			return json.Marshal(c)
		})
	if err == nil {
		a.o.Compaction.Nudge()
	}
	return err
}

// readCompaction reads the settings of a datasource from a request. If they can't be taken, it has
// been answered.
func (a *API) readCompaction(w http.ResponseWriter, r *http.Request) (config compact.Config, answered bool, err error) {
	text, err := a.body(w, r)
	if err != nil {
		return config, false, err
	}
	if config, err = parseCompaction(text); err != nil {
		return config, true, refuseInput(w, err)
	}
	if path := r.PathValue("dataSource"); path != "" && path != config.DataSource {
		return config, false, fault.InvalidInput("DataSource in spec[%s] does not match DataSource in path[%s]", config.DataSource, path)
	} else if path == "" && config.Engine != nil && *config.Engine == compact.EngineMSQ {
		return config, false, fault.InvalidInput("MSQ engine is supported only with supervisor-based compaction on the Overlord.")
	}
	return config, false, nil
}

func (a *API) setCompaction(w http.ResponseWriter, r *http.Request) error {
	config, answered, err := a.readCompaction(w, r)
	if answered || err != nil {
		return err
	}
	err = a.change(r, func(c *compact.Settings) error {
		if i := c.Find(config.DataSource); i >= 0 {
			c.Configs[i] = config
		} else {
			c.Configs = append(c.Configs, config)
		}
		return nil
	})
	if err != nil {
		return err
	}
	a.warnOfDataSource(w, config.DataSource)
	return empty(w, http.StatusOK)
}

// warnOfDataSource warns of settings for a datasource that has no segments, which may be a misspelt
// name.
func (a *API) warnOfDataSource(w http.ResponseWriter, name string) {
	names := a.view().state.DataSources()
	if a.o.Live != nil {
		names = slices.Concat(names, a.o.Live())
	}
	if slices.Contains(names, name) {
		return
	}
	a.warn(w, "Datasource [%s] has no segments yet; the settings take effect when it has some%s", name, fault.DidYouMean(name, names))
}

func (a *API) compactionOf(w http.ResponseWriter, r *http.Request) error {
	c, err := a.compaction(r.Context())
	if err != nil {
		return err
	}
	i := c.Find(r.PathValue("dataSource"))
	if i < 0 {
		return errNoCompaction
	}
	return write(w, c.Configs[i])
}

func (a *API) deleteCompaction(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("dataSource")
	err := a.change(r, func(c *compact.Settings) error {
		i := c.Find(name)
		if i < 0 {
			return errNoCompaction
		}
		c.Configs = slices.Delete(c.Configs, i, i+1)
		return nil
	})
	if err != nil {
		return err
	}
	a.o.Compaction.Removed(name)
	return empty(w, http.StatusOK)
}

// setClusterCompaction merges a body onto the cluster's settings.
func (a *API) setClusterCompaction(w http.ResponseWriter, r *http.Request) error {
	return a.takeSettings(w, r, func(text []byte) error {
		return a.change(r, func(c *compact.Settings) error {
			if err := decode(text, &c.Cluster); err != nil {
				return err
			}
			return c.Validate()
		})
	})
}

// setTaskSlots changes how many tasks compaction may run at once, from query parameters. Without
// any it does nothing.
func (a *API) setTaskSlots(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	slots, hasSlots, ok := queryInt(r, "max")
	ratio, err := strconv.ParseFloat(query.Get("ratio"), 64)
	hasRatio := query.Get("ratio") != ""
	if !ok || hasRatio && (err != nil || math.IsNaN(ratio) || math.IsInf(ratio, 0)) {
		return empty(w, http.StatusNotFound)
	}
	autoScale := query.Get("useAutoScaleSlots")
	if !hasSlots && !hasRatio && autoScale == "" {
		return empty(w, http.StatusOK)
	}
	if hasSlots && slots < 1 || hasRatio && ratio < 0 {
		return fault.InvalidInput("Compaction needs at least 1 task slot and a ratio that is not negative, not max [%s] and ratio [%s]; "+
			"to turn it off set maxCompactionTaskSlots to 0 in the cluster's settings", query.Get("max"), query.Get("ratio"))
	}
	err = a.change(r, func(c *compact.Settings) error {
		if hasSlots {
			c.MaxSlots = slots
		}
		if hasRatio {
			c.SlotRatio = ratio
		}
		if autoScale != "" {
			c.UseAutoScaleSlots = autoScale == "true"
		}
		return nil
	})
	if err != nil {
		return err
	}
	return empty(w, http.StatusOK)
}

// parseCompaction reads the settings of a datasource. The error is for their author.
func parseCompaction(text []byte) (compact.Config, error) {
	c := compact.DefaultConfig()
	if isNothing(text) {
		return c, fault.InvalidInput("The body must be a compaction configuration")
	}
	if err := decode(text, &c); err != nil {
		return c, err
	}
	if err := c.Validate(); err != nil {
		return c, err
	}
	if refusal := timeline.DataSourceRefusal("dataSource", c.DataSource); refusal != "" {
		return c, fault.InvalidInput("%s", refusal)
	}
	return c, readable(&c)
}

// readable tests that tasks will be able to read the metrics and the filter of settings.
func readable(c *compact.Config) error {
	for _, text := range c.Metrics {
		var metric native.AggregatorOf
		if err := metric.UnmarshalJSON(text); err != nil {
			return err
		}
	}
	if c.Transform == nil || isNothing(c.Transform.Filter) {
		return nil
	}
	var filter native.FilterOf
	return filter.UnmarshalJSON(c.Transform.Filter)
}

// simulateCompaction answers what a round would do under the cluster settings of the body, of which
// those left out are the present ones.
func (a *API) simulateCompaction(w http.ResponseWriter, r *http.Request) error {
	text, err := a.body(w, r)
	if err != nil {
		return err
	}
	c, err := a.compaction(r.Context())
	if err != nil {
		return err
	}
	if !isNothing(text) {
		if err := decode(text, &c.Cluster); err != nil {
			return refuseInput(w, err)
		}
	}
	if err := c.Cluster.Validate(); err != nil {
		return refuseInput(w, err)
	}
	states, err := a.o.Compaction.Simulate(r.Context(), c.Cluster)
	if err != nil {
		return err
	}
	return write(w, map[string]any{"compactionStates": states})
}

// compactionStatusOfReadable is compactionStatus of the datasources that the user may read.
func (a *API) compactionStatusOfReadable(w http.ResponseWriter, r *http.Request) error {
	access := auth.Of(r.Context())
	access.Pass()
	return a.answerStatus(w, r, func(list []compact.Snapshot) []compact.Snapshot {
		return auth.Readable(r.Context(), access, list, func(s compact.Snapshot) string { return s.DataSource })
	})
}

func (a *API) compactionStatus(w http.ResponseWriter, r *http.Request) error {
	return a.answerStatus(w, r, func(list []compact.Snapshot) []compact.Snapshot { return list })
}

func (a *API) answerStatus(w http.ResponseWriter, r *http.Request, shown func([]compact.Snapshot) []compact.Snapshot) error {
	name := r.URL.Query().Get("dataSource")
	list, err := a.o.Compaction.Snapshots(r.Context(), name)
	if err == nil {
		list = shown(list)
	}
	switch {
	case err != nil:
		return err
	case len(list) == 0 && name != "":
		return refuse(w, http.StatusNotFound, "unknown dataSource")
	}
	return write(w, map[string]any{"latestStatus": list})
}

func (a *API) compactionProgress(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("dataSource")
	if name == "" {
		return refuse(w, http.StatusBadRequest, "No DataSource specified")
	}
	list, err := a.o.Compaction.Snapshots(r.Context(), name)
	switch {
	case err != nil:
		return err
	case len(list) == 0 || list[0].ScheduleStatus == compact.NotEnabled:
		return refuse(w, http.StatusNotFound, "Unknown DataSource")
	}
	return write(w, map[string]int64{"remainingSegmentSize": list[0].BytesAwaiting})
}

// compactionEntry is one change of a datasource's settings, with those of the cluster at that time.
type compactionEntry struct {
	Global compact.Cluster `json:"globalConfig"`
	Config *compact.Config `json:"compactionConfig"`
	Info   auditInfo       `json:"auditInfo"`
	Time   string          `json:"auditTime"`
}

// compactionHistory finds the changes of a datasource in the history of the one setting: neighbours
// equal in both parts are one, and what was before the first settings or after their end was noted
// is left out.
func (a *API) compactionHistory(w http.ResponseWriter, r *http.Request) (out []compactionEntry, answered bool, err error) {
	audited, answered, err := a.entries(w, r, compact.SettingName, compact.SettingName)
	if answered || err != nil {
		return nil, answered, err
	}
	query := r.URL.Query()
	newestFirst := query.Get("count") != "" && query.Get("interval") == ""
	if newestFirst {
		slices.Reverse(audited)
	}
	out = []compactionEntry{}
	var last []byte
	for _, e := range audited {
		c, err := compact.ParseStored(json.RawMessage(e.Payload))
		if err != nil { // a payload too large to be kept
			continue
		}
		entry := compactionEntry{Global: c.Cluster, Info: infoOf(e), Time: chrono.FormatMillis(e.At, chrono.UTC)}
		if i := c.Find(r.PathValue("dataSource")); i >= 0 {
			entry.Config = &c.Configs[i]
		} else if len(out) == 0 || out[len(out)-1].Config == nil {
			continue
		}
		same, err := json.Marshal([]any{entry.Global, entry.Config})
		if err != nil {
			return nil, false, err
		}
		if !bytes.Equal(same, last) {
			out, last = append(out, entry), same
		}
	}
	if newestFirst {
		slices.Reverse(out)
	}
	return out, false, nil
}
