package native

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// DataSource is what a query reads. The concrete sources are in this file.
type DataSource interface{ dataSource() }

// DataSourceOf holds a datasource. In JSON, a bare name is a table.
type DataSourceOf struct{ DataSource }

// UnmarshalJSON implements json.Unmarshaler.
func (s *DataSourceOf) UnmarshalJSON(text []byte) error { return readText(text, s) }

func (s *DataSourceOf) read(d *document, m member) (err error) {
	switch {
	case d.isNull(m):
		return nil
	case d.opens(m, '"'):
		t := &TableSource{}
		s.DataSource = t
		return d.fill(m, &t.Name)
	case d.opens(m, '['):
		return invalid("A datasource can't be a list; want a name, or an object of type [union]")
	}
	// A name makes a table where there is no type that is known.
	name, named, err := d.find(m, "name")
	if err != nil {
		return err
	}
	if named && d.opens(name, '"') && !hasType(d, m, dataSourceTypes) {
		t := &TableSource{}
		s.DataSource = t
		return d.fill(name, &t.Name)
	}
	s.DataSource, err = decodeTyped(d, m, "type", "Datasource", dataSourceTypes)
	return err
}

var dataSourceTypes = map[string]func() DataSource{
	"table":       func() DataSource { return new(TableSource) },
	"globalTable": func() DataSource { return new(TableSource) },
	"query":       func() DataSource { return new(QuerySource) },
	"union":       func() DataSource { return new(UnionSource) },
	"join":        func() DataSource { return new(JoinSource) },
	"inline":      func() DataSource { return new(InlineSource) },
	"lookup":      func() DataSource { return new(LookupSource) },
	"unnest":      func() DataSource { return new(UnnestSource) },
	"filter":      func() DataSource { return new(FilteredSource) },
	"restrict":    func() DataSource { return new(FilteredSource) },
}

// TableSource is a datasource by name.
type TableSource struct {
	Name string `json:"name"`
}

// QuerySource is the result of a query.
type QuerySource struct {
	Query queryOf `json:"query"`
}

// UnionSource is the union of the rows of several tables.
type UnionSource struct {
	DataSources []DataSourceOf `json:"dataSources"`
}

// JoinSource joins the rows of two sources. Columns of the right source are prefixed with
// RightPrefix.
type JoinSource struct {
	Left        DataSourceOf `json:"left"`
	Right       DataSourceOf `json:"right"`
	RightPrefix string       `json:"rightPrefix"`
	Condition   string       `json:"condition"`
	JoinType    JoinType     `json:"joinType"`
	LeftFilter  FilterOf     `json:"leftFilter"`
}

// JoinType is the name of a join type. In JSON it may also be the ordinal of the type.
type JoinType string

var joinTypes = []string{"INNER", "LEFT", "RIGHT", "FULL"}

