package batch

import (
	"context"
	"encoding/json"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/tasktype/rowplan"
)

// Other processes read splits of a load as the process that has the task does: they are told the
// spec, and what was learnt of the records, and plan of it the same rows. What is wrong with
// records, and how many there were, goes back as counts.

// description is a load on its way to another process.
type description struct {
	Kind string
	Spec json.RawMessage
	// Learnt is the shape of the records; nil: it must be learned.
	Learnt *ingest.Shape `json:",omitempty"`
}

// Table implements msq.RowSource.
func (l *load) Table(*plan.External) (*ingest.Table, error) { return l.table, nil }

// Worker implements msq.RowSource.
func (l *load) Worker(number int) msq.RowWorker { return l.reader(buildSegments, number) }

// Describe implements msq.RowSource.
func (l *load) Describe() (json.RawMessage, error) {
	return json.Marshal(description{l.kind, l.text, l.Columns.Shape()})
}

// survey reads all records to learn what they have. It is an msq.RowSource without rows.
type survey struct{ *load }

// Worker implements msq.RowSource.
func (s survey) Worker(number int) msq.RowWorker { return s.reader(determinePartitions, number) }

// Describe implements msq.RowSource.
func (s survey) Describe() (json.RawMessage, error) {
	return json.Marshal(description{Kind: s.kind, Spec: s.text})
}

// Rows returns the row source of splits of a load that another process describes.
func Rows(ctx context.Context, o *tasktype.Env, text json.RawMessage, env *exec.Env) (msq.RowSource, error) {
	var d description
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fault.Malformed("The description of a load can't be read").WithCause(err)
	}
	x, err := spec.ParseIndex(d.Kind, d.Spec)
	if err != nil {
		return nil, err
	}
	l := newLoad(o, d.Kind, x, d.Spec, env)
	l.far = true
	l.part, l.parts = newPart(clock.Millis(o.Clock)), newSubtasks(&report{clock: o.Clock}, o.Host)
	if d.Learnt == nil {
		return survey{l}, nil
	}
	l.Columns.Shape().Merge(d.Learnt)
	_, _, _, err = l.plan(ctx)
	return l, err
}

// newLoad makes a load of a spec and its text. Part and parts are still to be set.
func newLoad(o *tasktype.Env, kind string, x *spec.Index, text json.RawMessage, env *exec.Env) *load {
	p := &rowplan.Plan{Schema: x.Schema, Source: x.SourceText, Format: x.FormatText, Columns: x.Schema.NewColumns()}
	if given := x.Tuning.Given(); given.Type == "range" || given.Type == "single_dim" {
		p.Ranged = given.Dimensions
	}
	return &load{
		Plan: p, kind: kind, spec: x, text: text, table: &ingest.Table{Source: x.Source, Format: x.Format},
		access: o.Access, dir: o.TempDir, disk: o.Disk,
		clock: func() int64 { return clock.Millis(o.Clock) }, env: env, host: o.Host, log: o.Log,
	}
}
