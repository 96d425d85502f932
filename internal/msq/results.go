package msq

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Results are the rows of a query, in pages in deep storage, until they are deleted. They survive
// restarts. Overlapping runs of the query write separate pages; the first manifest wins.
type Results struct {
	Columns []ResultColumn
	Pages   []Page
	// Durable is true if the statement requested durableStorage: reports then contain only the first
	// rows.
	Durable bool

	store     deepstore.Store
	statement string
	attempt   string // names the pages
}

// Page is a run of result rows.
type Page struct {
	ID          int
	Rows, Bytes int64
}

// resultsVersion is the version of the manifest; later ones are refused.
const resultsVersion = 2

type manifestJSON struct {
	Version int          `json:"version"`
	Attempt string       `json:"attempt,omitempty"`
	Durable bool         `json:"durable"`
	Columns []columnJSON `json:"columns"`
	Pages   []pageJSON   `json:"pages"`
}

// columnJSON keeps a SQL type as its parts.
type columnJSON struct {
	Name     string      `json:"name"`
	Base     expr.Base   `json:"base"`
	Nullable bool        `json:"nullable"`
	Multi    bool        `json:"multi,omitempty"`
	Complex  string      `json:"complex,omitempty"`
	Elem     *columnJSON `json:"elem,omitempty"`
}

type pageJSON struct {
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
}

func encodeColumn(name string, t expr.Type) *columnJSON {
	c := &columnJSON{Name: name, Base: t.Base, Nullable: t.Nullable, Multi: t.Multi, Complex: t.ComplexName()}
	if t.Base == expr.Array {
		c.Elem = encodeColumn("", t.Elem())
	}
	return c
}

// maxTypeDepth bounds the nesting of an array type in a manifest.
const maxTypeDepth = 16

func (c *columnJSON) sqlType(depth int) (expr.Type, error) {
	t := expr.Of(c.Base)
	switch {
	case c.Base > expr.Other || depth > maxTypeDepth:
		return t, fault.Defensive("The manifest of a result has a column type that this release does not know")
	case c.Base == expr.Array && c.Elem != nil:
		elem, err := c.Elem.sqlType(depth + 1)
		if err != nil {
			return t, err
		}
		t = expr.ArrayOf(elem)
	case c.Base == expr.Other:
		t = expr.ComplexOf(c.Complex)
	case c.Multi:
		t = expr.MultiString
	}
	t.Nullable = c.Nullable
	return t, nil
}

var plainID = regexp.MustCompile(`\A[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}\z`)

// plainName is an id as part of a key of deep storage. Those that are no plain names are hashed: a
// client chose them.
func plainName(id string) string {
	if plainID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256-" + hex.EncodeToString(sum[:])
}

// resultsPrefix is where the results of a statement lie.
func resultsPrefix(statement string) string { return "results/" + plainName(statement) + "/" }

func (r *Results) pageKey(page int) string {
	return fmt.Sprintf("%s%spage-%06d.frames", resultsPrefix(r.statement), r.attempt, page)
}

func manifestKey(statement string) string { return resultsPrefix(statement) + "manifest.json" }

