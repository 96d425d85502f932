package sql

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// scope says what names mean in a block: the relations of its FROM clause, over one plan node that
// has all their columns.
type scope struct {
	relations []relation
	// merged are the columns that USING and NATURAL made one: unqualified they mean value, in * they
	// come first.
	merged []mergedColumn
}

// relation is an item of a FROM clause.
type relation struct {
	// name is the alias, or the name of a table without one; "" matches no qualifier.
	name string
	// path is the qualified name of a table without an alias: schema.table. The schema of datasources
	// has several names.
	path []string
	data bool
	cols []scopeColumn
	at   fault.Span
	// sole says that name means the only column, too: that of an UNNEST or of VALUES, to which the
	// text gives no name of its own.
	sole bool
}

type scopeColumn struct {
	name string
	col  *expr.Column
	// hidden columns are found by name and left out of *.
	hidden bool
	// shown is the name in *; "": it is name.
	shown string
}

// star is the column in the expansion of * over a relation of this name.
func (c *scopeColumn) star(relation string) starColumn {
	path := c.name
	if relation != "" {
		path = relation + "." + path
	}
	return starColumn{name: cmp.Or(c.shown, c.name), path: path, x: c.col}
}

type mergedColumn struct {
	name  string
	value expr.Expr
}

// relationOf returns a relation of the columns cols, the first of which is at offset.
func relationOf(name string, cols []plan.Column, offset int) relation {
	r := relation{name: name, cols: make([]scopeColumn, len(cols))}
	columns := make([]expr.Column, len(cols))
	for i, c := range cols {
		columns[i] = expr.Column{Index: offset + i, Name: c.Name, T: c.Type}
		r.cols[i] = scopeColumn{name: c.Name, col: &columns[i]}
	}
	return r
}

// shift moves every column of s by offset positions.
func (s *scope) shift(offset int) *scope {
	if offset == 0 {
		return s
	}
	out := &scope{merged: make([]mergedColumn, len(s.merged)), relations: make([]relation, len(s.relations))}
	for i, r := range s.relations {
		cols := make([]scopeColumn, len(r.cols))
		for j, c := range r.cols {
			moved := *c.col
			moved.Index += offset
			c.col = &moved
			cols[j] = c
		}
		r.cols = cols
		out.relations[i] = r
	}
	for i, m := range s.merged {
		m.value = expr.Remap(m.value, func(i int) int { return i + offset })
		out.merged[i] = m
	}
	return out
}

// allowNulls marks every column nullable: the scope is the side of an outer join that may have no
// partner.
func (s *scope) allowNulls() *scope {
	out := s.shift(0)
	if out == s {
		out = &scope{merged: s.merged, relations: make([]relation, len(s.relations))}
		for i, r := range s.relations {
			r.cols = append([]scopeColumn(nil), r.cols...)
			out.relations[i] = r
		}
	}
	for i := range out.relations {
		for j := range out.relations[i].cols {
			c := *out.relations[i].cols[j].col
			c.T.Nullable = true
			out.relations[i].cols[j].col = &c
		}
	}
	return out
}

// lookup finds what an unqualified name means; nil if nothing. The error is that it means more than
// one thing.
func (s *scope) lookup(id syntax.Ident) (expr.Expr, error) {
	for _, m := range s.merged {
		if m.name == id.Name {
			return m.value, nil
		}
	}
	var found *expr.Column
	for i := range s.relations {
		for j := range s.relations[i].cols {
			c := &s.relations[i].cols[j]
			if c.name != id.Name {
				continue
			}
			if found != nil {
				return nil, ambiguous(id.Name, id.At)
			}
			found = c.col
		}
	}
	if found != nil {
		return found, nil
	}
	for i := range s.relations {
		if r := &s.relations[i]; r.sole && r.name == id.Name {
			return r.cols[0].col, nil
		}
	}
	return nil, nil
}

func ambiguous(name string, at fault.Span) error {
	return fault.InvalidSQL(at, "Column '%s' is ambiguous", shortened(name))
}

// first returns the column of that name that stands first, nil if there is none.
func (s *scope) first(name string) expr.Expr {
	for i := range s.relations {
		if c := s.relations[i].lookup(name); c != nil {
			return c
		}
	}
	return nil
}

// relation returns the relation a qualifier names, nil if none.
func (s *scope) relation(parts []syntax.Ident) *relation {
	for i := range s.relations {
		if r := &s.relations[i]; r.matches(parts) {
			return r
		}
	}
	return nil
}

