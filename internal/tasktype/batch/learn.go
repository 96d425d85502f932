package batch

import (
	"context"
	"encoding/json"
	"io"
	"sync/atomic"

	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/vector"
)

// surveyPart is the job of a load that learns what the records have, and the note in which a later
// run of the task finds that.
const surveyPart = "survey"

// learn reads all records for their fields and the types of those: where other processes help, as a
// job of its own.
func (k *Index) learn(ctx context.Context, t *task.Task, l *load, s *settings, deps msq.Deps, splits []ingest.Split, workers, threads int) error {
	if deps.Join == nil {
		return l.learn(ctx, splits, threads)
	}
	known, err := msq.Note(ctx, k.o.Deep, t.ID, surveyPart)
	if err != nil {
		return err
	}
	if known == nil {
		options, err := k.options(t, s, s.appendLock(), workers, 0, nil)
		if err != nil {
			return err
		}
		leaf := &plan.External{Source: l.spec.SourceText, Format: l.spec.FormatText, Out: []plan.Column{{Name: plan.TimeColumn, Type: expr.Of(expr.Timestamp)}}}
		if _, err := run(ctx, msq.Job{ID: t.ID, Part: surveyPart, Plan: leaf, Options: options, Rows: survey{l}}, deps); err != nil {
			return err
		}
		all := l.spec.Schema.NewColumns()
		for _, split := range l.part.observed() {
			all.Shape().Merge(split.Shape)
		}
		found := note{all.Shape(), l.part.counted(determinePartitions), l.part.events(determinePartitions)}
		text, err := json.Marshal(found)
		if err != nil {
			return err
		}
		if known, err = msq.PutNote(ctx, k.o.Deep, t.ID, surveyPart, text); err != nil {
			return err
		}
	}
	var n note
	if err := json.Unmarshal(known, &n); err != nil || n.Shape == nil {
		return fault.Runtime("What was learnt of the records of task [%s] can't be read", t.ID).WithCause(err)
	}
	l.Columns.Shape().Merge(n.Shape)
	l.part.surveyed(n)
	return nil
}

// note is what a survey has found.
type note struct {
	Shape  *ingest.Shape
	Counts countsJSON
	Events []event
}

// surveyed makes what was found in the first phase that of a note.
func (p *part) surveyed(n note) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.readers[determinePartitions] = nil
	p.determine.set(n.Counts)
	p.mu.events[determinePartitions] = n.Events
}

// learn is the survey within this process.
func (l *load) learn(ctx context.Context, splits []ingest.Split, threads int) error {
	next := atomic.Int64{}
	g := exec.NewGroup(ctx)
	for n := range min(threads, len(splits)) {
		r := l.reader(determinePartitions, n)
		g.Go(func(ctx context.Context) error {
			for i := int(next.Add(1)) - 1; i < len(splits); i = int(next.Add(1)) - 1 {
				if err := r.learn(ctx, splits[i], l.options()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, split := range l.part.observed() {
		l.Columns.Shape().Merge(split.Shape)
	}
	return nil
}

// learn reads a split for what its records have.
func (r *reader) learn(ctx context.Context, split ingest.Split, o *ingest.Options) error {
	s, err := r.survey(ctx, split, o)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it was only read
	_, err = s.Next(ctx)
	return ended(err)
}

// surveyReader reads a split for what its records have. It is an msq.RowReader without rows.
type surveyReader struct {
	r     *reader
	split ingest.Split
	raw   *rawRows
	shape ingest.Shape
}

func (r *reader) survey(ctx context.Context, split ingest.Split, o *ingest.Options) (*surveyReader, error) {
	s, own := &surveyReader{r: r, split: split}, *o
	own.Shape = &s.shape
	var err error
	s.raw, err = r.raw(ctx, split, &own, nil)
	return s, err
}

// Next implements msq.RowReader.
func (s *surveyReader) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		b, err := s.raw.Next(ctx)
		if err != nil {
			if ended(err) == nil {
				s.r.observed(s.split, &s.shape)
				return nil, io.EOF
			}
			return nil, err
		}
		s.r.count.processed.Add(int64(b.N))
		if s.raw.system != nil { // they are fields of every record
			o := &record.Object{}
			for _, f := range s.raw.system {
				o.Add(f.Name, f.Value)
			}
			s.shape.Add(o)
		}
	}
}

// Stats implements msq.RowReader.
func (s *surveyReader) Stats() ingest.Stats { return s.raw.in.Stats() }

// Close implements msq.RowReader.
func (s *surveyReader) Close() error {
	s.raw.Close()
	return nil
}
