package fault

import (
	"context"
	"errors"
)

// Classify returns the error that a user may see for err: the first fault in its chain, otherwise a
// fault for the state of the context, otherwise an unexpected error whose details are only logged.
func Classify(err error) *Error {
	if f := Find(err); f != nil {
		return f
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return QueryTimeout()
	case errors.Is(err, context.Canceled):
		return Canceled("Query is canceled")
	}
	return Defensive("The server met an unexpected error; its log says more").WithCause(err)
}

// QueryTimeout returns the fault of a query that exceeds its timeout, with the message of Druid.
func QueryTimeout() *Error {
	return Timeout("Query did not complete within configured timeout period. You can increase query timeout or tune the performance of query.")
}
