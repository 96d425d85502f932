// Package whole runs the statements of test scripts on a whole server.
//
// The central type is Engine, an slt.Engine. It is separate from package engine so that tests of
// the query path build without the rest of the product.
package whole

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/testkit/engine"
	"github.com/hengedb/henge/internal/testkit/fixture"
	"github.com/hengedb/henge/internal/testkit/server"
	"github.com/hengedb/henge/internal/testkit/slt"
	"github.com/hengedb/henge/internal/vector"
)

// Engine is a server of its own: tables are loaded by SQL ingestion, statements go through the
// Router. What only a Store can do (versions out of order, chunks that are not complete, a
// datasource without rows) makes it skip the script.
type Engine struct {
	start  func() *server.Client
	server *server.Client    // nil: not started, for there was nothing to do
	newest map[string]string // by datasource, the version loaded last
}

// New returns an engine whose server runs from the first load or statement to the end of the test.
func New(t testing.TB) *Engine {
	return &Engine{newest: map[string]string{}, start: func() *server.Client { return &server.Start(t, server.Options{}).Client }}
}

// NewAdmitting is New with every cache and every kind of admission on: results and groups of
// segments are kept and used, whatever the type of the query, and all queries are asked for their
// native types, lanes, priorities, users and datasources.
func NewAdmitting(t testing.TB) *Engine {
	return &Engine{newest: map[string]string{}, start: func() *server.Client {
		s := server.Start(t, server.Options{Settings: []string{
			"service.broker.cache.useResultLevelCache=true", "service.broker.cache.populateResultLevelCache=true",
			`service.broker.cache.unCacheable=["none"]`, `service.historical.cache.unCacheable=["none"]`,
			"service.historical.cache.useCache=true", "service.historical.cache.populateCache=true",
			"service.query.scheduler.numThreads=8", "service.query.scheduler.laning.strategy=hilo", "service.query.scheduler.laning.maxLowPercent=50",
			"service.query.scheduler.limits.perUser=8", "service.query.scheduler.limits.perDataSource=8",
			"service.query.scheduler.prioritization.strategy=threshold", "service.query.scheduler.prioritization.segmentCountThreshold=1",
			"service.query.scheduler.prioritization.durationThreshold=PT1H",
		}})
		err := s.Call(t.Context(), http.MethodPost, "/service/coordinator/v1/broker/config", map[string]any{"queryBlocklist": []any{
			map[string]any{"type": "default", "ruleName": "none", "queryTypes": []string{"none"}},
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return &s.Client
	}}
}

// NewCluster is New with a cluster in place of one process: two Historicals hold the segments,
// neither of them where the Broker is.
func NewCluster(t testing.TB) *Engine {
	return &Engine{newest: map[string]string{}, start: func() *server.Client {
		return &server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
			{"historical"}, {"historical"}, {"coordinator", "overlord", "worker"}, {"broker"}, {"router"},
		}}).Client
	}}
}

func (e *Engine) running() *server.Client {
	if e.server == nil {
		e.server = e.start()
	}
	return e.server
}

// Query sends a statement to the Router.
func (e *Engine) Query(ctx context.Context, s *slt.Statement) (*slt.Answer, error) {
	h := engine.HTTP{Base: e.running().Addresses["router"], Client: http.DefaultClient, Now: engine.Now.Format("2006-01-02T15:04:05.000Z")}
	return h.Query(ctx, s)
}

// Load runs an INSERT, or for the first rows and those of a new version a REPLACE.
func (e *Engine) Load(ctx context.Context, l *slt.Load) error {
	last, there := e.newest[l.DataSource]
	switch {
	case len(l.Table.Rows) == 0:
		return slt.Unable{Reason: "nothing is ingested from no rows"}
	case l.Core > 0:
		return slt.Unable{Reason: "ingestion publishes complete chunks only"}
	case there && l.Version < last:
		return slt.Unable{Reason: "ingestion gives ever newer versions"}
	}
	e.newest[l.DataSource] = l.Version
	verb := "INSERT INTO " + l.DataSource
	switch {
	case !there:
		verb = "REPLACE INTO " + l.DataSource + " OVERWRITE ALL"
	case l.Version > last:
		verb = "REPLACE INTO " + l.DataSource + " OVERWRITE WHERE " + within(l.Interval)
	}
	selected, extend := selection(&l.Table)
	return e.running().Ingest(ctx, fmt.Sprintf("%s SELECT %s FROM TABLE(EXTERN(%s, '{\"type\":\"json\"}')) EXTEND (%s) PARTITIONED BY %s",
		verb, selected, quote(inline(&l.Table)), extend, partitioning(l)), nil)
}

