package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/evidence"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql"
)

// localTables are the files that a run without a server reads. Each is read once to learn its
// columns (ingest.Surveyor), and again by each query. It implements broker.LocalTables.
type localTables struct {
	o     *ingestOptions
	urls  bool
	order []string // names
	named map[string]string

	mu       sync.Mutex
	known    map[string]*localTable // by path
	replaced []*localTable          // of files that have changed since
	// began is when the present statement began, wanted and size are the rows and bytes of the files
	// that it reads, and rows counts those that were read.
	began        time.Time
	wanted, size int64
	rows         atomic.Int64
}

// begin is called before a statement.
func (l *localTables) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began, l.wanted, l.size = l.o.clock.Now(), 0, 0
	l.rows.Store(0)
}

// progress tells how far the present statement has come.
func (l *localTables) progress() (p queryProgress, ok bool) {
	if !l.mu.TryLock() { // a file is read to learn its columns, which shows by itself
		return p, false
	}
	defer l.mu.Unlock()
	p.Elapsed = l.o.clock.Now().Sub(l.began).Milliseconds()
	if p.RowsRead = l.rows.Load(); l.wanted > 0 {
		share := min(1, float64(p.RowsRead)/float64(l.wanted))
		percent := share * 100
		p.Percent, p.BytesRead = &percent, int64(share*float64(l.size))
		if share > 0.02 {
			left := int64(float64(p.Elapsed) * (1 - share) / share)
			p.ETA = &left
		}
	}
	return p, true
}

// localTable is a file, or several that are one table.
type localTable struct {
	files   *inputFiles
	marks   []string
	table   *sql.Table
	survey  *ingest.Survey
	columns []string // with their types
}

// refuseAddress refuses all connections.
func refuseAddress(netip.AddrPort) error {
	return fault.InvalidInput("Queries read only local files; --allow-urls allows them to read URLs")
}

// name makes a file the table of its base name.
func (l *localTables) name(path string) error {
	name, _ := dataName(path)
	if path == "-" {
		name = "stdin"
	}
	if at := strings.IndexAny(name, "*?[{"); at >= 0 { // a pattern: its folder, or what stands before
		name = strings.Trim(name[:at], "-_. ")
		if dir, _, ok := cutLast(path, "/"); name == "" && ok {
			name, _ = dataName(dir)
		}
		if name == "" || strings.ContainsAny(name, "*?[{") {
			name = "files"
		}
	}
	if other, taken := l.named[name]; taken {
		return fault.InvalidInput("Files [%s] and [%s] have the same table name [%s]; use the path of one in the statement: FROM '%s'",
			record.Printable(other), record.Printable(path), record.Printable(name), record.Printable(path))
	}
	l.named[name] = path
	l.order = append(l.order, name)
	return nil
}

func cutLast(text, sep string) (before, after string, found bool) {
	at := strings.LastIndex(text, sep)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(sep):], true
}

// Names implements broker.LocalTables.
func (l *localTables) Names() []string { return l.order }

// Table implements broker.LocalTables.
func (l *localTables) Table(ctx context.Context, name string) (*sql.Table, error) {
	path, ok := l.named[name]
	if !ok {
		return nil, nil
	}
	return l.File(ctx, path)
}

// File implements broker.LocalTables.
func (l *localTables) File(ctx context.Context, path string) (*sql.Table, error) {
	t, err := l.read(ctx, path)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanted, l.size = l.wanted+t.survey.Records, l.size+t.files.bytes()
	return t.table, nil
}

// read learns the columns of a table, unless they are known and no file has changed since.
func (l *localTables) read(ctx context.Context, path string) (*localTable, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.known[path]
	if path == "-" && known != nil { // what it gave is in a file of ours
		return known, nil
	}
	if scheme, _, ok := strings.Cut(path, "://"); ok && !l.urls && !strings.EqualFold(scheme, "file") {
		return nil, errNoURLs(path)
	}
	files, err := l.o.expand(ctx, []string{path})
	if err != nil {
		return nil, errors.Join(err, files.close())
	}
	marks := files.marks()
	if known != nil && slices.Equal(known.marks, marks) {
		return known, files.close()
	}
	survey, err := l.o.read(ctx, files)
	if err != nil {
		return nil, errors.Join(err, files.close())
	}
	if survey.Bad.Count > 0 {
		return nil, errors.Join(fault.InvalidInput("File [%s]: %s can't be read; %s", record.Printable(path), counted(survey.Bad.Count, "record"),
			survey.Bad.At()), files.close())
	}
	if err := l.refuse(path, survey); err != nil {
		return nil, errors.Join(err, files.close())
	}
	for _, note := range append(files.notes, survey.Notes...) {
		fmt.Fprintf(l.o.err, "Note: %s\n", note)
	}
	t := &localTable{files: files, marks: marks, survey: survey}
	if t.table, err = t.view(); err != nil {
		return nil, errors.Join(err, files.close())
	}
	if known != nil {
		l.replaced = append(l.replaced, known) // a query may read it
	}
	l.known[path] = t
	return t, nil
}

