package stream

import (
	"context"
	"errors"
	"time"
)

// ConnectionError says that a stream can't be reached, or does not answer as it should: it may
// pass, and who reads goes on with it. Errors of the settings are faults instead.
type ConnectionError struct {
	// Class names the kind of trouble as clients of the stream know it, for the errors that a
	// supervisor shows: org.apache.kafka.common.errors.TimeoutException.
	Class   string
	Message string
	// Cause is for the log.
	Cause error
}

// Error does not name the class; who shows an error puts it before the message.
func (e *ConnectionError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Cause }

// ClassOf returns the class and the message of what a stream failed with; "": err is not of a
// stream.
func ClassOf(err error) (class, message string) {
	if e, ok := errors.AsType[*ConnectionError](err); ok {
		return e.Class, e.Message
	}
	if e, ok := errors.AsType[*OffsetError](err); ok {
		return "org.apache.kafka.clients.consumer.OffsetOutOfRangeException", e.Error()
	}
	return "", ""
}

// Lagger is a Source that knows how late a reader is by time: where positions have no distance
// (Kinesis).
type Lagger interface {
	// TimeLag returns how much older the record at each position is than the end of its partition;
	// a partition that it can't tell of is not among them.
	TimeLag(ctx context.Context, positions Positions) (map[Partition]time.Duration, error)
}
