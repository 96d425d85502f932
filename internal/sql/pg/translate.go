package pg

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/sql/pgtype"
)

// Options are the inputs of Translate besides the query.
type Options struct {
	// Constant evaluates an expression that reads no table. ok is false if it can't be evaluated. Nil:
	// no expression can be evaluated.
	Constant func(x Expr) (v any, t pgtype.OID, ok bool)
	// Params are the values of the parameters. Values of array parameters are written into the text.
	// nil: the values are not known yet.
	Params []any
	// Bound says that Params contains the values.
	Bound bool
	// Zone is the time zone of the query, in which timestamps are written; nil: UTC.
	Zone *time.Location
}

// Translation is a query in the dialect of package sql.
type Translation struct {
	SQL string
	// Params are the numbers of the parameters of each ? in SQL, in order, from 1. Lists are the
	// parameters that are written into the text as lists, with the index, from 0, of the ? that
	// determines the type of their items.
	Params []int
	Lists  map[int]int
	// Casts maps parameters to the types that they are cast to.
	Casts map[int]TypeName
	// Tables are all tables in FROM, without WITH queries.
	Tables []*Table
	// Labels are the names of the output columns, if they are known without the catalog; nil: they are
	// not known.
	Labels []string
	// Err is the reason why the query can't be translated.
	Err error

	places []place
}

type place struct{ out, in int }

