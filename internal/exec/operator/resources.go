package operator

import "github.com/hengedb/henge/internal/budget"

// Resources are shared by the operators of one query: memory, and files for data that does not fit
// in memory.
type Resources struct {
	// Budget is the memory budget of the query.
	Budget *budget.Budget
	// Spill creates files for data that does not fit in memory. Nil: nothing is spilled, and such
	// queries fail.
	Spill *budget.SpillDir
	// BatchRows is the size of batches.
	BatchRows int
}
