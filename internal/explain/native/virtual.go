package native

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/querycontext"
)

// virtuals are the virtual columns of a query; equal expressions share one. A number that is left
// out has neither an expression nor a column.
type virtuals struct {
	rows   *rows
	prefix string
	exprs  []expr.Expr
	types  []expr.Type
	texts  []string // of the expressions
	list   []object
}

// columns are the virtual columns. What is more than an expression inside of one is a column of its
// own, behind those that the query reads.
func (v *virtuals) columns() []object {
	for i := 0; i < len(v.list); i++ {
		if v.list[i].get("type") != "expression" || v.rows.w.stepwise {
			continue
		}
		over := expr.Rewrite(v.exprs[i], func(e expr.Expr) expr.Expr {
			if v.special(e, "") == nil {
				return e
			}
			return &expr.Column{Name: v.column(e), T: e.Type()}
		})
		v.list[i] = v.expression(over, v.types[i], v.prefix+strconv.Itoa(i))
	}
	list := slices.DeleteFunc(slices.Clone(v.list), func(o object) bool { return o == nil })
	slices.SortFunc(list, func(a, b object) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return list
}

// nameOf is the name of a virtual column; that of a field of JSON is called its output's.
func nameOf(o object) string {
	name, ok := o.get("name").(string)
	if !ok {
		name, _ = o.get("outputName").(string)
	}
	return name
}

func (r *rows) newVirtuals() *virtuals { return &virtuals{rows: r, prefix: unusedPrefix("v", r.in)} }

// column returns the column that has the value of e.
func (v *virtuals) column(e expr.Expr) string {
	if v.rows.w.stepwise {
		return v.columnAs(e, e.Type())
	}
	return v.columnAs(e, typeOfFloats(e))
}

// columnAs is column for a value that is wanted as one of a type.
func (v *virtuals) columnAs(e expr.Expr, typ expr.Type) string {
	if e = v.rows.w.bare(plain(e)); typ.Base == expr.Float && e.Type().Base == expr.Double {
		e = &expr.Cast{X: e, T: expr.Of(expr.Float).OrNull(e.Type().Nullable)}
	}
	if c, ok := e.(*expr.Column); ok {
		return c.Name
	}
	text := v.rows.w.native(e)
	for i, x := range v.exprs {
		if x != nil && v.types[i].Base == typ.Base && v.texts[i] == text && (!v.rows.w.stepwise || expr.Equal(x, e)) {
			return v.prefix + strconv.Itoa(i)
		}
	}
	name := v.prefix + strconv.Itoa(len(v.exprs))
	v.exprs, v.types, v.texts = append(v.exprs, e), append(v.types, typ), append(v.texts, text)
	special := v.special(e, name)
	if special == nil {
		special = v.expression(e, typ, name)
	}
	v.list = append(v.list, special)
	return name
}

// special is the virtual column that is made for one kind of expression; nil: there is none for e.
func (v *virtuals) special(e expr.Expr, name string) object {
	switch c, form := formOf(e); {
	case form.virtual != nil:
		return form.virtual(c, name)
	case form.nested != nil && !v.rows.w.says(querycontext.ExpressionsOnly, true):
		return form.nested(c, name)
	}
	return nil
}

func (v *virtuals) expression(e expr.Expr, typ expr.Type, name string) object {
	var shown any
	if e.Type().Base != expr.Null {
		shown = runtimeName(typ)
	}
	return obj("type", "expression", "name", name, "expression", v.rows.w.native(e), "outputType", shown)
}

// bare is the column that e is written as: what only changes a type that native queries do not tell
// apart says nothing.
func (w *writer) bare(e expr.Expr) expr.Expr {
	var columns []*expr.Column
	expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Column); ok {
			columns = append(columns, c)
		}
		return x
	})
	if len(columns) == 1 && w.native(columns[0]) == w.native(e) {
		return columns[0]
	}
	return e
}

// filteredValues is the virtual column of some of the values of a multi-value column: of those in a
// list, or not in it; nil if c is of anything else.
func filteredValues(c *expr.Call, name string, in bool) object {
	if len(c.Args) != 2 {
		return nil
	}
	source := c.Args[0]
	if cast, ok := source.(*expr.Cast); ok {
		source = cast.X
	}
	from, ok := source.(*expr.Column)
	values, isList := listOf(c.Args[1])
	if !ok || !isList {
		return nil
	}
	return obj("type", "mv-filtered", "name", name, "delegate", obj("type", "default", "dimension", from.Name, "outputName", from.Name, "outputType", "STRING"),
		"values", values, "isAllowList", in)
}

// skip leaves a number out.
func (v *virtuals) skip() {
	v.exprs, v.types, v.texts, v.list = append(v.exprs, nil), append(v.types, expr.Type{}), append(v.texts, ""), append(v.list, nil)
}

// nestedField is the virtual column of what a path finds in a column, a value or any JSON; nil if c
// is over anything else.
func nestedField(c *expr.Call, name string, anyJSON bool) object {
	if len(c.Args) < 2 {
		return nil
	}
	source := c.Args[0]
	if text, isCall := source.(*expr.Call); isCall && text.Fn.NativeName == "to_json" && len(text.Args) == 1 {
		source = text.Args[0] // quirk Q015: of a text Druid says the same
	}
	from, ok := source.(*expr.Column)
	path, isText := textOf(c.Args[1])
	if !ok || !isText {
		return nil
	}
	parts, ok := pathParts(path)
	if !ok {
		return nil
	}
	var expected any
	if c.T.Base != expr.Boolean { // which native queries have no type for
		expected = runtimeName(c.T)
	}
	return obj("type", "nested-field", "columnName", from.Name, "outputName", name, "expectedType", expected, "pathParts", parts,
		"processFromRaw", anyJSON)
}

// pathParts reads $.a.b and $.a[0].
func pathParts(path string) ([]object, bool) {
	parts := []object{}
	rest := path
	if len(rest) == 0 || rest[0] != '$' {
		return nil, false
	}
	rest = rest[1:]
	for rest != "" {
		end := 1
		switch rest[0] {
		case '.':
			for end < len(rest) && rest[end] != '.' && rest[end] != '[' {
				end++
			}
			if end > 1 {
				parts = append(parts, obj("type", "field", "field", rest[1:end]))
			}
		case '[':
			for end < len(rest) && rest[end] != ']' {
				end++
			}
			i, err := strconv.Atoi(rest[1:end])
			if err != nil || end == len(rest) {
				return nil, false
			}
			parts = append(parts, obj("type", "arrayElement", "index", i))
			end++
		default:
			return nil, false
		}
		rest = rest[end:]
	}
	return parts, true
}

// manyTableColumns are as many as cost no more to read than a constant.
const manyTableColumns = 5
