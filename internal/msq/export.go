package msq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/explain/native"
	"github.com/hengedb/henge/internal/export"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

// manifestName is the file of an export that lists the others. It is written last: readers that
// follow it see the whole export or none.
const manifestName = "_symlink_format_manifest/manifest"

// checkExport refuses what no task needs to be run for.
func (c *Controller) checkExport(x *plan.Export) error {
	if _, err := export.ParseFormat(x.Format); err != nil {
		return err
	}
	return c.deps.Exports.Check(x.Destination)
}

// exporting is an INSERT INTO EXTERN while it runs.
type exporting struct {
	to      export.Destination
	format  export.Format
	columns []result.Column
	texts   []bool // columns whose lists of several values are written as JSON text
	from    *stage
	parts   []partition
	files   []string // by partition
}

// export runs an INSERT INTO EXTERN: the rows are sorted as the statement orders them, cut into
// pages of rowsPerPage rows, and each page becomes a file. The numbers of files follow the order of
// the rows.
func (c *Controller) export(ctx context.Context, x *plan.Export) (*Outcome, error) {
	e := &exporting{}
	for _, col := range c.job.columns() {
		e.texts = append(e.texts, col.Type.Multi)
		if col.Type.Multi {
			col.Type = expr.Of(expr.Varchar)
		}
		e.columns = append(e.columns, result.Column{Name: col.Name, Type: col.Type})
	}
	if len(e.columns) > maxColumns {
		return nil, tooManyColumns(len(e.columns))
	}
	var err error
	if e.format, err = export.ParseFormat(x.Format); err != nil {
		return nil, err
	}
	cut := &cutter{opts: c.opts, workers: c.workers}
	node, _ := multiValue(x.Input, allOf(len(e.columns)))
	root, err := cut.fragment(node)
	if err != nil {
		return nil, err
	}
	e.from = cut.numbered(root, int64(c.opts.RowsPerPage))
	for i, col := range e.from.columns[1:] {
		e.texts[i] = e.texts[i] || col.Type.Multi
	}
	c.rows = e.from
	writer := &stage{number: len(cut.stages), processor: "exportResults", inputs: []*input{{kind: stageInput, leaf: &plan.External{}, from: e.from}}}
	c.setStages(append(cut.stages, writer))
	if err := c.define(nil, nil); err != nil {
		return nil, err
	}
	if e.to, err = c.deps.Exports.Open(ctx, x.Destination); err != nil {
		return nil, err
	}
	defer func() { _ = e.to.Close() }() // what was written is on disk
	if err := c.clearDestination(ctx, e.to); err != nil {
		return nil, err
	}
	if err := c.runStages(ctx, writer); err != nil {
		return nil, err
	}
	return c.runExport(ctx, e, writer)
}

// numbered makes a stage of f whose rows are in order and have a number in front, so that no two
// have the same key.
func (c *cutter) numbered(f *fragment, target int64) *stage {
	s := f.sortedStage()
	if s == nil {
		s = c.seal(f, shuffle{}, false).from
	}
	order := sortOrder{boundary: len(s.shuffle.order.columns) + 1}
	for _, col := range s.shuffle.order.columns {
		order.columns = append(order.columns, col+1)
	}
	order.columns = append(order.columns, 0)
	order.orders = append(slices.Clone(s.shuffle.order.orders), vector.Order{NullsFirst: true})
	s.shuffle = shuffle{kind: rangeShuffle, order: order, target: target, names: append(slices.Clone(s.shuffle.names), keyName{column: boostKey})}
	s.columns = append([]plan.Column{longColumn(boostColumn)}, s.columns...)
	return s
}

// clearDestination refuses a destination that has files. Those that the same job left, when it was
// cut off, are its own to remove.
func (c *Controller) clearDestination(ctx context.Context, to export.Destination) error {
	names, err := to.Names(ctx, c.opts.MaxPartitions+1)
	if err != nil {
		return err
	}
	own := c.job.ID + "-worker"
	if slices.ContainsFunc(names, func(name string) bool { return !strings.HasPrefix(name, own) }) {
		return fault.InvalidInput("Found files at provided export destination[%s]. Export is only allowed to an empty path. Please provide an empty "+
			"path/subdirectory or move the existing files.", to.URI(""))
	}
	return to.Delete(ctx, names...)
}

