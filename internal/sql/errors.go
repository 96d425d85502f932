package sql

import (
	"fmt"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// notFound is the error that there is nothing called name: the sentence, and what may have been
// meant. A candidate that differs by case only is named within the sentence, as Druid does. See
// quirk Q011.
func notFound(at fault.Span, name string, candidates []string, format string, args ...any) *fault.Error {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = shortened(s)
		}
	}
	for _, c := range candidates {
		if c != name && strings.EqualFold(c, name) {
			return fault.InvalidSQL(at, "%s; did you mean '%s'?", fmt.Sprintf(format, args...), c).With("suggestion", c)
		}
	}
	return suggest(fault.InvalidSQL(at, format, args...), name, candidates)
}

// maxShownName is how much of a name stands in a message.
const maxShownName = 256

func shortened(name string) string {
	if len(name) <= maxShownName {
		return name
	}
	return strings.ToValidUTF8(name[:maxShownName], "") + "..."
}

// suggest adds the candidate nearest to name to err: behind the position, so that the sentence
// clients match stays whole, and in the context under "suggestion".
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

// advised adds what to write instead to err, behind the sentence and in the context.
func advised(err *fault.Error, instead string) *fault.Error {
	out := err.With("suggestion", instead)
	out.Message = strings.TrimSuffix(out.Message, ".") + ". Write instead: " + instead
	return out
}

// notYet is the error for what is understood and not run.
func notYet(at fault.Span, construct string) error {
	return fault.UnsupportedSQL(at, "%s is not supported yet", construct)
}
