package avatica

import (
	"math"
	"strconv"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/result"
)

// jdbcType says how JDBC sees a type of SQL.
type jdbcType struct {
	id               int32
	name, rep, class string
	precision, scale int32
}

// noScale is the scale of types that have none.
const noScale = math.MinInt32

var (
	varchar = jdbcType{12, "VARCHAR", "STRING", "java.lang.String", -1, noScale}
	other   = jdbcType{1111, "OTHER", "OBJECT", "java.lang.Object", -1, noScale}
)

// jdbcTypes are the scalar types (java.sql.Types).
var jdbcTypes = map[string]jdbcType{
	"VARCHAR":   varchar,
	"CHAR":      {1, "CHAR", "STRING", "java.lang.String", 1, noScale},
	"BOOLEAN":   {16, "BOOLEAN", "BOOLEAN", "java.lang.Boolean", 1, noScale},
	"TINYINT":   {-6, "TINYINT", "NUMBER", "java.lang.Byte", 3, 0},
	"SMALLINT":  {5, "SMALLINT", "NUMBER", "java.lang.Short", 5, 0},
	"INTEGER":   {4, "INTEGER", "NUMBER", "java.lang.Integer", 10, 0},
	"BIGINT":    {-5, "BIGINT", "NUMBER", "java.lang.Long", 19, 0},
	"FLOAT":     {6, "FLOAT", "FLOAT", "java.lang.Double", 15, noScale},
	"REAL":      {7, "REAL", "FLOAT", "java.lang.Float", 7, noScale},
	"DOUBLE":    {8, "DOUBLE", "DOUBLE", "java.lang.Double", 15, noScale},
	"DECIMAL":   {3, "DECIMAL", "DOUBLE", "java.math.BigDecimal", 19, 9},
	"DATE":      {91, "DATE", "INTEGER", "java.sql.Date", 0, noScale},
	"TIMESTAMP": {93, "TIMESTAMP", "LONG", "java.sql.Timestamp", 3, noScale},
	"NULL":      {0, "NULL", "OBJECT", "java.lang.Void", 0, noScale},
}

func jdbcOf(t expr.Type) jdbcType {
	if t.Multi {
		return varchar
	}
	if j, ok := jdbcTypes[t.Base.String()]; ok {
		return j
	}
	return other
}

func typeFor(t expr.Type) typeOf {
	if t.Base == expr.Array && !t.Multi {
		component := typeFor(t.Elem())
		return typeOf{Kind: "array", ID: 2003, Name: "ARRAY", Rep: "ARRAY", Component: &component}
	}
	j := jdbcOf(t)
	return typeOf{Kind: "scalar", ID: j.id, Name: j.name, Rep: j.rep}
}

// small reports whether the numbers of a type, or of the elements of one, are of 32 bits in Java.
func (t *typeOf) small() bool {
	if t.Component != nil {
		return t.Component.small()
	}
	switch t.ID {
	case 4, 5, -6, 91:
		return true
	}
	return false
}

// columnsOf describes the columns of a result.
func columnsOf(columns []result.Column) []column {
	out := make([]column, len(columns))
	for i, c := range columns {
		j, class := jdbcOf(c.Type), ""
		t := typeFor(c.Type)
		if class = j.class; t.Kind == "array" {
			class = "java.sql.Array"
		}
		nullable := int32(0)
		if c.Type.Nullable {
			nullable = 1
		}
		out[i] = column{
			Ordinal: int32(i), CaseSensitive: true, Nullable: nullable, Signed: true, DisplaySize: j.precision, Label: c.Name, ColumnName: c.Name,
			Precision: j.precision, Scale: j.scale, Type: t, ReadOnly: true, ClassName: class,
		}
	}
	return out
}

// parametersOf describes the parameters of a statement. One of which nothing says what it is may be
// any text.
func parametersOf(types []expr.Type) []parameter {
	out := make([]parameter, len(types))
	for i, t := range types {
		j := jdbcOf(t)
		if t.Base == expr.Null {
			j = varchar
		}
		out[i] = parameter{Precision: j.precision, Scale: j.scale, Type: j.id, TypeName: j.name, ClassName: j.class, Name: "?" + strconv.Itoa(i)}
	}
	return out
}

// The styles of cursors: arrays for prepared statements, lists for other statements.
const (
	styleList  = "LIST"
	styleArray = "ARRAY"
)

func signatureOf(sql string, columns []result.Column, parameters []expr.Type, style string) *signature {
	kind := "SELECT"
	return &signature{Columns: columnsOf(columns), SQL: &sql, Parameters: parametersOf(parameters),
		CursorFactory: cursorStyle{Style: style}, StatementType: &kind}
}