// collect writes the rows of the last stage as pages.
func (c *Controller) collect(ctx context.Context, last *stage, columns []ResultColumn) (*Results, error) {
	for i := range columns {
		if columns[i].Type.Multi {
			columns[i].Type = expr.Of(expr.Varchar)
		}
	}
	r := &Results{Columns: columns, Durable: c.opts.DurableResults, store: c.deps.Store, statement: c.job.ID, attempt: rand.Text() + "-"}
	if r.store == nil {
		return nil, fault.Defensive("A query has nowhere to keep its results")
	}
	p := &pageWriter{c: c, r: r, limit: int64(c.opts.RowsPerPage)}
	if !r.Durable {
		p.limit = 1 << 62 // one page
	}
	defer p.drop()
	op := c.resultReader(last)
	defer op.Close()
	err := exec.Drain(ctx, op, func(b *vector.Batch) error {
		b = b.Compact()
		out := &vector.Batch{N: b.N, Cols: append([]*vector.Vector(nil), b.Cols...)}
		for i, c := range last.columns {
			if c.Type.Multi {
				out.Cols[i] = textValues(b.Cols[i])
			}
		}
		return p.add(ctx, out)
	})
	if err != nil {
		return nil, err
	}
	if err := p.flush(ctx); err != nil {
		return nil, err
	}
	m := manifestJSON{Version: resultsVersion, Attempt: r.attempt, Durable: r.Durable, Pages: []pageJSON{}}
	for _, col := range columns {
		m.Columns = append(m.Columns, *encodeColumn(col.Name, col.Type))
	}
	for _, page := range r.Pages {
		m.Pages = append(m.Pages, pageJSON{page.Rows, page.Bytes})
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	err = r.store.Put(ctx, manifestKey(c.job.ID), bytes.NewReader(text))
	if errors.Is(err, fs.ErrExist) { // another run was faster
		return OpenResults(ctx, r.store, c.job.ID)
	}
	return r, err
}

// resultReader reads the output of the last stage, by itself: it is no input of another stage.
func (c *Controller) resultReader(last *stage) exec.Operator {
	count := newCounters()
	if last.shuffle.kind == sortedShuffle {
		return newMergeReader(&last.shuffle.order, last.outputs(), nil, nil, func(o *output, ref *frameRef, rows int) {
			last.counterOf(o).flow("shuffle", 0, int64(rows), int64(ref.length), 1)
		})
	}
	var all []exec.Operator
	for p := range last.shuffle.partitions {
		all = append(all, &frameReader{outputs: last.outputs(), partition: p, counters: count, input: "results"})
	}
	return &sequence{readers: all}
}

// pageWriter cuts rows into pages. A page is written to a local file first, as its length is not
// known before.
type pageWriter struct {
	c     *Controller
	r     *Results
	limit int64
	file  *os.File
	buf   []byte
	page  Page
}

func (p *pageWriter) add(ctx context.Context, b *vector.Batch) error {
	for lo := 0; lo < b.N; {
		n := int(min(int64(b.N-lo), p.limit-p.page.Rows))
		if p.file == nil {
			f, err := os.CreateTemp(p.c.dir, "page-*")
			if err != nil {
				return diskFault(err)
			}
			p.file = f
		}
		var err error
		if p.buf, err = vector.AppendFrame(p.buf[:0], b.Slice(lo, lo+n)); err != nil {
			return err
		}
		if _, err := p.file.Write(p.buf); err != nil {
			return diskFault(err)
		}
		p.page.Rows += int64(n)
		p.page.Bytes += int64(len(p.buf))
		lo += n
		if p.page.Rows == p.limit {
			if err := p.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pageWriter) flush(ctx context.Context) error {
	if p.file == nil {
		return nil
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return diskFault(err)
	}
	if err := p.r.store.Put(ctx, p.r.pageKey(p.page.ID), p.file); err != nil {
		return err
	}
	p.r.Pages = append(p.r.Pages, p.page)
	p.page = Page{ID: p.page.ID + 1}
	p.drop()
	return nil
}

// drop removes the local file.
func (p *pageWriter) drop() {
	if p.file != nil {
		_ = errors.Join(p.file.Close(), os.Remove(filepath.Join(p.file.Name()))) // the folder is removed anyway
		p.file = nil
	}
}

// Rows returns the number of rows on all pages.
func (r *Results) Rows() int64 {
	n := int64(0)
	for _, p := range r.Pages {
		n += p.Rows
	}
	return n
}

// Bytes returns the total size of all pages in bytes.
func (r *Results) Bytes() int64 {
	n := int64(0)
	for _, p := range r.Pages {
		n += p.Bytes
	}
	return n
}

// Read calls f with the rows of a page, in their order, until f returns an error.
func (r *Results) Read(ctx context.Context, page int, f func(*vector.Batch) error) error {
	if page < 0 || page >= len(r.Pages) {
		return fault.InvalidInput("Invalid page id [%d] passed.", page)
	}
	o, err := r.store.Open(ctx, r.pageKey(page))
	if err != nil {
		return fmt.Errorf("reading page [%d] of the results of [%s]: %w", page, r.statement, err)
	}
	defer o.Close()
	frames := vector.NewFrameReader(io.NewSectionReader(o, 0, o.Size()))
	for {
		b, err := frames.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading page [%d] of the results of [%s]: %w", page, r.statement, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(b); err != nil {
			return err
		}
	}
}

// ReadAll is Read over all pages.
func (r *Results) ReadAll(ctx context.Context, f func(*vector.Batch) error) error {
	for i := range r.Pages {
		if err := r.Read(ctx, i, f); err != nil {
			return err
		}
	}
	return nil
}

// OpenResults opens the results of a finished statement, possibly of an earlier process. The error
// is NotFound if there are none.
func OpenResults(ctx context.Context, store deepstore.Store, statement string) (*Results, error) {
	o, err := store.Open(ctx, manifestKey(statement))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.NotFound("The results of query [%s] were not found; they may have been deleted", statement)
	}
	if err != nil {
		return nil, err
	}
	defer o.Close()
	text, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
	if err != nil {
		return nil, err
	}
	var m manifestJSON
	if err := json.Unmarshal(text, &m); err != nil || m.Version > resultsVersion {
		return nil, fault.Runtime("The results of query [%s] can't be read by this release", statement).WithCause(err)
	}
	r := &Results{Durable: m.Durable, store: store, statement: statement, attempt: m.Attempt}
	for i := range m.Columns {
		t, err := m.Columns[i].sqlType(0)
		if err != nil {
			return nil, err
		}
		r.Columns = append(r.Columns, ResultColumn{m.Columns[i].Name, t})
	}
	for i, p := range m.Pages {
		r.Pages = append(r.Pages, Page{ID: i, Rows: p.Rows, Bytes: p.Bytes})
	}
	return r, nil
}

// DeleteResults removes the results of a statement. If there are none, it returns nil.
func DeleteResults(ctx context.Context, store deepstore.Store, statement string) error {
	// The manifest goes last on writing and first on deleting: what it names is there.
	if err := store.Delete(ctx, manifestKey(statement)); err != nil {
		return err
	}
	for {
		list, err := store.List(ctx, resultsPrefix(statement), "", 1000)
		if err != nil || len(list) == 0 {
			return err
		}
		keys := make([]string, len(list))
		for i, o := range list {
			keys[i] = o.Key
		}
		if err := store.Delete(ctx, keys...); err != nil {
			return err
		}
	}
}

// resultColumns are the columns of a query as its results show them.
func resultColumns(n plan.Node) []ResultColumn {
	out := make([]ResultColumn, len(n.Columns()))
	for i, c := range n.Columns() {
		out[i] = ResultColumn{c.Name, c.Type}
	}
	return out
}
