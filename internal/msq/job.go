package msq

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/timeline"
)

// Job is a statement to run.
type Job struct {
	// ID is the id of the controller task: "query-" and the id of the statement.
	ID string
	// Plan is the optimized plan: a plan.Write, or a query whose rows become results.
	Plan plan.Node
	// Context is the query context as it was given, for reports and stage definitions.
	Context map[string]any
	// Options are its parameters; nil: they are read from Context.
	Options *Options
}

// Outcome is what a job achieved.
type Outcome struct {
	// Rows counts the rows written or returned.
	Rows int64
	// Segments are those that were published, tombstones included.
	Segments []*timeline.Segment
	// Results are the rows of a query; nil for INSERT and REPLACE.
	Results *Results
}

// write returns the job's plan.Write, or nil.
func (j *Job) write() *plan.Write {
	w, _ := j.Plan.(*plan.Write)
	return w
}

// DataSource returns the datasource that the job writes to, or the name that stands for results.
func (j *Job) DataSource() string {
	if w := j.write(); w != nil {
		return w.DataSource
	}
	return "__query_select"
}

// ResultColumn is a column of a query's results.
type ResultColumn struct {
	Name string
	Type expr.Type
}