// refuse refuses files whose values no type holds unchanged, unless the user said to go on.
func (l *localTables) refuse(path string, s *ingest.Survey) error {
	switch {
	case len(s.Problems) == 0:
		return nil
	case l.o.onMisfit == misfitNull:
		for _, p := range s.Problems {
			fmt.Fprintf(l.o.err, "Read with --on-misfit=null: %s.\n", p)
		}
		return nil
	}
	return fault.InvalidInput("File [%s] has values that would change:\n  %s\nCorrect it, set the type of a column with "+
		"--column NAME=TYPE, or use --on-misfit=null to read them as NULL", record.Printable(path), strings.Join(s.Problems, "\n  "))
}

// view writes the query that a table stands for.
func (t *localTable) view() (*sql.Table, error) {
	var list, extend []string
	out := &sql.Table{}
	for _, c := range t.survey.Columns {
		name, sqlType := quoteName(c.Name), c.SQLType
		typ, err := columnType(sqlType)
		if err != nil {
			return nil, err
		}
		value := name
		switch {
		case c.Misfits.Count > 0:
			if value, err = columnSQL(c); err != nil {
				return nil, err
			}
			sqlType = "VARCHAR"
		case c.Times != "":
			value = evidence.TimeSQL(c.Name, sqlType, c.Times) + " AS " + name
			typ = expr.Of(expr.Timestamp)
		}
		list, extend = append(list, value), append(extend, name+" "+sqlType)
		out.Columns = append(out.Columns, plan.Column{Name: c.Name, Type: typ.OrNull(true)})
		t.columns = append(t.columns, record.Printable(c.Name)+" "+typ.String())
	}
	out.Query = fmt.Sprintf("SELECT %s FROM TABLE(EXTERN(%s, %s)) EXTEND (%s)", strings.Join(list, ", "), quoteText(string(t.files.source())),
		quoteText(string(t.survey.Format)), strings.Join(extend, ", "))
	return out, nil
}

// columnType returns the type of a word of a survey.
func columnType(text string) (expr.Type, error) {
	if element, ok := strings.CutSuffix(text, " ARRAY"); ok {
		t, err := columnType(element)
		return expr.ArrayOf(t), err
	}
	switch text {
	case "VARCHAR":
		return expr.Of(expr.Varchar), nil
	case "BIGINT":
		return expr.Of(expr.BigInt), nil
	case "DOUBLE":
		return expr.Of(expr.Double), nil
	case "FLOAT":
		return expr.Of(expr.Float), nil
	case "TYPE('COMPLEX<json>')":
		return expr.JSON, nil
	}
	return expr.Type{}, fault.InvalidInput("Type [%s] is not supported for files", text)
}

// close removes copies of what could be read only once.
func (l *localTables) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for _, t := range append(slices.Collect(maps.Values(l.known)), l.replaced...) {
		err = errors.Join(err, t.files.close())
	}
	return err
}

// describe prints what the named files hold, which reads them.
func (l *localTables) describe(ctx context.Context) error {
	for _, name := range l.order {
		t, err := l.read(ctx, l.named[name])
		if err != nil {
			return err
		}
		columns := t.columns
		if more := len(columns) - maxNames; more > 0 {
			columns = append(columns[:maxNames:maxNames], fmt.Sprintf("and %d more", more))
		}
		fmt.Fprintf(l.o.err, "Table %s: %s, %s: %s.\n", quotedIfNeeded(name), t.survey.Kind, counted(t.survey.Records, "row"),
			strings.Join(columns, ", "))
	}
	return nil
}
