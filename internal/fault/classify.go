package fault

import (
	"context"
	"errors"
)

// Classify finds what a user may be told of err: the first fault in its chain, else what the
// context says, else that something unexpected happened, the details of which go to the log.
func Classify(err error) *Error {
	if f := Find(err); f != nil {
		return f
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout("Query did not complete within configured timeout period. You can increase query timeout or tune the performance of query.")
	case errors.Is(err, context.Canceled):
		return Canceled("Query is canceled")
	}
	return Defensive("The server met an unexpected error; its log says more").WithCause(err)
}
