package coordinator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/timeline"
)

func (a *API) metadataRoutes(mux routes) {
	const base = coordinatorBase + "/metadata"
	mux.On("GET "+base+"/segments", a.metadataSegments)
	mux.On("GET "+base+"/datasources", a.metadataDataSources)
	mux.On("GET "+base+"/datasources/{dataSource}", a.metadataDataSource)
	mux.On("GET "+base+"/datasources/{dataSource}/segments", a.metadataList)
	mux.On("POST "+base+"/datasources/{dataSource}/segments", a.metadataOverlapping)
	mux.On("GET "+base+"/datasources/{dataSource}/segments/{segment}", a.metadataSegment)
	mux.On("GET "+base+"/datasources/{dataSource}/segments/{segment}/inspect", a.inspectSegment)
	mux.On("GET "+base+"/datasources/{dataSource}/unusedSegments", a.unusedSegments)
}

// readableNames returns the datasources among names that the user may read, never nil.
func readableNames(r *http.Request, names []string) []string {
	return auth.ReadableNames(r.Context(), auth.Of(r.Context()), append([]string{}, names...))
}

// sortedUsed returns the used segments of a datasource, ascending by the text of their id.
func sortedUsed(state *timeline.State, dataSource string) []served {
	var out []served
	for s := range state.Timeline(dataSource).All() {
		out = append(out, served{Segment: s, id: s.ID.String()})
	}
	slices.SortFunc(out, func(a, b served) int { return cmp.Compare(a.id, b.id) })
	return out
}

func (a *API) metadataSegments(w http.ResponseWriter, r *http.Request) error {
	status := has(r, "includeOvershadowedStatus")
	if has(r, "includeRealtimeSegments") && !status {
		return empty(w, http.StatusBadRequest)
	}
	v := a.view()
	names := v.state.DataSources()
	if asked := r.URL.Query()["datasources"]; len(asked) > 0 {
		names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(asked, n) })
	}
	names = readableNames(r, names)
	rules, err := a.allRules(r.Context())
	if err != nil {
		return err
	}
	out, tiers, now := []any{}, v.tiers(), a.now()
	for _, name := range names {
		tl := v.state.Timeline(name)
		for _, s := range sortedUsed(v.state, name) {
			if !status {
				out = append(out, s.Segment)
				continue
			}
			element, err := withStatus(s.Segment, tl.SegmentIsOvershadowed(s.Segment), rules.copies(name, s.ID.Interval, now, tiers))
			if err != nil {
				return err
			}
			out = append(out, element)
		}
	}
	return write(w, out)
}

// withStatus is a segment's JSON with what is known of it beside the descriptor, in one object.
func withStatus(s *timeline.Segment, overshadowed bool, copies *int) (json.RawMessage, error) {
	text, err := s.JSON(0)
	if err != nil {
		return nil, err
	}
	if overshadowed {
		copies = new(int)
	}
	var rows *int64
	if s.Rows >= 0 {
		rows = &s.Rows
	}
	status, err := jsontext.Marshal(object{{"overshadowed", overshadowed}, {"replicationFactor", copies}, {"numRows", rows}, {"realtime", false}})
	if err != nil {
		return nil, err
	}
	return slices.Concat(status[:len(status)-1], []byte(","), text[1:]), nil
}

func (a *API) metadataDataSources(w http.ResponseWriter, r *http.Request) error {
	if has(r, "includeUnused") || has(r, "includeDisabled") {
		names, err := a.store.DataSources(r.Context(), true)
		if err != nil {
			return err
		}
		return write(w, readableNames(r, names))
	}
	state := a.published.Pin()
	names := readableNames(r, state.DataSources())
	if !has(r, "full") {
		return write(w, names)
	}
	out := make([]object, 0, len(names))
	for _, name := range names {
		of, err := a.described(r, name)
		if err != nil {
			return err
		}
		if of != nil {
			out = append(out, of)
		}
	}
	return write(w, out)
}

// described is a datasource with its used segments, nil without any. It was created when the oldest
// of them was.
func (a *API) described(r *http.Request, name string) (object, error) {
	rows, err := a.store.UsedSegments(r.Context(), name)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	created, segments := rows[0].Created, make([]*timeline.Segment, len(rows))
	for i, row := range rows {
		created, segments[i] = min(created, row.Created), row.Segment
	}
	return object{
		{"name", name}, {"properties", object{{"created", chrono.FormatMillis(created, chrono.UTC)}}}, {"segments", segments},
	}, nil
}