func (r *relation) matches(parts []syntax.Ident) bool {
	if len(parts) == 1 {
		return r.name != "" && r.name == parts[0].Name
	}
	if len(parts) != len(r.path) {
		return false
	}
	for i, p := range parts {
		if p.Name != r.path[i] && !(i == 0 && r.data && isDataSchema(p.Name)) {
			return false
		}
	}
	return true
}

func (r *relation) lookup(name string) *expr.Column {
	for i := range r.cols {
		if r.cols[i].name == name {
			return r.cols[i].col
		}
	}
	if r.sole && r.name == name {
		return r.cols[0].col
	}
	return nil
}

// starColumn is an expanded column of *; in errors it is called path.
type starColumn struct {
	name, path string
	x          expr.Expr
}

// count says how many columns of r have the name.
func (r *relation) count(name string) int {
	n := 0
	for i := range r.cols {
		if r.cols[i].name == name {
			n++
		}
	}
	return n
}

// twice returns a name that two of r's columns have, which is no name for either: those of a query
// whose text gives it twice. "" if none.
func (r *relation) twice() string {
	if i := repeated(len(r.cols), func(i int) string { return r.cols[i].name }); i >= 0 {
		return r.cols[i].name
	}
	return ""
}

// repeated returns the first of n names that one before it has, too, -1: there is none.
func repeated(n int, name func(i int) string) int {
	seen := make(map[string]bool, n)
	for i := range n {
		if seen[name(i)] {
			return i
		}
		seen[name(i)] = true
	}
	return -1
}

// names reports whether no relation of s has the name twice.
func (s *scope) names(name string) bool {
	for i := range s.relations {
		if s.relations[i].count(name) > 1 {
			return false
		}
	}
	return true
}

// distinctStar refuses * and t.* where they have columns that no name tells apart.
func (s *scope) distinctStar(x *syntax.Star) error {
	for i := range s.relations {
		r := &s.relations[i]
		if len(x.Parts) > 0 && r != s.relation(x.Parts) {
			continue
		}
		if name := r.twice(); name != "" {
			return ambiguous(name, x.At)
		}
	}
	return nil
}

// star expands * or t.*.
func (s *scope) star(x *syntax.Star) ([]starColumn, error) {
	all, err := s.starColumns(x)
	if err != nil || len(x.Without) == 0 {
		return all, err
	}
	if err := differentNames(x.Without, "EXCLUDE"); err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].name
	}
	out := make(map[string]bool, len(x.Without))
	for _, id := range x.Without {
		if out[id.Name] = true; !slices.Contains(names, id.Name) {
			return nil, notFound(id.At, id.Name, names, "Column '%s' not found in [%s]", id.Name, starText(x))
		}
	}
	kept := slices.DeleteFunc(all, func(c starColumn) bool { return out[c.name] })
	if len(kept) == 0 {
		return nil, fault.InvalidSQL(x.At, "EXCLUDE leaves no column of [%s]", starText(x))
	}
	return kept, nil
}

// starColumns are all columns of * or t.*.
func (s *scope) starColumns(x *syntax.Star) ([]starColumn, error) {
	if len(x.Parts) > 0 {
		r := s.relation(x.Parts)
		if r == nil {
			last := x.Parts[len(x.Parts)-1]
			return nil, suggest(fault.InvalidSQL(x.Parts[0].At.To(last.At), "Unknown identifier '%s'", joinIdents(x.Parts)), last.Name, s.relationNames())
		}
		var out []starColumn
		for _, c := range r.cols {
			if !c.hidden {
				out = append(out, c.star(r.name))
			}
		}
		return out, nil
	}
	var out []starColumn
	for _, m := range s.merged {
		out = append(out, starColumn{name: m.name, path: m.name, x: m.value})
	}
	for _, r := range s.relations {
		for _, c := range r.cols {
			if !c.hidden && !s.isMerged(c.name) {
				out = append(out, c.star(r.name))
			}
		}
	}
	return out, nil
}

func (s *scope) isMerged(name string) bool {
	for _, m := range s.merged {
		if m.name == name {
			return true
		}
	}
	return false
}

func (s *scope) columnNames() []string {
	var out []string
	for _, r := range s.relations {
		for _, c := range r.cols {
			if !c.hidden {
				out = append(out, c.name)
			}
		}
	}
	return out
}

func (s *scope) relationNames() []string {
	var out []string
	for _, r := range s.relations {
		out = append(out, r.name)
	}
	return out
}

func joinIdents(parts []syntax.Ident) string {
	var text strings.Builder
	for i, p := range parts {
		if i > 0 {
			text.WriteByte('.')
		}
		text.WriteString(p.Name)
	}
	return text.String()
}
