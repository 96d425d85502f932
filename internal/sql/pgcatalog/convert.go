package pgcatalog

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// convert casts a value.
func convert(s *Session, v any, from, to pgtype.OID, at int) any {
	if v == nil || from == to {
		return v
	}
	if te := pgtype.ElementOf(to); te != 0 {
		if a, ok := v.(*pgtype.Array); ok {
			out := &pgtype.Array{Elem: te, Lower: a.Lower, Items: make([]any, len(a.Items))}
			if to == pgtype.AnyArray {
				return a
			}
			for i, item := range a.Items {
				if inner, ok := item.(*pgtype.Array); ok {
					out.Items[i] = convert(s, inner, from, to, at)
					continue
				}
				out.Items[i] = convert(s, item, a.Elem, te, at)
			}
			return out
		}
	}
	if x, ok := v.(string); ok && !to.IsText() {
		if to.IsOID() {
			return s.regOID(to, x, at)
		}
		out, err := pgtype.Parse(to, x, s.Zone)
		return value(out, err, at)
	}
	switch {
	case to == pgtype.Char:
		t := text(v, from, s)
		return t[:min(1, len(t))]
	case to.IsText():
		return text(v, from, s)
	case to.IsInteger(), to.IsOID():
		return toInteger(v, to, at)
	case to == pgtype.Float4 || to == pgtype.Float8:
		return float(v)
	case to == pgtype.NumericT:
		switch x := v.(type) {
		case float64:
			return pgtype.Numeric(strconv.FormatFloat(x, 'f', -1, 64))
		case int64:
			return pgtype.Numeric(strconv.FormatInt(x, 10))
		}
	case to == pgtype.Bool:
		if n, ok := v.(int64); ok {
			return n != 0
		}
	case to.IsTime():
		return toTime(s, v, from, to)
	case to == pgtype.JSON || to == pgtype.JSONB:
		return toJSON(v, from, s)
	}
	return v
}

func toInteger(v any, to pgtype.OID, at int) any {
	n := int64(0)
	switch x := v.(type) {
	case int64:
		n = x
	case bool:
		if x {
			n = 1
		}
	default:
		f := math.RoundToEven(float(v))
		if math.IsNaN(f) || math.Abs(f) > 1<<63-1024 {
			fail(at, "22003", "%s out of range", to.Name())
		}
		n = int64(f)
	}
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	switch {
	case to == pgtype.Int2:
		low, high = math.MinInt16, math.MaxInt16
	case to == pgtype.Int4:
		low, high = math.MinInt32, math.MaxInt32
	case to.IsOID():
		low, high = math.MinInt32, math.MaxUint32
	}
	if n < low || n > high {
		fail(at, "22003", "%s out of range", to.Name())
	}
	if to.IsOID() {
		n = int64(uint32(n))
	}
	return n
}

func toTime(s *Session, v any, from, to pgtype.OID) any {
	zone := s.Zone
	if zone == nil {
		zone = time.UTC
	}
	shift := func(t time.Time, z *time.Location) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), z)
	}
	var t time.Time
	switch x := v.(type) {
	case pgtype.Timestamp:
		if x == pgtype.PositiveInfinity || x == pgtype.NegativeInfinity {
			return x
		}
		t = x.Time()
	case pgtype.Date:
		t = time.Unix(int64(x)*86400, 0).UTC()
	default:
		return v
	}
	switch {
	case from == pgtype.Timestamptz && to != pgtype.Timestamptz:
		t = shift(t.In(zone), time.UTC)
	case from != pgtype.Timestamptz && to == pgtype.Timestamptz:
		t = shift(t, zone)
	}
	if to == pgtype.DateType {
		return pgtype.Date(math.Floor(float64(t.Unix()) / 86400))
	}
	return pgtype.Timestamp(t.UnixMicro())
}

// typeOf returns the type that a name means.
func (c *compiler) typeOf(t pg.TypeName) pgtype.OID {
	o := pgtype.Named(t.Name)
	if o == 0 {
		fail(t.At, "42704", "type %q does not exist", t.Name)
	}
	for range t.Array {
		o = pgtype.ArrayOf(o)
	}
	return o
}

// ParseValue parses the text of a value. The text of a reg type may be the name of an object.
func (s *Session) ParseValue(t pgtype.OID, text string) (v any, err error) {
	if !t.IsOID() || t == pgtype.OIDType {
		return pgtype.Parse(t, text, s.Zone)
	}
	err = protect(func() { v = s.regOID(t, text, 0) })
	return v, err
}