func (a *API) metadataDataSource(w http.ResponseWriter, r *http.Request) error {
	of, err := a.described(r, r.PathValue("dataSource"))
	switch {
	case err != nil:
		return err
	case of == nil:
		return empty(w, http.StatusNotFound)
	}
	return write(w, of)
}

// metadataList answers all used segments of a datasource; with a body, like the POST form, those
// that overlap its intervals.
func (a *API) metadataList(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength > 0 {
		return a.metadataOverlapping(w, r)
	}
	list := sortedUsed(a.published.Pin(), r.PathValue("dataSource"))
	if len(list) == 0 {
		return empty(w, http.StatusNotFound)
	}
	return writeList(w, r, list)
}

// writeList answers with ids, or in full with segments.
func writeList(w http.ResponseWriter, r *http.Request, list []served) error {
	if has(r, "full") {
		return write(w, segmentsOf(list))
	}
	return write(w, idsOf(list))
}

func (a *API) metadataOverlapping(w http.ResponseWriter, r *http.Request) error {
	text, err := a.body(w, r)
	switch {
	case err != nil:
		return err
	case isNothing(text):
		return refuse(w, http.StatusBadRequest, "The body must be a list of intervals")
	}
	var intervals []chrono.Interval
	if err := decode(text, &intervals); err != nil {
		return refuseInput(w, err)
	}
	list := slices.DeleteFunc(sortedUsed(a.published.Pin(), r.PathValue("dataSource")), func(s served) bool {
		return !slices.ContainsFunc(intervals, s.ID.Interval.Overlaps)
	})
	return writeList(w, r, list)
}

func (a *API) metadataSegment(w http.ResponseWriter, r *http.Request) error {
	dataSource, id := r.PathValue("dataSource"), r.PathValue("segment")
	readings := timeline.ParseIDs(dataSource, id)
	if len(readings) == 0 {
		return unparseable(w, dataSource, id)
	}
	tl := a.published.Pin().Timeline(dataSource)
	for _, reading := range readings {
		if s := tl.Segment(reading); s != nil {
			return write(w, s)
		}
	}
	if unused, _ := strconv.ParseBool(r.URL.Query().Get("includeUnused")); !unused {
		return empty(w, http.StatusNotFound)
	}
	rows, err := a.store.Segments(r.Context(), id)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.ID.DataSource == dataSource {
			return write(w, row.Segment)
		}
	}
	return empty(w, http.StatusNotFound)
}

// unparseable answers to an id that can't be one of the datasource.
func unparseable(w http.ResponseWriter, dataSource, id string) error {
	writeText(w, http.StatusBadRequest, fmt.Sprintf("Could not parse Segment ID[%s] for DataSource[%s]", id, dataSource))
	return nil
}

func (a *API) unusedSegments(w http.ResponseWriter, r *http.Request) error {
	dataSource, query := r.PathValue("dataSource"), r.URL.Query()
	iv, err := queryInterval(r)
	if err != nil {
		return err
	}
	limit, _, ok := queryInt(r, "limit")
	if !ok {
		return empty(w, http.StatusNotFound)
	}
	filter := metastore.UnusedFilter{Interval: iv, Limit: limit, AfterID: query.Get("lastSegmentId")}
	switch order := strings.ToUpper(query.Get("sortOrder")); order {
	case "", "ASC":
	case "DESC":
		filter.Descending = true
	default:
		return fault.InvalidInput("Unexpected value for [sortOrder]: [%s]; use ASC or DESC", query.Get("sortOrder"))
	}
	if limit < 0 {
		return fault.InvalidInput("Limit must be greater than 0, not [%d]", limit)
	}
	if filter.AfterID != "" && len(timeline.ParseIDs(dataSource, filter.AfterID)) == 0 {
		return fault.InvalidInput("Invalid [lastSegmentId]: [%s] is not a segment of datasource [%s]", filter.AfterID, dataSource)
	}
	rows, err := a.store.UnusedSegments(r.Context(), dataSource, filter)
	if err != nil {
		return err
	}
	out := make([]object, len(rows))
	for i, row := range rows {
		var upgradedFrom, numRows any
		if row.UpgradedFrom != "" {
			upgradedFrom = row.UpgradedFrom
		}
		if row.Rows >= 0 {
			numRows = row.Rows
		}
		out[i] = object{
			{"dataSegment", row.Segment}, {"createdDate", chrono.FormatMillis(row.Created, chrono.UTC)},
			{"usedStatusLastUpdatedDate", chrono.FormatMillis(row.UsedUpdated, chrono.UTC)}, {"used", row.Used},
			{"schemaFingerprint", nil}, {"numRows", numRows}, {"upgradedFromSegmentId", upgradedFrom},
		}
	}
	return write(w, out)
}
