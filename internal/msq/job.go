package msq

import (
	"context"
	"encoding/json"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// Job is a statement to run.
type Job struct {
	// ID is the id of the controller task: "query-" and the id of the statement.
	ID string
	// Part distinguishes the jobs of a task; "": the task has one job.
	Part string
	// Plan is the optimized plan: a plan.Write, a plan.Export, or a query whose rows become results.
	Plan plan.Node
	// Columns are the output columns with the names in the statement; nil: those of the plan.
	Columns []ResultColumn
	// Context is the query context of the request, for reports and stage definitions.
	Context map[string]any
	// Identity is the user who submitted it; "": not known.
	Identity string
	// Options are its parameters; nil: they are parsed from Context.
	Options *Options
	// Target contains further properties of the segments to write; may be nil.
	Target *Target
	// Rows reads the external inputs of the plan; nil: their columns are read as the plan declares
	// them. A query with Rows is a survey: its only results are the states of its RowWorkers.
	Rows RowSource
}

// RowSource is a custom reader of external inputs. It is safe for concurrent use.
type RowSource interface {
	// Table returns the data to read.
	Table(ext *plan.External) (*ingest.Table, error)
	// Worker returns the reader of the splits of a worker, and discards the earlier counters of the
	// worker with that number.
	Worker(number int) RowWorker
	// Describe returns a description from which other processes create a source of the same rows
	// (Follow); nil: not supported.
	Describe() (json.RawMessage, error)
}

// RowWorker reads the splits of one worker and maintains its own counters.
type RowWorker interface {
	// Open reads a split as rows with the columns of ext.
	Open(ctx context.Context, ext *plan.External, split ingest.Split, o *ingest.Options) (RowReader, error)
	// State returns the counters; ended is true if everything was read. Set replaces the counters by
	// those of a RowWorker of another process or of an earlier run of the task; an error of Set ends
	// the job.
	State(ended bool) (json.RawMessage, error)
	Set(state json.RawMessage) error
}

// RowReader yields the rows of one split, under the contract of ingest.Reader.
type RowReader interface {
	Next(ctx context.Context) (*vector.Batch, error)
	Stats() ingest.Stats
	Close() error
}

// Outcome is the result of a job.
type Outcome struct {
	// Rows is the number of written or returned rows.
	Rows int64
	// Segments are the published segments, including tombstones.
	Segments []*timeline.Segment
	// Files are the files of an export, in the order of their rows.
	Files []string
	// Results are the rows of a query; nil for INSERT and REPLACE.
	Results *Results
}

// write returns the job's plan.Write, or nil.
func (j *Job) write() *plan.Write {
	w, _ := j.Plan.(*plan.Write)
	return w
}

// export returns the job's plan.Export, or nil.
func (j *Job) export() *plan.Export {
	x, _ := j.Plan.(*plan.Export)
	return x
}

// columns returns the outer columns.
func (j *Job) columns() []ResultColumn {
	if j.Columns != nil {
		return j.Columns
	}
	return resultColumns(j.Plan)
}

// rename gives the columns that are written their outer names, by which segments know them.
func (j *Job) rename(w *plan.Write) *plan.Write {
	in := w.Input.Columns()
	p := &plan.Project{Input: w.Input}
	same := true
	for i, c := range j.columns() {
		p.Exprs = append(p.Exprs, &expr.Column{Index: i, Name: in[i].Name, T: in[i].Type})
		p.Names = append(p.Names, c.Name)
		same = same && in[i].Name == c.Name
	}
	if same {
		return w
	}
	for i := len(p.Exprs); i < len(in); i++ {
		p.Exprs = append(p.Exprs, &expr.Column{Index: i, Name: in[i].Name, T: in[i].Type})
		p.Names = append(p.Names, in[i].Name)
	}
	c := *w
	c.Input = p
	return &c
}

// check refuses external inputs that can't be read whatever they hold, before a task is made for
// them.
func (j *Job) check() error {
	if len(j.columns()) != len(j.Plan.Columns()) {
		return fault.Defensive("The statement has [%d] columns, its plan [%d]", len(j.columns()), len(j.Plan.Columns()))
	}
	var err error
	plan.Walk(j.Plan, func(n plan.Node) bool {
		if x, ok := n.(*plan.External); ok && err == nil {
			_, err = j.table(x)
		}
		return err == nil
	})
	return err
}

// table returns what an external input reads.
func (j *Job) table(x *plan.External) (*ingest.Table, error) {
	if j.Rows != nil {
		return j.Rows.Table(x)
	}
	return ExternalTable(x)
}

// DataSource returns the datasource that the job writes, or the name that represents results.
func (j *Job) DataSource() string {
	if w := j.write(); w != nil {
		return w.DataSource
	}
	if j.export() != nil {
		return "__query_export"
	}
	return "__query_select"
}

// ResultColumn is a column of a query's results.
type ResultColumn struct {
	Name string
	Type expr.Type
}
