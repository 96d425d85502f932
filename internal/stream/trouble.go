package stream

import (
	"context"
	"errors"
	"time"
)

// ConnectionError means that a stream is unreachable or responds incorrectly. It may be transient,
// so readers continue. Errors of the settings are faults instead.
type ConnectionError struct {
	// Class is the name of the error in clients of the stream, for the errors that a supervisor shows:
	// org.apache.kafka.common.errors.TimeoutException.
	Class   string
	Message string
	// Cause is for the log.
	Cause error
}

// Error does not include the class; code that shows the error puts it before the message.
func (e *ConnectionError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Cause }

// ClassOf returns the class and the message of an error of a stream; "": err is not an error of a
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

// Lagger is a Source that determines the lag of a reader by time, for positions without a distance
// (Kinesis).
type Lagger interface {
	// TimeLag returns the age of the record at each position relative to the end of its partition;
	// partitions with an unknown lag are omitted.
	TimeLag(ctx context.Context, positions Positions) (map[Partition]time.Duration, error)
}
