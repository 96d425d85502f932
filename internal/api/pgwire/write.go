package pgwire

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgcatalog"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// Writer writes rows that clients insert. It is safe for concurrent use.
type Writer interface {
	// Schema describes how the rows of a datasource are read.
	Schema(ctx context.Context, dataSource string) (WriteSchema, error)
	// Write adds rows, which are lines of JSON: all or none. They are durable and queryable when it
	// returns. The caller has checked that the client has the permission.
	Write(ctx context.Context, dataSource string, lines []byte) error
	// MaxBytes returns the maximum size of the lines of one call.
	MaxBytes() int64
}

// WriteSchema describes how the rows of a datasource are read.
type WriteSchema struct {
	// Time is the time field of rows, and Format its format, as in a timestampSpec.
	Time, Format string
	// Optional says that rows without a time are accepted.
	Optional bool
	// Aggregates says that columns are aggregated from several rows.
	Aggregates bool
}

// timeColumn is the column of a datasource that has the time of its rows.
const timeColumn = "__time"

// target is where rows go.
type target struct {
	table   string
	columns []targetColumn
	schema  WriteSchema
}

// targetColumn is a column that rows have a value for.
type targetColumn struct {
	name string
	typ  pgtype.OID
	key  []byte // what begins the member of an object
	time bool
}

// writes are rows of a transaction that were not sent yet: COMMIT sends them all at once.
type writes struct {
	table string
	lines []byte
	rows  int
}

// memoryStep is how much memory is reserved at once for rows that wait for COMMIT.
const memoryStep = 256 << 10

// mayWrite refuses what may not be written.
func (c *session) mayWrite(table string) error {
	if c.server.o.Writer == nil {
		return failure("0A000", "this server takes no rows")
	}
	return c.access.Check(auth.With(c.ctx, c.access), auth.Writes(auth.Datasource, table))
}

// targetOf finds the columns of a table that rows are given for, all if none are named.
func (c *session) targetOf(parts []pg.Ident, at int, names []pg.Ident) (*target, error) {
	schema := pgcatalog.Public
	if len(parts) > 1 {
		schema = parts[len(parts)-2].Name
	}
	last := parts[len(parts)-1]
	if pgcatalog.IsCatalog(parts) || schema != pgcatalog.Public {
		return nil, &pg.Error{At: at, Code: "42809", Message: "cannot insert into \"" + last.Name + "\": rows are added to datasources only"}
	}
	relation, err := c.relation(last.Raw)
	if relation == nil && err == nil && last.Name != last.Raw {
		relation, err = c.relation(last.Name)
	}
	if err != nil {
		return nil, err
	}
	if relation == nil {
		if err := c.mayWrite(last.Raw); err != nil { // who may not write does not learn what there is
			return nil, err
		}
		return nil, &wireError{code: "42P01", message: "relation \"" + last.Name + "\" does not exist",
			hint: "A datasource begins with rows that are ingested, or sent to /service/v2/ingest; see docs/postgres.md."}
	}
	out := &target{table: relation.Name}
	if err := c.mayWrite(out.table); err != nil {
		return nil, err
	}
	if out.schema, err = c.server.o.Writer.Schema(c.ctx, out.table); err != nil {
		return nil, err
	}
	if out.schema.Aggregates {
		return nil, failure("0A000", "datasource \"%s\" aggregates rows as they come", out.table).
			withHint("Send the rows over HTTP, where they have the fields that are aggregated.")
	}
	if names == nil {
		for _, k := range relation.Columns {
			err = out.add(k.Name, k.Type)
			if err != nil {
				return nil, err
			}
		}
	}
	for _, n := range names {
		i := slices.IndexFunc(relation.Columns, func(k pgcatalog.Column) bool { return k.Name == n.Raw })
		if i < 0 {
			i = slices.IndexFunc(relation.Columns, func(k pgcatalog.Column) bool { return k.Name == n.Name })
		}
		switch {
		case i >= 0:
			err = out.add(relation.Columns[i].Name, relation.Columns[i].Type)
		case n.Raw == out.schema.Time: // as it is written over HTTP
			err = out.add(n.Raw, pgtype.Text)
		default:
			err = &pg.Error{At: n.At, Code: "42703", Message: "column \"" + n.Name + "\" of relation \"" + out.table + "\" does not exist"}
		}
		if err != nil {
			return nil, err
		}
	}
	if !out.schema.Optional && !slices.ContainsFunc(out.columns, func(k targetColumn) bool { return k.time }) {
		return nil, failure("23502", "null value in column \"%s\" of relation \"%s\" violates not-null constraint", timeColumn, out.table).
			withDetail("The column is not among those that are written.")
	}
	return out, nil
}

