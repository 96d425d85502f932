package pgcatalog

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/sql/pgtype"
)

// The catalog of a new PostgreSQL 15 database. The files are lines of tab-separated fields.
var (
	//go:embed data/relations.tsv
	relationsData string
	//go:embed data/types.tsv
	typesData string
	//go:embed data/procs.tsv
	procsData string
	//go:embed data/ranges.tsv
	rangesData string
	//go:embed data/settings.tsv
	settingsData string
	//go:embed data/keywords.tsv
	keywordsData string
)

// builtin is a table of the catalog.
type builtin struct {
	schema, name string
	view         bool
	oid          int64
	columns      []Column
	index        map[string]int
}

// typeRow and procRow are lines of pg_type and pg_proc.
type typeRow struct {
	oid    int64
	name   string
	fields []string
}

type procRow struct {
	oid       int64
	name      string
	ret       int64
	set       bool
	kind      string
	args      []any
	volatile  string
	namespace int64
}

type facts struct {
	tables   []*builtin
	byName   map[string]*builtin // schema.name
	byOID    map[int64]*builtin
	types    []typeRow
	typeByID map[int64]*typeRow
	typeName map[string]int64
	procs    []procRow
	procByID map[int64]string
	procName map[string]int64
	ranges   [][]string
	settings [][]string
	keywords [][]string
}

var known = sync.OnceValue(func() *facts {
	f := &facts{byName: map[string]*builtin{}, byOID: map[int64]*builtin{}, typeByID: map[int64]*typeRow{}, typeName: map[string]int64{},
		procByID: map[int64]string{}, procName: map[string]int64{}}
	for _, l := range lines(relationsData) {
		t := &builtin{schema: l[0], name: l[1], view: l[2] == "v", oid: number(l[3]), index: map[string]int{}}
		for i, c := range strings.Split(l[4], ",") {
			name, typ, _ := strings.Cut(c, ":")
			typ, notNull := strings.CutSuffix(typ, "!")
			o := pgtype.Named(typ)
			if o == 0 {
				o = pgtype.Text
			}
			t.columns = append(t.columns, Column{Name: name, Type: o, NotNull: notNull})
			t.index[name] = i
		}
		f.tables = append(f.tables, t)
		f.byName[t.schema+"."+t.name] = t
		f.byOID[t.oid] = t
	}
	for _, l := range lines(typesData) {
		f.types = append(f.types, typeRow{oid: number(l[0]), name: l[1], fields: l})
	}
	for i := range f.types {
		f.typeByID[f.types[i].oid] = &f.types[i]
		f.typeName[f.types[i].name] = f.types[i].oid
	}
	for _, l := range lines(procsData) {
		p := procRow{oid: number(l[0]), name: l[1], ret: number(l[2]), set: l[3] == "t", kind: l[4], volatile: l[6], namespace: catalogNamespace}
		for a := range strings.FieldsSeq(l[5]) {
			p.args = append(p.args, number(a))
		}
		f.procs = append(f.procs, p)
		f.procByID[p.oid] = p.name
		f.procName[p.name] = p.oid
	}
	f.ranges, f.settings, f.keywords = lines(rangesData), lines(settingsData), lines(keywordsData)
	return f
})

func lines(data string) (out [][]string) {
	for line := range strings.Lines(data) {
		out = append(out, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return out
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // the data is ours
	return n
}

// DefaultSettings returns the settings of PostgreSQL 15 that clients read, by lower-case name, and
// the spelling of their names. Callers must not change them.
func DefaultSettings() (values, names map[string]string) { return defaultSettings() }

var defaultSettings = sync.OnceValues(func() (values, names map[string]string) {
	values, names = map[string]string{}, map[string]string{}
	for _, l := range known().settings {
		values[lowerASCII(l[0])], names[lowerASCII(l[0])] = l[1], l[0]
	}
	return values, names
})