// regOID reads the name of an object as a value of a reg type.
func (s *Session) regOID(t pgtype.OID, name string, at int) any {
	if n, err := strconv.ParseInt(strings.TrimSpace(name), 10, 64); err == nil || name == "-" {
		return int64(uint32(n))
	}
	missing := func(code, what string) any {
		fail(at, code, "%s %q does not exist", what, name)
		return nil
	}
	switch t {
	case pgtype.Regclass:
		if o := s.relationOID(name); o != 0 {
			return o
		}
		return missing("42P01", "relation")
	case pgtype.Regtype:
		if o := typeOID(name); o != 0 {
			return o
		}
		return missing("42704", "type")
	case pgtype.Regproc, 2202:
		short, _, _ := strings.Cut(strings.TrimPrefix(name, "pg_catalog."), "(")
		if o := known().procName[short]; o != 0 {
			return o
		}
		return missing("42883", "function")
	case pgtype.Regnamespac:
		if o, ok := s.Snapshot.namespaces()[strings.Trim(name, `"`)]; ok {
			return o
		}
		return missing("3F000", "schema")
	case pgtype.Regrole:
		if strings.Trim(name, `"`) == s.User {
			return int64(ownerOID)
		}
		return missing("42704", "role")
	}
	_, err := pgtype.Parse(t, name, nil)
	return value(nil, err, at)
}

// splitName takes apart a name with dots and quotes, and folds it.
func splitName(name string) []string {
	var out []string
	var b strings.Builder
	quoted := false
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c == '"' && quoted && i+1 < len(name) && name[i+1] == '"':
			b.WriteByte('"')
			i++
		case c == '"':
			quoted = !quoted
		case c == '.' && !quoted:
			out = append(out, b.String())
			b.Reset()
		case !quoted && 'A' <= c && c <= 'Z':
			b.WriteByte(c + 'a' - 'A')
		default:
			b.WriteByte(c)
		}
	}
	return append(out, b.String())
}

// relationOID returns the number of a relation; 0: there is none.
func (s *Session) relationOID(name string) int64 {
	parts := splitName(strings.TrimSpace(name))
	last := parts[len(parts)-1]
	if len(parts) > 1 {
		schema := parts[len(parts)-2]
		if t := known().byName[schema+"."+last]; t != nil {
			return t.oid
		}
		if r := s.Snapshot.Relation(schema, last); r != nil {
			return r.oid
		}
		return 0
	}
	if t := known().byName[Catalog+"."+last]; t != nil {
		return t.oid
	}
	for _, schema := range s.searchPath() {
		if r := s.Snapshot.Relation(schema, last); r != nil {
			return r.oid
		}
		if t := known().byName[schema+"."+last]; t != nil {
			return t.oid
		}
	}
	// Datasources have names with capital letters, which clients write without quotes.
	for _, schema := range s.searchPath() {
		if r := s.Snapshot.Relation(schema, strings.TrimSpace(name)); r != nil {
			return r.oid
		}
	}
	return 0
}

// typeOID returns the number of a type; 0: there is none.
func typeOID(name string) int64 {
	name = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "pg_catalog.")
	base, isArray := strings.CutSuffix(name, "[]")
	base, _, _ = strings.Cut(base, "(")
	base = strings.Trim(base, `"`)
	e, err := pg.ParseExpr("null::" + base)
	o := pgtype.Named(base)
	if c, ok := e.(*pg.Cast); ok && err == nil {
		o = pgtype.Named(c.Type.Name)
	}
	if o == 0 {
		return known().typeName[base]
	}
	if isArray {
		o = pgtype.ArrayOf(o)
	}
	return int64(o)
}

// regName shows a value of a reg type.
func (s *Session) regName(t pgtype.OID, o int64) string {
	if o == 0 {
		return "-"
	}
	k := known()
	switch t {
	case pgtype.Regclass:
		if b := k.byOID[o]; b != nil {
			if b.schema == Catalog {
				return b.name
			}
			return b.schema + "." + b.name
		}
		if r := s.Snapshot.byOID[o]; r != nil {
			if r.Schema == Public {
				return quoteIdent(r.Name)
			}
			return quoteIdent(r.Schema) + "." + quoteIdent(r.Name)
		}
	case pgtype.Regtype:
		if n := s.formatType(o); n != "???" {
			return n
		}
	case pgtype.Regproc, 2202:
		if n := k.procByID[o]; n != "" {
			return n
		}
	case pgtype.Regnamespac:
		for name, n := range s.Snapshot.namespaces() {
			if n == o {
				return quoteIdent(name)
			}
		}
	case pgtype.Regrole:
		if o == ownerOID {
			return quoteIdent(s.User)
		}
	case 4191:
		if o == 100 {
			return `"default"`
		}
	}
	return strconv.FormatInt(o, 10)
}

// formatType returns the name of a type as SQL writes it.
func (s *Session) formatType(o int64) string {
	if n := pgtype.OID(o).Name(); n != "???" {
		return n
	}
	if t := known().typeByID[o]; t != nil {
		if e := number(t.fields[8]); e != 0 && strings.HasPrefix(t.name, "_") {
			return s.formatType(e) + "[]"
		}
		return t.name
	}
	for _, r := range s.Snapshot.relations {
		if rowType(r) == o {
			return quoteIdent(r.Name)
		}
	}
	return "???"
}

// quoteIdent writes a name so that it is read as the same.
func quoteIdent(name string) string {
	plain := name != "" && !('0' <= name[0] && name[0] <= '9') && name[0] != '$'
	for i := 0; i < len(name) && plain; i++ {
		c := name[i]
		plain = c == '_' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '$' && i > 0
	}
	if plain && !pg.IsReserved(name) {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