// relation finds a datasource, whether the client may read it or not.
func (c *session) relation(name string) (*pgcatalog.Relation, error) {
	pin, err := c.pinned(c.ctx)
	if err != nil {
		return nil, err
	}
	if !c.access.Limited() {
		s, err := c.catalogOf(c.ctx, pin)
		if err != nil {
			return nil, err
		}
		return s.Relation(pgcatalog.Public, name), nil
	}
	tables, err := c.server.engine.Tables(c.ctx, pin)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if t.Schema != "" || t.System || t.Name != name {
			continue
		}
		r := &pgcatalog.Relation{Schema: pgcatalog.Public, Name: name}
		for _, k := range t.Columns {
			r.Columns = append(r.Columns, pgcatalog.Column{Name: k.Name, Type: typeOf(k.Type)})
		}
		return r, nil
	}
	return nil, nil
}

func (t *target) add(name string, typ pgtype.OID) error {
	for _, k := range t.columns {
		if k.name == name {
			return failure("42701", "column \"%s\" specified more than once", name)
		}
	}
	if typ == pgtype.Bytea || pgtype.ElementOf(typ) == pgtype.Bytea {
		return failure("0A000", "column \"%s\" has a type that rows can't be written of", name).
			withHint("Sketches are made by ingestion. Name the other columns.")
	}
	column := targetColumn{name: name, typ: typ, time: name == timeColumn || name == t.schema.Time}
	key := name
	if name == timeColumn {
		key = t.schema.Time
		switch t.schema.Format {
		case "auto", "iso", "millis", "posix", "micro", "nano", "ruby":
		default:
			return failure("0A000", "the times of datasource \"%s\" are written in the format [%s]", t.table, t.schema.Format).
				withHint("Name the column \"" + key + "\" instead of \"" + timeColumn + "\", with times in this format.")
		}
	}
	text, err := json.Marshal(key)
	if err != nil {
		return err
	}
	column.key = append(text, ':')
	t.columns = append(t.columns, column)
	return nil
}

// appendRow writes a row as a line of JSON.
func (t *target) appendRow(dst []byte, row []any) ([]byte, error) {
	dst = append(dst, '{')
	for i := range t.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		k := &t.columns[i]
		dst = append(dst, k.key...)
		if k.time && row[i] == nil && !t.schema.Optional {
			return dst, failure("23502", "null value in column \"%s\" of relation \"%s\" violates not-null constraint", k.name, t.table)
		}
		var err error
		text, isText := row[i].(string)
		switch {
		case k.typ == pgtype.JSONB && isText: // in one line
			b := bytes.NewBuffer(dst)
			err = json.Compact(b, []byte(text))
			dst = b.Bytes()
		case k.name == timeColumn && row[i] != nil:
			dst, err = t.appendTime(dst, row[i])
		default:
			dst, err = appendJSON(dst, row[i])
		}
		if err != nil {
			return dst, err
		}
	}
	return append(dst, '}', '\n'), nil
}

// appendTime writes a time in the format of the datasource.
func (t *target) appendTime(dst []byte, v any) ([]byte, error) {
	at, ok := v.(pgtype.Timestamp)
	if !ok {
		return appendJSON(dst, v)
	}
	if at == pgtype.PositiveInfinity || at == pgtype.NegativeInfinity {
		return dst, failure("22008", "times of datasources are finite")
	}
	switch t.schema.Format {
	case "millis":
		return strconv.AppendInt(dst, at.Time().UnixMilli(), 10), nil
	case "micro":
		return strconv.AppendInt(dst, int64(at), 10), nil
	case "nano":
		if at > math.MaxInt64/1000 || at < math.MinInt64/1000 {
			return dst, failure("22008", "timestamp out of range")
		}
		return strconv.AppendInt(dst, int64(at)*1000, 10), nil
	case "posix":
		if at%1_000_000 != 0 {
			return dst, failure("22008", "times of datasource \"%s\" are written in seconds, without fractions", t.table)
		}
		return strconv.AppendInt(dst, int64(at)/1_000_000, 10), nil
	case "ruby":
		return strconv.AppendFloat(dst, float64(at)/1e6, 'f', 6, 64), nil
	}
	return appendJSON(dst, v)
}

