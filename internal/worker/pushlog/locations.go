package pushlog

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/stream/push"
	"github.com/hengedb/henge/internal/timeline"
)

// settingName is the setting of the metastore that says who has which log.
const settingName = "push.logs"

// maxLogs bounds the logs of a datasource.
const maxLogs = 8

// MaxReplicas is on how many workers a log can be.
const MaxReplicas = 2

// Log is a log of a datasource.
type Log struct {
	ID string `json:"id"`
	// Leader and Copy are processes: the one that takes and gives entries, and the one that has the
	// same ones; "": none has.
	Leader string `json:"leader"`
	Copy   string `json:"copy,omitempty"`
	// Epoch counts the changes of both.
	Epoch int64 `json:"epoch"`
}

// Table is the logs of a datasource.
type Table struct {
	// Replicas is on how many workers each log is to be.
	Replicas int   `json:"replicas"`
	Logs     []Log `json:"logs"`
}

// Of returns the log of a sender: of a channel or a key.
func (t *Table) Of(sender string) *Log {
	h := fnv.New32a()
	_, _ = h.Write([]byte(sender)) // a hash does not fail
	return &t.Logs[h.Sum32()%uint32(len(t.Logs))]
}

// Find returns the log of an id; nil: there is none.
func (t *Table) Find(id string) *Log {
	if t == nil {
		return nil
	}
	if i := slices.IndexFunc(t.Logs, func(l Log) bool { return l.ID == id }); i >= 0 {
		return &t.Logs[i]
	}
	return nil
}

// Settings is where the tables are kept.
type Settings interface {
	Setting(ctx context.Context, name string) (json.RawMessage, bool, error)
	UpdateSetting(ctx context.Context, fence metastore.Fence, name string, entry *metastore.AuditEntry,
		next func(stored json.RawMessage) (json.RawMessage, error)) (changed bool, err error)
	SettingsChanged() <-chan struct{}
}

// Locations is who has which log. All methods are safe for use by many goroutines.
type Locations struct {
	settings Settings
	members  *cluster.View

	mu struct {
		sync.Mutex
		tables map[string]*Table // nobody changes one that is here
		until  <-chan struct{}   // closed when they may be others
	}
}

// NewLocations returns who has which log by the metastore, among the workers of a view.
func NewLocations(settings Settings, members *cluster.View) *Locations {
	return &Locations{settings: settings, members: members}
}

// Tables returns the tables of all datasources, which nobody may change.
func (p *Locations) Tables(ctx context.Context) (map[string]*Table, error) {
	p.mu.Lock()
	tables, until := p.mu.tables, p.mu.until
	p.mu.Unlock()
	if until != nil {
		select {
		case <-until:
		default:
			return tables, nil
		}
	}
	return p.Refresh(ctx)
}

// Refresh is Tables of what the metastore has at the moment.
func (p *Locations) Refresh(ctx context.Context) (map[string]*Table, error) {
	until := p.settings.SettingsChanged()
	text, _, err := p.settings.Setting(ctx, settingName)
	if err != nil {
		return nil, fmt.Errorf("reading who has the logs of rows that were sent: %w", err)
	}
	tables, err := parse(text)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.tables, p.mu.until = tables, until
	return tables, nil
}

// Changed returns a channel that is closed when the tables may be others.
func (p *Locations) Changed() <-chan struct{} { return p.settings.SettingsChanged() }

func parse(text json.RawMessage) (map[string]*Table, error) {
	tables := map[string]*Table{}
	if len(text) == 0 {
		return tables, nil
	}
	if err := json.Unmarshal(text, &tables); err != nil {
		return nil, fault.Defensive("Setting [%s] can't be read", settingName).WithCause(err)
	}
	return tables, nil
}

// Table returns the logs of a datasource; nil: it has none yet.
func (p *Locations) Table(ctx context.Context, dataSource string) (*Table, error) {
	tables, err := p.Tables(ctx)
	if err != nil || tables[dataSource] == nil || len(tables[dataSource].Logs) == 0 {
		return nil, err
	}
	return tables[dataSource], nil
}