// Tombstone replaces by nothing.
func (e *Engine) Tombstone(ctx context.Context, t *slt.Tombstone) error {
	e.newest[t.DataSource] = t.Version
	return e.running().Ingest(ctx, fmt.Sprintf("REPLACE INTO %s OVERWRITE WHERE %s SELECT * FROM %[1]s WHERE FALSE PARTITIONED BY DAY",
		t.DataSource, within(t.Interval)), nil)
}

// Lookup posts a lookup.
func (e *Engine) Lookup(ctx context.Context, l *slt.Lookup) error {
	return e.running().Call(ctx, http.MethodPost, "/service/coordinator/v1/lookups/config/__default/"+l.Name, map[string]any{
		"version": fmt.Sprintf("%06d", l.Line), "lookupExtractorFactory": map[string]any{"type": "map", "map": l.Values},
	}, nil)
}

func within(iv chrono.Interval) string {
	const form = "TIMESTAMP '%s'"
	at := func(ms int64) string { return fmt.Sprintf(form, chrono.AppendSQLTimestamp(nil, ms, chrono.UTC)) }
	return "__time >= " + at(iv.Start) + " AND __time < " + at(iv.End)
}

func partitioning(l *slt.Load) string {
	if l.Granularity != nil {
		if name, ok := l.Granularity.Name(); ok {
			return name
		}
	}
	if !l.Interval.IsEmpty() {
		return "DAY"
	}
	return "ALL"
}

// selection returns the columns to select and those to read.
func selection(t *fixture.Table) (selected, extend string) {
	var items, columns []string
	for _, c := range t.Columns {
		name := `"` + c.Name + `"`
		sqlType := map[vector.Type]string{vector.Long: "BIGINT", vector.Double: "DOUBLE", vector.Float: "FLOAT", vector.String: "VARCHAR",
			vector.JSON: "TYPE('COMPLEX<json>')"}[c.Type]
		if c.Type.Kind == vector.KindList {
			sqlType = map[vector.Type]string{vector.Long: "BIGINT", vector.Double: "DOUBLE", vector.String: "VARCHAR"}[c.Type.Elem()] + " ARRAY"
		}
		columns = append(columns, name+" "+sqlType)
		switch {
		case c.Multi:
			name = "ARRAY_TO_MV(" + name + ") AS " + name
		case c.Name == fixture.TimeColumn:
			name = "MILLIS_TO_TIMESTAMP(" + name + ") AS " + name
		}
		items = append(items, name)
	}
	return strings.Join(items, ", "), strings.Join(columns, ", ")
}

// inline is the input source with the rows.
func inline(t *fixture.Table) string {
	var rows bytes.Buffer
	for _, row := range t.Rows {
		members := map[string]any{}
		for i, c := range t.Columns {
			v := row[i]
			switch x := v.(type) {
			case float32:
				if x-x != 0 {
					v = strings.NewReplacer("+Inf", "Infinity", "-Inf", "-Infinity").Replace(fmt.Sprint(x))
				}
			case float64:
				if x != x || x-x != 0 {
					v = strings.NewReplacer("+Inf", "Infinity", "-Inf", "-Infinity").Replace(fmt.Sprint(x)) // JSON has no such numbers
				}
			case string:
				if c.Type == vector.JSON {
					v = json.RawMessage(x)
				}
			}
			members[c.Name] = v
		}
		_ = json.NewEncoder(&rows).Encode(members) // numbers and text, in memory
	}
	source, _ := json.Marshal(map[string]string{"type": "inline", "data": rows.String()})
	return string(source)
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