// appendJSON writes a value as one of JSON.
func appendJSON(dst []byte, v any) ([]byte, error) {
	switch x := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, x), nil
	case int64:
		return strconv.AppendInt(dst, x, 10), nil
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return dst, failure("22003", "numbers of datasources are finite")
		}
		return strconv.AppendFloat(dst, x, 'g', -1, 64), nil
	case pgtype.Numeric:
		if !json.Valid([]byte(x)) {
			return dst, failure("22003", "numbers of datasources are finite")
		}
		return append(dst, x...), nil
	case pgtype.Timestamp:
		if x == pgtype.PositiveInfinity || x == pgtype.NegativeInfinity {
			return dst, failure("22008", "times of datasources are finite")
		}
		return append(append(append(dst, '"'), x.Time().Format("2006-01-02T15:04:05.000Z")...), '"'), nil
	case pgtype.Date:
		return append(pgtype.AppendDate(append(dst, '"'), x), '"'), nil
	case *pgtype.Array:
		dst = append(dst, '[')
		for i, item := range x.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendJSON(dst, item); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case string:
		if !utf8.ValidString(x) {
			return dst, notUTF8()
		}
		text, err := json.Marshal(x)
		return append(dst, text...), err
	}
	return dst, failure("0A000", "a value has a type that rows can't be written of")
}

// planInsert understands INSERT .. VALUES: its rows are a query of the catalog, with the types of
// the
// columns.
func (c *session) planInsert(p *planned, n *pg.Insert) error {
	var err error
	if p.target, err = c.targetOf(n.Table.Parts, n.Table.At, n.Columns); err != nil {
		return err
	}
	body := &pg.Values{At: n.Values.At}
	for _, row := range n.Values.Rows {
		var list []pg.Expr
		if len(row) > len(p.target.columns) {
			at := n.Values.At
			if x := row[len(p.target.columns)]; x != nil {
				at = x.Pos()
			}
			return &pg.Error{At: at, Code: "42601", Message: "INSERT has more expressions than target columns"}
		}
		if len(row) < len(p.target.columns) && n.Columns != nil {
			return &pg.Error{At: n.Columns[len(row)].At, Code: "42601", Message: "INSERT has more target columns than expressions"}
		}
		for i, x := range row {
			if x == nil {
				x = &pg.Const{At: pg.At(n.Values.At), Kind: pg.Null}
			}
			typ := pg.TypeName{At: x.Pos(), Name: p.target.columns[i].typ.Internal()}
			if elem := pgtype.ElementOf(p.target.columns[i].typ); elem != 0 {
				typ.Name, typ.Array = elem.Internal(), 1
			}
			list = append(list, &pg.Cast{At: pg.At(x.Pos()), X: x, Type: typ})
		}
		body.Rows = append(body.Rows, list)
	}
	short := len(body.Rows[0])
	for _, row := range body.Rows {
		if len(row) != short {
			return &pg.Error{At: n.Values.At, Code: "42601", Message: "VALUES lists must all be the same length"}
		}
	}
	if short < len(p.target.columns) { // the others are empty, as in PostgreSQL
		cut := *p.target
		cut.columns = cut.columns[:short]
		p.target = &cut
		if !cut.schema.Optional && !slices.ContainsFunc(cut.columns, func(k targetColumn) bool { return k.time }) {
			return failure("23502", "null value in column \"%s\" of relation \"%s\" violates not-null constraint", timeColumn, cut.table)
		}
	}
	session, err := c.catalogSession(c.ctx)
	if err != nil {
		return err
	}
	p.catalog, err = pgcatalog.Compile(session, &pg.Query{At: n.Values.At, Body: body}, p.params, len(p.params))
	if err != nil {
		return err
	}
	p.described, p.params = true, p.catalog.Params
	return nil
}

