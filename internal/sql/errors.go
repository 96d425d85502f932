package sql

import (
	"github.com/hengedb/henge/internal/fault"
)

// suggest adds the candidate nearest to name to err: behind the position, so that the sentence clients match stays whole, and in the
// context under "suggestion".
func suggest(err *fault.Error, name string, candidates []string) *fault.Error {
	near := fault.Nearest(name, candidates)
	if near == "" || near == name {
		return err
	}
	return propose(err, near)
}

func propose(err *fault.Error, instead string) *fault.Error {
	out := err.With("suggestion", instead)
	out.Message += ". Did you mean [" + instead + "]?"
	return out
}

// notYet is the error for what is understood and not run.
func notYet(at fault.Span, construct string) error {
	return fault.UnsupportedSQL(at, "%s is not supported yet", construct)
}