// UnmarshalJSON implements json.Unmarshaler.
func (j *JoinType) UnmarshalJSON(text []byte) error {
	var name string
	if err := json.Unmarshal(text, &name); err != nil {
		name = string(text)
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < len(joinTypes) {
		name = joinTypes[n]
	}
	*j = JoinType(name)
	return nil
}

// InlineSource contains rows that are part of the query.
type InlineSource struct {
	ColumnNames []string   `json:"columnNames"`
	ColumnTypes []TypeName `json:"columnTypes"`
	Rows        [][]Value  `json:"rows"`
}

// LookupSource is a lookup as a table with the columns k and v.
type LookupSource struct {
	Lookup string `json:"lookup"`
}

// UnnestSource returns one row per value of VirtualColumn.
type UnnestSource struct {
	Base          DataSourceOf    `json:"base"`
	VirtualColumn VirtualColumnOf `json:"virtualColumn"`
	UnnestFilter  FilterOf        `json:"unnestFilter"`
}

// FilteredSource contains the rows of Base that match Filter.
type FilteredSource struct {
	Base   DataSourceOf `json:"base"`
	Filter FilterOf     `json:"filter"`
}

func (*TableSource) dataSource()    {}
func (*QuerySource) dataSource()    {}
func (*UnionSource) dataSource()    {}
func (*JoinSource) dataSource()     {}
func (*InlineSource) dataSource()   {}
func (*LookupSource) dataSource()   {}
func (*UnnestSource) dataSource()   {}
func (*FilteredSource) dataSource() {}

// TablesOf returns the distinct names of all datasources that d reads.
func TablesOf(d DataSource) []string {
	var out []string
	walkSources(d, func(d DataSource) {
		if t, ok := d.(*TableSource); ok && !slices.Contains(out, t.Name) {
			out = append(out, t.Name)
		}
	})
	return out
}

// ReadsTables reports whether the rows of d come directly from tables, possibly filtered or joined,
// and not from constants or from the results of a query.
func ReadsTables(d DataSource) bool {
	tables := true
	walkSources(leftmost(d), func(d DataSource) {
		switch d.(type) {
		case *QuerySource, *InlineSource, *LookupSource:
			tables = false
		}
	})
	return tables
}

// storedIn reports whether a column of d is one of segments, and not of constants, lookups or the
// answer of a query.
func storedIn(d DataSource, name string) bool {
	switch d := d.(type) {
	case *QuerySource, *InlineSource, *LookupSource:
		return false
	case *JoinSource:
		return !strings.HasPrefix(name, d.RightPrefix) && storedIn(d.Left.DataSource, name)
	case *UnnestSource:
		return storedIn(d.Base.DataSource, name)
	case *FilteredSource:
		return storedIn(d.Base.DataSource, name)
	}
	return true
}

// hidesTime reports whether the time of d's rows is no column of it: that of groups of all times.
func hidesTime(d DataSource) bool {
	q, ok := d.(*QuerySource)
	if !ok {
		return false
	}
	g, ok := q.Query.Query.(*GroupBy)
	return ok && g.Granularity.IsAll()
}

// untyped reports whether nothing is known of the types of d's columns save the time: they are
// those of the rows of a scan, or of constants that are given without types.
func untyped(d DataSource) bool {
	switch d := d.(type) {
	case *InlineSource:
		return d.ColumnTypes == nil
	case *QuerySource:
		_, scan := d.Query.Query.(*Scan)
		return scan
	}
	return false
}

// leftmost descends to the source whose segments are scanned.
func leftmost(d DataSource) DataSource {
	for {
		switch x := d.(type) {
		case *JoinSource:
			d = x.Left.DataSource
		case *UnnestSource:
			d = x.Base.DataSource
		case *FilteredSource:
			d = x.Base.DataSource
		default:
			return d
		}
	}
}

// walkSources calls f for d and all it is made of.
func walkSources(d DataSource, f func(DataSource)) {
	if d == nil {
		return
	}
	f(d)
	switch d := d.(type) {
	case *QuerySource:
		if d.Query.Query != nil {
			walkSources(d.Query.Parts().DataSource.DataSource, f)
		}
	case *UnionSource:
		for _, s := range d.DataSources {
			walkSources(s.DataSource, f)
		}
	case *JoinSource:
		walkSources(d.Left.DataSource, f)
		walkSources(d.Right.DataSource, f)
	case *UnnestSource:
		walkSources(d.Base.DataSource, f)
	case *FilteredSource:
		walkSources(d.Base.DataSource, f)
	}
}

// UnitedTables returns the names of the tables that d is a union of, or nil if d is not a union.
func UnitedTables(d DataSource) []string {
	u, ok := d.(*UnionSource)
	if !ok {
		return nil
	}
	var out []string
	for _, s := range u.DataSources {
		t, ok := s.DataSource.(*TableSource)
		if !ok {
			return nil
		}
		out = append(out, t.Name)
	}
	return out
}

// ScannedTables returns the tables whose rows become rows of the query. Tables on the right side of
// a join are not included.
func ScannedTables(d DataSource) []string { return TablesOf(leftmost(d)) }