// runExport writes the files and, when all are there, the manifest. After a failure nothing of it
// is left.
func (c *Controller) runExport(ctx context.Context, e *exporting, s *stage) (_ *Outcome, err error) {
	ctx, span := beginStage(ctx, s)
	defer func() { endSpan(span, err) }()
	if e.parts, err = pages(&e.from.shuffle.order, e.from.outputs(), int64(c.opts.RowsPerPage)); err != nil {
		return nil, err
	}
	if len(e.parts) > c.opts.MaxPartitions {
		return nil, tooManyPartitions(c.opts)
	}
	e.from.setPartitions(len(e.parts))
	e.from.merged(int64(len(e.parts)), 0)
	e.from.enter(phasePost, c.now())
	workers := min(c.workers, len(e.parts))
	e.files = make([]string, len(e.parts))
	for i := range e.files {
		e.files[i] = fmt.Sprintf("%s-worker%d-partition%d.%s", c.job.ID, i%workers, i, e.format.Name)
	}
	whole := false
	defer func() {
		if !whole {
			_ = e.to.Delete(context.WithoutCancel(ctx), append(e.files, manifestName)...) // the failure that led here is what the user must know
		}
	}()
	count := c.begin(s, workers)
	s.setPartitions(len(e.parts))
	s.enter(phaseReading, c.now())
	g := exec.NewGroup(ctx)
	for n := range workers {
		order := &workOrder{stage: s, worker: n, workers: workers, id: c.ledger.workerID(n), threads: max(1, c.threads/workers), dir: c.stageDir(s)}
		var numbers []int
		for p := n; p < len(e.parts); p += workers {
			numbers = append(numbers, p)
		}
		g.Go(func(ctx context.Context) error {
			if err := os.MkdirAll(order.dir, 0o700); err != nil {
				return diskFault(err)
			}
			one := func(ctx context.Context, number int) error {
				return c.ledger.attempts(ctx, order, func(ctx context.Context) error { return c.exportOne(ctx, e, order, count[n], number) }, func() {
					_ = e.to.Delete(ctx, e.files[number]) // what is there of it is in the way of the next attempt, which says so
				})
			}
			return c.traced(ctx, order, func(ctx context.Context) error { return several(ctx, order.threads, numbers, one) })
		})
	}
	if err := g.Wait(); err != nil {
		s.enter(phaseFailed, c.now())
		return nil, err
	}
	rows := int64(0)
	var manifest bytes.Buffer
	for i, name := range e.files {
		rows += e.parts[i].rows
		manifest.WriteString(e.to.URI(name) + "\n")
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if err := e.to.Put(ctx, manifestName, bytes.NewReader(manifest.Bytes()), int64(manifest.Len())); err != nil {
		return nil, err
	}
	whole = true
	s.enter(phaseResults, c.now())
	s.enter(phaseFinished, c.now())
	c.finished(e.from)
	return &Outcome{Rows: rows, Files: e.files}, nil
}

// exportOne writes the file of one partition, by way of the local disk: how large it is must be
// known to send it.
func (c *Controller) exportOne(ctx context.Context, e *exporting, order *workOrder, count *counters, number int) (err error) {
	p := &e.parts[number]
	var taken tally
	defer func() {
		if err != nil {
			taken.undo()
		}
	}()
	reader := newMergeReader(&e.from.shuffle.order, e.from.outputs(), p.lo, p.hi, func(o *output, ref *frameRef, rows int) {
		bytes := int64(ref.length) * int64(rows) / int64(max(ref.rows, 1))
		taken.flow(count, inputName(0), number, int64(rows), bytes, 1)
		taken.flow(e.from.counterOf(o), "shuffle", number, int64(rows), bytes, 1)
	})
	path := filepath.Join(order.dir, fmt.Sprintf("partition%d.export", number))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return diskFault(err)
	}
	disk := &countedFile{file: file, disk: budget.NewAccount(c.disk)}
	defer func() {
		disk.disk.Close()
		err = errors.Join(err, file.Close(), os.Remove(path))
	}()
	out, err := e.format.NewFile(disk, e.columns, c.expressions().Zone)
	if err != nil {
		return err
	}
	for {
		b, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := out.Batch(e.shown(b)); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return diskFault(err)
	}
	if err := e.to.Put(ctx, e.files[number], file, disk.size); err != nil {
		return fmt.Errorf("writing export file [%s]: %w", e.to.URI(e.files[number]), err)
	}
	e.from.merged(int64(len(e.parts)), 1)
	return nil
}

// shown returns the rows of b as files have them: without their numbers, lists of several values as
// text.
func (e *exporting) shown(b *vector.Batch) *vector.Batch {
	b = b.Compact()
	out := &vector.Batch{N: b.N, Cols: slices.Clone(b.Cols[1:])}
	for i, text := range e.texts {
		if text {
			out.Cols[i] = textValues(out.Cols[i])
		}
	}
	return out
}

// countedFile is a file of the job, whose size is told to its budget.
type countedFile struct {
	file *os.File
	size int64
	disk budget.Account
}

// Write is part of io.Writer.
func (f *countedFile) Write(p []byte) (int, error) {
	if err := f.disk.Set(f.size + int64(len(p))); err != nil {
		return 0, err
	}
	n, err := f.file.Write(p)
	f.size += int64(n)
	if err != nil {
		return n, diskFault(err)
	}
	return n, nil
}

// exportJSON describes the stage that writes files.
func (c *Controller) exportJSON(x *plan.Export) any {
	mappings := make([]native.ColumnMapping, len(x.Columns()))
	for i, col := range c.job.columns() {
		mappings[i] = native.ColumnMapping{QueryColumn: c.rows.names[i], OutputColumn: col.Name}
	}
	return struct {
		Type     string                 `json:"type"`
		Query    string                 `json:"queryId"`
		Provider json.RawMessage        `json:"exportStorageProvider"`
		Format   string                 `json:"exportFormat"`
		Columns  []native.ColumnMapping `json:"columnMappings"`
	}{"exportResults", c.job.ID, x.Destination, strings.ToLower(x.Format), mappings}
}