// Source returns the byte offset in the client's text for a line and a column (in characters, from
// 1) of SQL.
func (t *Translation) Source(line, column int) int {
	at := 0
	for ; line > 1; line-- {
		n := strings.IndexByte(t.SQL[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	for range t.SQL[at:] {
		if column--; column <= 0 {
			break
		}
		at++
	}
	i := sort.Search(len(t.places), func(i int) bool { return t.places[i].out > at })
	if i == 0 {
		return 0
	}
	return t.places[i-1].in
}

// Translate translates a query to the dialect of package sql.
func Translate(q *Query, o Options) *Translation {
	t := &translator{o: o, aliases: map[string]string{}, out: &Translation{Lists: map[int]int{}, Casts: map[int]TypeName{}}}
	t.query(q, true)
	t.out.SQL = t.b.String()
	return t.out
}

// Print formats an expression. Equal expressions have equal output.
func Print(x Expr) string {
	t := &translator{aliases: map[string]string{}, plain: true, out: &Translation{Lists: map[int]int{}, Casts: map[int]TypeName{}}}
	t.expr(x)
	return t.b.String()
}

type translator struct {
	o     Options
	b     strings.Builder
	out   *Translation
	plain bool
	// ctes are the names of WITH queries, aliases how an alias is written, by its folded name.
	ctes    []string
	aliases map[string]string
}

func (t *translator) refuse(at int, format string, args ...any) {
	if t.out.Err == nil {
		t.out.Err = &Error{At: at, Code: "0A000", Message: fmt.Sprintf(format, args...)}
	}
}

// at notes that what is written next comes from a place.
func (t *translator) at(in int) { t.out.places = append(t.out.places, place{t.b.Len(), in}) }

func (t *translator) put(parts ...string) {
	for _, p := range parts {
		t.b.WriteString(p)
	}
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func (t *translator) ident(n Ident) {
	t.at(n.At)
	if !n.Quoted {
		if a, ok := t.aliases[n.Name]; ok {
			t.put(quote(a))
			return
		}
	}
	t.put(quote(n.Raw))
}

// alias writes a name that is given here. Names without quotes are folded, as PostgreSQL does.
func (t *translator) alias(n Ident) {
	t.aliases[n.Name] = n.Name
	t.at(n.At)
	t.put(quote(n.Name))
}

func (t *translator) idents(list []Ident) {
	t.put("(")
	for i, n := range list {
		if i > 0 {
			t.put(", ")
		}
		t.alias(n)
	}
	t.put(")")
}

func (t *translator) query(q *Query, top bool) {
	before := len(t.ctes)
	defer func() { t.ctes = t.ctes[:before] }()
	if len(q.With) > 0 {
		if q.Recursive {
			for _, w := range q.With {
				if _, ok := w.Query.Body.(*SetOp); ok {
					t.refuse(w.Name.At, "WITH RECURSIVE is not supported over datasources")
				}
			}
		}
		t.put("WITH ")
		for i, w := range q.With {
			if i > 0 {
				t.put(", ")
			}
			t.alias(w.Name)
			if len(w.Columns) > 0 {
				t.put(" ")
				t.idents(w.Columns)
			}
			t.put(" AS (")
			if q.Recursive {
				t.ctes = append(t.ctes, w.Name.Name)
			}
			t.query(w.Query, false)
			t.put(")")
			t.ctes = append(t.ctes, w.Name.Name)
		}
		t.put(" ")
	}
	if b, ok := q.Body.(*Block); ok {
		t.collect(b)
	}
	t.body(q.Body, q, top)
	if len(q.OrderBy) > 0 {
		t.put(" ORDER BY ")
		t.order(q.OrderBy)
	}
	if q.Limit != nil {
		if c, ok := q.Limit.(*Const); !ok || c.Kind != Null {
			t.put(" LIMIT ")
			t.rows(q.Limit)
		}
	}
	if q.Offset != nil {
		t.put(" OFFSET ")
		t.rows(q.Offset)
	}
}

// rows writes a number of rows: a literal or a parameter, whose cast says nothing.
func (t *translator) rows(x Expr) {
	for {
		c, ok := x.(*Cast)
		if !ok {
			break
		}
		x = c.X
	}
	switch p := x.(type) {
	case *Param:
		if _, known := t.out.Casts[p.N]; !known {
			t.out.Casts[p.N] = TypeName{Name: "int8"}
		}
	case *Const:
		if p.Kind == Text {
			x = &Const{p.At, Int, p.Text}
		}
	default:
		if v, ok := t.constantOf(x); ok {
			t.value(v, pgtype.Int8, x.Pos())
			return
		}
	}
	t.expr(x)
}

// collect notes the aliases of a block before it is written: FROM comes behind the items.
func (t *translator) collect(b *Block) {
	for _, it := range b.Items {
		if it.As.Name != "" {
			t.aliases[it.As.Name] = it.As.Name
		}
	}
	var walk func(f From)
	walk = func(f From) {
		switch f := f.(type) {
		case *Table:
			if f.Alias.Name != "" {
				t.aliases[f.Alias.Name] = f.Alias.Name
			}
			for _, c := range f.Columns {
				t.aliases[c.Name] = c.Name
			}
		case *Derived:
			t.aliases[f.Alias.Name] = f.Alias.Name
		case *Function:
			t.aliases[f.Alias.Name] = f.Alias.Name
		case *Join:
			walk(f.Left)
			walk(f.Right)
		}
	}
	for _, f := range b.From {
		walk(f)
	}
	delete(t.aliases, "")
}

func (t *translator) order(list []Order) {
	for i, o := range list {
		if i > 0 {
			t.put(", ")
		}
		t.expr(o.X)
		if o.Desc {
			t.put(" DESC")
		}
		switch {
		case o.Nulls != "":
			t.put(" NULLS ", strings.ToUpper(o.Nulls))
		case isTime(o.X) || t.plain: // time is never NULL
		case o.Desc:
			t.put(" NULLS FIRST")
		default:
			t.put(" NULLS LAST")
		}
	}
}

func (t *translator) body(b Body, q *Query, top bool) {
	switch b := b.(type) {
	case *Block:
		t.block(b, q, top)
	case *SetOp:
		if top {
			t.out.Labels = labelsOf(b.Left)
		}
		t.side(b.Left, b, true)
		t.put(" ", strings.ToUpper(b.Op), " ")
		if b.All {
			t.put("ALL ")
		}
		t.side(b.Right, b, false)
	case *Values:
		t.put("VALUES ")
		for i, row := range b.Rows {
			if i > 0 {
				t.put(", ")
			}
			t.put("(")
			t.list(row)
			t.put(")")
			if top && i == 0 {
				for k := range row {
					t.out.Labels = append(t.out.Labels, fmt.Sprintf("column%d", k+1))
				}
			}
		}
	case *nested:
		t.put("(")
		t.query(b.query, top)
		t.put(")")
	}
}

func (t *translator) side(q *Query, of *SetOp, left bool) {
	_, block := q.Body.(*Block)
	simple := block && len(q.With) == 0 && q.OrderBy == nil && q.Limit == nil && q.Offset == nil
	if op, ok := q.Body.(*SetOp); ok && left && op.Op == of.Op && op.All == of.All {
		simple = true
	}
	if !simple {
		t.put("(")
	}
	t.query(q, false)
	if !simple {
		t.put(")")
	}
}

// labelsOf returns the names of the columns of a query; nil: they need the catalog.
func labelsOf(q *Query) []string {
	switch b := q.Body.(type) {
	case *Block:
		var out []string
		for _, it := range b.Items {
			if _, star := it.X.(*Star); star {
				return nil
			}
			out = append(out, label(it))
		}
		return out
	case *SetOp:
		return labelsOf(b.Left)
	}
	return nil
}

// label is the name of an output column.
func label(it Item) string {
	if it.As.Name != "" {
		return it.As.Name
	}
	return nameOf(it.X)
}

// nameOf is the name of an output column without an alias. Columns keep their capital letters.
func nameOf(x Expr) string {
	switch x := x.(type) {
	case *Name:
		return x.Parts[len(x.Parts)-1].Raw
	case *Call:
		return x.Name
	case *Cast:
		inner := x.X
		for k, ok := inner.(*Cast); ok; k, ok = inner.(*Cast) {
			inner = k.X
		}
		if n := nameOf(inner); n != "?column?" {
			return n
		}
		return x.Type.Name
	case *Case:
		if x.Else != nil {
			if n := nameOf(x.Else); n != "?column?" {
				return n
			}
		}
		return "case"
	case *Subscript:
		return nameOf(x.X)
	case *Array:
		return "array"
	case *Exists:
		return "exists"
	case *Row:
		return "row"
	case *Sub:
		if l := labelsOf(x.Query); len(l) == 1 {
			return l[0]
		}
	}
	return "?column?"
}

func (t *translator) block(b *Block, q *Query, top bool) {
	t.at(b.At)
	t.put("SELECT ")
	if b.Distinct {
		t.put("DISTINCT ")
	}
	if top {
		t.out.Labels = labelsOf(&Query{Body: b})
	}
	if len(b.Items) == 0 {
		t.refuse(b.At, "SELECT without columns is not supported over datasources")
	}
	var names []string
	for _, it := range b.Items {
		names = append(names, label(it))
	}
	for i, it := range b.Items {
		if i > 0 {
			t.put(", ")
		}
		t.expr(it.X)
		_, isName := it.X.(*Name)
		_, isStar := it.X.(*Star)
		switch {
		case it.As.Name != "":
			t.put(" AS ")
			t.alias(it.As)
		case !top && !isName && !isStar && names[i] != "?column?" && count(names, names[i]) == 1:
			t.put(" AS ", quote(names[i]))
			t.aliases[names[i]] = names[i]
		}
	}
	if len(b.From) > 0 {
		t.put(" FROM ")
		for i, f := range b.From {
			if i > 0 {
				t.put(", ")
			}
			t.from(f)
		}
	}
	if b.Where != nil {
		t.put(" WHERE ")
		t.expr(b.Where)
	}
	if len(b.GroupBy) > 0 {
		t.put(" GROUP BY ")
		t.list(b.GroupBy)
	}
	if b.Having != nil {
		t.put(" HAVING ")
		t.expr(b.Having)
	}
	if len(b.Windows) > 0 {
		t.put(" WINDOW ")
		first := true
		for _, name := range sortedKeys(b.Windows) {
			if !first {
				t.put(", ")
			}
			first = false
			t.put(quote(name), " AS (")
			t.window(b.Windows[name])
			t.put(")")
		}
	}
	if len(b.DistinctOn) > 0 {
		t.put(" QUALIFY ROW_NUMBER() OVER (PARTITION BY ")
		t.list(resolve(b.DistinctOn, b.Items))
		if len(q.OrderBy) > 0 {
			t.put(" ORDER BY ")
			orders := slices.Clone(q.OrderBy)
			for i := range orders {
				orders[i].X = resolve([]Expr{orders[i].X}, b.Items)[0]
			}
			t.order(orders)
		}
		t.put(") = 1")
	}
}

// resolve replaces positions and aliases of output columns by what these are.
func resolve(list []Expr, items []Item) []Expr {
	out := slices.Clone(list)
	for i, x := range out {
		switch x := x.(type) {
		case *Const:
			n := 0
			if _, err := fmt.Sscan(x.Text, &n); x.Kind == Int && err == nil && n >= 1 && n <= len(items) {
				out[i] = items[n-1].X
			}
		case *Name:
			for _, it := range items {
				if len(x.Parts) == 1 && it.As.Name == x.Parts[0].Name && it.As.Name != "" {
					out[i] = it.X
				}
			}
		}
	}
	return out
}

func sortedKeys(m map[string]*Over) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func count(list []string, s string) (n int) {
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func (t *translator) from(f From) {
	switch f := f.(type) {
	case *Table:
		t.table(f)
	case *Derived:
		if f.Lateral {
			t.put("LATERAL ")
		}
		t.put("(")
		t.query(f.Query, false)
		t.put(")")
		t.as(f.Alias, f.Columns)
	case *Function:
		t.function(f)
	case *Join:
		t.join(f)
	}
}

func (t *translator) as(alias Ident, columns []Ident) {
	if alias.Name == "" {
		return
	}
	t.put(" AS ")
	t.alias(alias)
	if len(columns) > 0 {
		t.put(" ")
		t.idents(columns)
	}
}

func (t *translator) table(f *Table) {
	parts := f.Parts
	if len(parts) == 1 && slices.Contains(t.ctes, parts[0].Name) {
		t.ident(parts[0])
		t.as(f.Alias, f.Columns)
		return
	}
	t.out.Tables = append(t.out.Tables, f)
	if len(parts) > 2 { // a database
		parts = parts[len(parts)-2:]
	}
	if len(parts) == 2 && parts[0].Name == "public" {
		parts = parts[1:]
	}
	for i, p := range parts {
		if i > 0 {
			t.put(".")
		}
		t.at(p.At)
		t.put(quote(p.Raw))
	}
	alias := f.Alias
	if alias.Name == "" && len(f.Columns) > 0 {
		alias = parts[len(parts)-1]
	}
	t.as(alias, f.Columns)
}

func (t *translator) function(f *Function) {
	if f.Ordinality {
		t.refuse(f.At, "WITH ORDINALITY is not supported over datasources")
	}
	if f.Call.Name == "unnest" {
		t.put("UNNEST(")
		t.list(f.Call.Args)
		t.put(")")
		alias, columns := f.Alias, f.Columns
		if alias.Name == "" {
			alias = Ident{At: f.At, Name: "unnest", Raw: "unnest"}
		}
		if len(columns) == 0 {
			columns = []Ident{alias}
		}
		t.as(alias, columns)
		return
	}
	var v any
	ok := false
	if t.o.Constant != nil {
		v, _, ok = t.o.Constant(&Array{At: At(f.At), Query: &Query{At: f.At, Body: &Block{At: f.At, Items: []Item{{X: f.Call}}}}})
	}
	a, isArray := v.(*pgtype.Array)
	if !ok || !isArray || len(a.Items) == 0 || len(a.Items) > maxSeries {
		t.refuse(f.At, "function %s() in FROM is not supported over datasources", f.Call.Name)
		return
	}
	t.put("(VALUES ")
	for i, item := range a.Items {
		if i > 0 {
			t.put(", ")
		}
		t.put("(")
		t.value(item, a.Elem, f.At)
		t.put(")")
	}
	t.put(")")
	alias, columns := f.Alias, f.Columns
	if alias.Name == "" {
		alias = Ident{At: f.At, Name: f.Call.Name, Raw: f.Call.Name}
	}
	if len(columns) == 0 {
		columns = []Ident{alias}
	}
	t.as(alias, columns)
}

// maxSeries bounds the rows of generate_series beside datasources.
const maxSeries = 10_000

func (t *translator) join(j *Join) {
	t.from(j.Left)
	if j.Natural {
		t.put(" NATURAL")
	}
	switch j.Kind {
	case "inner":
		t.put(" JOIN ")
	default:
		t.put(" ", strings.ToUpper(j.Kind), " JOIN ")
	}
	_, inner := j.Right.(*Join)
	if inner {
		t.put("(")
	}
	t.from(j.Right)
	if inner {
		t.put(")")
	}
	if j.On != nil {
		t.put(" ON ")
		t.expr(j.On)
	}
	if len(j.Using) > 0 {
		t.put(" USING (")
		for i, n := range j.Using {
			if i > 0 {
				t.put(", ")
			}
			t.ident(n)
		}
		t.put(")")
	}
}

func (t *translator) window(w *Over) {
	space := ""
	if w.Name != "" {
		t.put(quote(w.Name))
		space = " "
	}
	if len(w.PartitionBy) > 0 {
		t.put(space, "PARTITION BY ")
		t.list(w.PartitionBy)
		space = " "
	}
	if len(w.OrderBy) > 0 {
		t.put(space, "ORDER BY ")
		t.order(w.OrderBy)
		space = " "
	}
	if w.Frame != "" {
		t.put(space, w.Frame)
	}
}

func (t *translator) list(list []Expr) {
	for i, x := range list {
		if i > 0 {
			t.put(", ")
		}
		t.expr(x)
	}
}
