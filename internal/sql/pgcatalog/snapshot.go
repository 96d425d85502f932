package pgcatalog

import (
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/sql/pgtype"
)

// Column is a column of a datasource.
type Column struct {
	Name    string
	Type    pgtype.OID
	NotNull bool
}

// Relation is a datasource, a lookup or a system table.
type Relation struct {
	Schema, Name string
	Columns      []Column
	Rows         float64
	// View says that it appears as a view.
	View bool

	oid int64
}

// OID returns the OID of a relation.
func (r *Relation) OID() int64 { return r.oid }

// The schemas of a snapshot in addition to pg_catalog and information_schema.
const (
	Public      = "public"
	Information = "information_schema"
	Catalog     = "pg_catalog"
)

// Fixed OIDs.
const (
	catalogNamespace     = 11
	publicNamespace      = 2200
	informationNamespace = 13207
	ownerOID             = 10
	databaseOID          = 16384
	// firstOID is the lowest number of what is not built in.
	firstOID = 1 << 16
)

// Snapshot is the catalog at one moment. It is immutable.
type Snapshot struct {
	relations []*Relation
	byName    map[string]*Relation // schema.name
	byOID     map[int64]*Relation
	schemas   []string

	mu     sync.Mutex
	tables map[string][][]any // rows of virtual tables that are the same for all sessions
	// indexes have the rows of these tables by the values of a column; nil: it has values of several
	// types.
	indexes map[indexed]map[any][][]any
}

// indexed is a column of a table.
type indexed struct {
	table  string
	column int
}

// fewIndexed is how many rows are looked through without an index.
const fewIndexed = 16

// lookUp finds the rows of a table that is kept by the value of a column; ok is false if they have
// to
// be looked through.
func (s *Snapshot) lookUp(table string, column int, rows [][]any, v any) (found [][]any, ok bool) {
	switch v.(type) {
	case int64, string:
	default:
		return nil, false
	}
	if len(rows) <= fewIndexed {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.tables[table]; len(kept) != len(rows) || &kept[0] != &rows[0] {
		return nil, false
	}
	at := indexed{table, column}
	index, made := s.indexes[at]
	if !made {
		index = indexOf(rows, column)
		s.indexes[at] = index
	}
	if index == nil {
		return nil, false
	}
	for k := range index { // all are of one type
		if reflect.TypeOf(k) != reflect.TypeOf(v) {
			return nil, false
		}
		break
	}
	return index[v], true
}

// indexOf sorts rows by the values of a column.
func indexOf(rows [][]any, column int) map[any][][]any {
	index := map[any][][]any{}
	var typ reflect.Type
	for _, row := range rows {
		k := row[column]
		switch k.(type) {
		case nil:
			continue
		case int64, string:
		default:
			return nil
		}
		if t := reflect.TypeOf(k); typ == nil {
			typ = t
		} else if t != typ {
			return nil
		}
		index[k] = append(index[k], row)
	}
	return index
}

// NewSnapshot returns a snapshot. Relations are sorted by schema and name.
func NewSnapshot(relations []*Relation) *Snapshot {
	s := &Snapshot{relations: relations, byName: map[string]*Relation{}, byOID: map[int64]*Relation{}, tables: map[string][][]any{},
		indexes: map[indexed]map[any][][]any{}}
	slices.SortFunc(s.relations, func(a, b *Relation) int {
		if c := strings.Compare(a.Schema, b.Schema); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, r := range s.relations {
		r.oid = hashOID("relation", r.Schema, r.Name)
		for s.byOID[r.oid] != nil { // rare: the next free one, in the order of names
			r.oid++
		}
		s.byOID[r.oid] = r
		s.byName[r.Schema+"."+r.Name] = r
		if r.Schema != Public && !slices.Contains(s.schemas, r.Schema) {
			s.schemas = append(s.schemas, r.Schema)
		}
	}
	return s
}

// hashOID returns a number for a name, the same everywhere and always.
func hashOID(kind string, names ...string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(kind)) // never fails
	for _, n := range names {
		_, _ = h.Write([]byte{0})
		_, _ = h.Write([]byte(n))
	}
	return firstOID + int64(h.Sum64()%(1<<31-2*firstOID))
}

// rowType is the number of the type of a relation's rows.
func rowType(r *Relation) int64 { return hashOID("type", r.Schema, r.Name) }

// Relation returns a relation, such as a datasource; nil: it does not exist.
func (s *Snapshot) Relation(schema, name string) *Relation { return s.byName[schema+"."+name] }

// Relations returns all relations.
func (s *Snapshot) Relations() []*Relation { return s.relations }

// namespaces are the schemas and their numbers.
func (s *Snapshot) namespaces() map[string]int64 {
	out := map[string]int64{Catalog: catalogNamespace, Public: publicNamespace, Information: informationNamespace}
	for _, name := range s.schemas {
		out[name] = hashOID("namespace", name)
	}
	return out
}

// Activity is a session or a query, for pg_stat_activity.
type Activity struct {
	PID                    int64
	User, Application, SQL string
	State                  string
	Started                time.Time
}

// Session is what a statement sees of who sends it. It is used by one goroutine.
type Session struct {
	Snapshot *Snapshot
	Database string
	User     string
	PID      int64
	// Zone is the time zone.
	Zone *time.Location
	// Now is the time of the statement, Began that of the transaction.
	Now, Began time.Time
	Started    time.Time
	// Version is what SELECT version() says, Number and Short are server_version_num and
	// server_version.
	Version, Number, Short string
	// Setting returns a setting; ok is false if there is none. Settings lists all.
	Setting  func(name string) (value string, ok bool)
	Settings func() map[string]string
	// SetConfig changes one.
	SetConfig func(name, value string, local bool) error
	// Transaction is its number.
	Transaction int64
	// Activities lists what runs, and Cancel ends the query of a session.
	Activities func() []Activity
	Cancel     func(pid int64) bool
	// Prepared and Cursors list what the session has, by name.
	Prepared, Cursors func() map[string]string
	// Sleep waits; it returns early when the statement is cancelled.
	Sleep func(time.Duration) error
	// Stopped returns why the statement has to end; nil: it goes on.
	Stopped func() error
}

// style is how values are shown in texts.
func (s *Session) style() *pgtype.Style {
	return &pgtype.Style{Zone: s.Zone, Reg: s.regName}
}

// Style is how values of a session are shown.
func (s *Session) Style() *pgtype.Style { return s.style() }

// searchPath returns the schemas that names without one are looked for in.
func (s *Session) searchPath() []string {
	text, _ := s.Setting("search_path")
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		part = strings.Trim(strings.TrimSpace(part), `"`)
		if part == Public || part == Information || part == Catalog || slices.Contains(s.Snapshot.schemas, part) {
			out = append(out, part)
		}
	}
	return out
}
