package kinesis

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
)

// The names that the service's own client gives to errors, as supervisors show them.
const (
	serviceErrors = "com.amazonaws.services.kinesis.model."
	clientError   = "com.amazonaws.SdkClientException"
)

// trouble makes of what the SDK says an error that may pass, or returns the fault in it.
func trouble(doing string, err error) error {
	if err == nil {
		return nil
	}
	if f := fault.Find(err); f != nil {
		return f // an address that is not allowed
	}
	out := &stream.ConnectionError{Class: clientError, Message: doing, Cause: err}
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		out.Class = serviceErrors + e.ErrorCode()
		out.Message = doing + ": " + e.ErrorMessage()
		return out
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		out.Message = fmt.Sprintf("%s: host [%s] is not known", doing, e.Name)
	} else if e, ok := errors.AsType[*net.OpError](err); ok && e.Addr != nil {
		out.Message = fmt.Sprintf("%s: no connection to [%s]", doing, e.Addr)
	} else if errors.Is(err, context.DeadlineExceeded) {
		out.Message = doing + ": there was no answer in time"
	}
	return out
}

func isMissing(err error) bool {
	_, ok := errors.AsType[*types.ResourceNotFoundException](err)
	return ok
}

func isExpired(err error) bool {
	_, ok := errors.AsType[*types.ExpiredIteratorException](err)
	return ok
}

func isInvalid(err error) bool {
	_, ok := errors.AsType[*types.InvalidArgumentException](err)
	return ok
}
