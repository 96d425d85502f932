package segment

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/vector"
)

// Merge writes the rows of inputs, each sorted by the columns of opts.SortOrder, as one new segment
// file at path, in that order and with rollup if opts says so; without a sort order the rows of
// each input follow those of the one before. Columns that an input lacks are null in its rows;
// columns of another type are refused.
//
// The file is complete and on disk when Merge returns; on an error there is none. The caller holds
// a reference of each input.
func Merge(ctx context.Context, path string, inputs []Reader, opts Options) (*Info, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	return writeFile(path, func(w io.Writer) (*Info, error) { return write(ctx, w, path, inputs, &opts) })
}

// writeFile lets f write a file that appears at path when it is complete, and on disk.
func writeFile(path string, f func(io.Writer) (*Info, error)) (info *Info, err error) {
	partial := path + ".partial"
	file, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating segment file [%s]: %w", path, err)
	}
	if info, err = f(file); err != nil {
		file.Close()       // the first error is the one to tell
		os.Remove(partial) // nothing more can be done about a file that can't be removed
		return nil, err
	}
	if err := durable.Commit(file, path); err != nil {
		return nil, (&fileWriter{name: path}).failed(err)
	}
	return info, nil
}

// write writes the rows of inputs to w as a segment file. Opts has its defaults and is valid.
func write(ctx context.Context, w io.Writer, name string, inputs []Reader, opts *Options) (info *Info, err error) {
	err = Guard(func() error { // inputs may be mapped files
		info, err = writeGuarded(ctx, w, name, inputs, opts)
		return err
	})
	return info, err
}

func writeGuarded(ctx context.Context, w io.Writer, name string, inputs []Reader, opts *Options) (*Info, error) {
	m, err := newMerge(ctx, inputs, opts)
	if err != nil {
		return nil, err
	}
	defer m.close()
	if err := m.sort(); err != nil {
		return nil, err
	}
	file, err := newFileWriter(w, name)
	if err != nil {
		return nil, err
	}
	foot := &footer{rows: m.out, sortOrder: opts.SortOrder, rollup: opts.Rollup || opts.RolledUp, granularity: opts.QueryGranularity, metadata: opts.Metadata}
	if foot.columns, err = m.columns(file); err != nil {
		return nil, err
	}
	for _, c := range foot.columns {
		if c.key() == TimeColumn {
			least, ok := c.Min.(int64)
			greatest, _ := c.Max.(int64)
			foot.hasTimes, foot.minTime, foot.maxTime = ok, least, greatest
		}
	}
	if err := file.finish(foot); err != nil {
		return nil, err
	}
	info := foot.info(file.off, Version)
	info.Fingerprint = file.fingerprint
	return &info, nil
}

// columns merges and writes the columns, and then those of the paths that were met in them.
func (m *merge) columns(file *fileWriter) ([]*columnMeta, error) {
	specs := m.opts.Columns
	collectors := make([]*pathCollector, len(specs))
	for i, spec := range specs {
		if spec.Type == vector.JSON && !m.opts.run {
			collectors[i] = newPathCollector(m.opts.Budget)
			defer collectors[i].close()
		}
	}
	out, err := m.writeAll(file, len(specs), func(i int, to *fileWriter) (*columnMeta, error) {
		c, err := m.column(to, specs[i], collectors[i])
		if err != nil {
			return nil, fmt.Errorf("writing column [%s]: %w", specs[i].Name, err)
		}
		return c, nil
	})
	if err != nil {
		return nil, err
	}
	type pathOf struct {
		*pathNode
		column string
	}
	var paths []pathOf
	for i, c := range collectors {
		if c == nil {
			continue
		}
		for _, n := range c.chosen() {
			if taken := func(s ColumnSpec) bool { return s.Name == PathName(specs[i].Name, n.path) }; !slices.ContainsFunc(specs, taken) {
				paths = append(paths, pathOf{n, specs[i].Name})
			}
		}
	}
	pathColumns, err := m.writeAll(file, len(paths), func(i int, to *fileWriter) (*columnMeta, error) {
		c, err := paths[i].encode(to, paths[i].column, m.out, m.bitmapValues())
		if err != nil {
			return nil, fmt.Errorf("writing path [%s] of column [%s]: %w", paths[i].path, paths[i].column, err)
		}
		return c, nil
	})
	return append(out, pathColumns...), err
}

// writeAll writes n columns, several at once if the options say so.
func (m *merge) writeAll(file *fileWriter, n int, write func(i int, to *fileWriter) (*columnMeta, error)) ([]*columnMeta, error) {
	out := make([]*columnMeta, n)
	threads := min(m.opts.Threads, n)
	if threads <= 1 {
		for i := range out {
			var err error
			if out[i], err = write(i, file); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	queue := newColumnQueue(file, len(out))
	err := parallel(threads, len(out), func(i int) (err error) {
		out[i], err = queue.write(i, m.opts.Budget, func(to *fileWriter) (*columnMeta, error) { return write(i, to) })
		return err
	})
	return out, err
}

// column merges and writes one column; of a nested one paths collects what stands at its paths.
func (m *merge) column(file *fileWriter, spec ColumnSpec, paths *pathCollector) (*columnMeta, error) {
	sources, err := sourcesOf(m.inputs, spec)
	if err != nil {
		return nil, err
	}
	var fold Fold
	if m.opts.Rollup && spec.Metric != "" {
		if fold, err = m.opts.Fold(spec); err != nil {
			return nil, err
		}
	}
	memory := account{budget: m.opts.Budget}
	defer memory.set(0) // releasing does not fail
	if err := memory.add(dictBytes(sources)); err != nil {
		return nil, err
	}
	e := &columnEncoder{
		file: file, rows: m.out, nulls: -1, bitmapValues: m.bitmapValues(), paths: paths,
		top:  &columnMeta{ColumnInfo: ColumnInfo{Name: spec.Name, Type: spec.Type, Multi: spec.Multi, Metric: spec.Metric}, rows: m.out},
		feed: func(f func(*vector.Vector) error) error { return m.groups(sources, spec.Type, fold, f) },
		dict: func(emit func(string) error) (int, error) { return mergeSourceDicts(sources, emit) },
	}
	if spec.NoIndex {
		e.bitmapValues = 0
	}
	if m.starts == nil {
		e.nulls = 0
		for _, s := range sources {
			if s.col == nil {
				e.nulls += s.rows
			} else {
				e.nulls += s.col.Info().Nulls
			}
		}
	}
	return e.top, e.encode()
}

// bitmapValues is the number of distinct values up to which a string column is indexed.
func (m *merge) bitmapValues() int {
	if m.out < m.opts.IndexRows {
		return 0
	}
	return m.opts.BitmapValues
}