// update changes the table of a datasource in one transaction.
func (p *Locations) update(ctx context.Context, dataSource string, change func(t *Table) error) error {
	_, err := p.settings.UpdateSetting(ctx, metastore.Fence{}, settingName, nil, func(stored json.RawMessage) (json.RawMessage, error) {
		tables, err := parse(stored)
		if err != nil {
			return nil, err
		}
		t := tables[dataSource]
		if t == nil {
			t = &Table{Replicas: 1}
			tables[dataSource] = t
		}
		if err := change(t); err != nil {
			return nil, err
		}
		return json.Marshal(tables)
	})
	if err != nil {
		return err
	}
	_, err = p.Refresh(ctx)
	return err
}

// Make gives a datasource logs, if it has none: one for each worker, and at least two, so that
// another worker can share the work later.
func (p *Locations) Make(ctx context.Context, dataSource string) (*Table, error) {
	if t, err := p.Table(ctx, dataSource); t != nil || err != nil {
		return t, err
	}
	if refusal := timeline.DataSourceRefusal("dataSource", dataSource); refusal != "" {
		return nil, fault.InvalidInput("%s", refusal)
	}
	if err := push.CheckName(nameOf(dataSource, strings.Repeat("0", 16))); err != nil {
		return nil, err
	}
	workers := p.Workers()
	if len(workers) == 0 {
		return nil, fault.Unavailable("No worker accepts rows; send them again")
	}
	err := p.update(ctx, dataSource, func(t *Table) error {
		for i := range max(2, min(maxLogs, len(workers))) {
			if len(t.Logs) > i { // somebody else was here
				continue
			}
			id := make([]byte, 8)
			_, _ = rand.Read(id) // it does not fail
			t.Logs = append(t.Logs, Log{ID: hex.EncodeToString(id), Leader: workers[i%len(workers)].Holder, Epoch: 1})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.Table(ctx, dataSource)
}

// SetReplicas says on how many workers the logs of a datasource are to be.
func (p *Locations) SetReplicas(ctx context.Context, dataSource string, n int) error {
	return p.update(ctx, dataSource, func(t *Table) error {
		t.Replicas = n
		return nil
	})
}

// errMoved marks that somebody else has changed who has a log.
var errMoved = errors.New("who has the log has changed")

// change writes who has a log from now on, in the place of what was. It is errMoved if that is not
// so any more.
func (p *Locations) change(ctx context.Context, dataSource string, before, next Log) error {
	next.Epoch = before.Epoch + 1
	return p.update(ctx, dataSource, func(t *Table) error {
		l := t.Find(before.ID)
		switch {
		case l == nil:
			return errMoved
		case *l == next: // it was written, and the answer was lost
		case *l == before:
			*l = next
		default:
			return errMoved
		}
		return nil
	})
}

// Workers are the workers that are announced, those with the fewest logs first.
func (p *Locations) Workers() []cluster.Member {
	p.mu.Lock()
	tables := p.mu.tables
	p.mu.Unlock()
	load := map[string]int{}
	for _, t := range tables {
		for _, l := range t.Logs {
			load[l.Leader] += 2
			load[l.Copy]++
		}
	}
	members := p.members.Members(cluster.Indexer)
	slices.SortFunc(members, func(a, b cluster.Member) int {
		return cmp.Or(cmp.Compare(load[a.Holder], load[b.Holder]), cmp.Compare(a.Address(), b.Address()))
	})
	return members
}

// Where returns the worker that a process is; false: it is not announced.
func (p *Locations) Where(holder string) (cluster.Member, bool) {
	for _, m := range p.members.Members(cluster.Indexer) {
		if m.Holder == holder {
			return m, true
		}
	}
	return cluster.Member{}, false
}

// names are the datasources of tables, in order.
func names(tables map[string]*Table) []string { return slices.Sorted(maps.Keys(tables)) }