// insert runs INSERT .. VALUES.
func (c *session) insert(p *planned, values []any) (*rows, error) {
	if err := c.mayChange("INSERT"); err != nil {
		return nil, err
	}
	if err := c.mayWrite(p.target.table); err != nil {
		return nil, err
	}
	session, err := c.catalogSession(c.ctx)
	if err != nil {
		return nil, err
	}
	list, err := p.catalog.Run(session, values)
	if err != nil {
		return nil, err
	}
	var lines []byte
	for _, row := range list {
		if lines, err = p.target.appendRow(lines, row); err != nil {
			return nil, err
		}
	}
	if err := c.write(p.target, lines, len(list)); err != nil {
		return nil, err
	}
	return done("INSERT 0 " + strconv.Itoa(len(list))), nil
}

// mayChange refuses statements that write in transactions that only read.
func (c *session) mayChange(verb string) error {
	v, said := c.settings.values["transaction_read_only"]
	if !said {
		v, _ = c.settings.get("default_transaction_read_only")
	}
	switch strings.ToLower(v) {
	case "on", "true", "1", "yes":
		return failure("25006", "cannot execute %s in a read-only transaction", verb)
	}
	return nil
}

// write keeps rows for the end of the transaction.
func (c *session) write(t *target, lines []byte, n int) error {
	w := &c.txn.writes
	if n == 0 {
		return nil
	}
	if w.rows > 0 && w.table != t.table {
		return failure("0A000", "a transaction writes to one datasource, and this one has written to \"%s\"", w.table).
			withHint("Rows of a transaction are added all at once; COMMIT before the next datasource.")
	}
	if w.rows == 0 { // a statement that was prepared knows how rows were read then
		now, err := c.server.o.Writer.Schema(c.ctx, t.table)
		if err != nil {
			return err
		}
		if now != t.schema {
			return failure("0A000", "the settings of datasource \"%s\" have changed since the statement was prepared", t.table).
				withHint("Prepare it again.")
		}
	}
	if err := c.holdWrites(int64(len(w.lines) + len(lines))); err != nil {
		return err
	}
	w.table, w.lines, w.rows = t.table, append(w.lines, lines...), w.rows+n
	return nil
}

// holdWrites reserves memory for rows that wait.
func (c *session) holdWrites(n int64) error {
	if most := c.server.o.Writer.MaxBytes(); n > most {
		return failure("54000", "the rows of a transaction have more than [%d] bytes as JSON, the limit of "+
			"[service.ingest.push.maxRequestBytes]", most).withHint("Write fewer rows in a transaction.")
	}
	n = (n + memoryStep - 1) / memoryStep * memoryStep
	if n <= c.writeMemory.Held() {
		return nil
	}
	if err := c.writeMemory.Set(n); err != nil {
		return failure("53200", "out of memory").withDetail("The rows that wait for the end of the transaction find no room.").
			withHint("Write fewer rows in a transaction, or raise service.memory.limit.")
	}
	return nil
}

// dropWrites forgets what the transaction has written.
func (c *session) dropWrites() {
	c.txn.writes = writes{}
	c.writeMemory.Close()
}

// commitWrites sends what the transaction has written.
func (c *session) commitWrites() error {
	w := c.txn.writes
	c.txn.writes = writes{}
	defer c.writeMemory.Close()
	if w.rows == 0 {
		return nil
	}
	if err := c.mayWrite(w.table); err != nil {
		return err
	}
	ctx, cancel, err := c.runContext(c.settings.context())
	if err != nil {
		return err
	}
	defer cancel(nil)
	err = c.busy(ctx, "COMMIT", cancel, func() error { return c.server.o.Writer.Write(ctx, w.table, w.lines) })
	if err != nil && ctx.Err() != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		if fault.Find(err) == nil {
			return failure("57014", "the statement ended before the outcome was known; its rows may have been added")
		}
	}
	return err
}
