package grpc

import (
	"context"
	"errors"
	"strings"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// Code is the status of a call.
type Code int

// The codes of gRPC that are used.
const (
	OK                Code = 0
	Canceled          Code = 1
	Unknown           Code = 2
	InvalidArgument   Code = 3
	DeadlineExceeded  Code = 4
	NotFound          Code = 5
	AlreadyExists     Code = 6
	PermissionDenied  Code = 7
	ResourceExhausted Code = 8
	Unimplemented     Code = 12
	Internal          Code = 13
	Unavailable       Code = 14
	Unauthenticated   Code = 16
)

// Error is a failure that is none of a query.
type Error struct {
	Code    Code
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

var codes = map[fault.Category]Code{
	fault.CategoryInvalidInput: InvalidArgument, fault.CategoryUnauthorized: Unauthenticated, fault.CategoryForbidden: PermissionDenied,
	fault.CategoryNotFound: NotFound, fault.CategoryCapacityExceeded: ResourceExhausted, fault.CategoryCanceled: Canceled,
	fault.CategoryTimeout: DeadlineExceeded, fault.CategoryUnsupported: Unimplemented, fault.CategoryDefensive: Internal,
	fault.CategoryRuntimeFailure: Internal, fault.CategoryServiceUnavailable: Unavailable, fault.CategoryConflict: AlreadyExists,
}

// CodeOf returns the status of an error with the message for the client.
func CodeOf(err error) (Code, string) {
	if err == nil {
		return OK, ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code, e.Message
	}
	f := fault.Find(err)
	switch {
	case f == nil && errors.Is(err, context.DeadlineExceeded):
		return DeadlineExceeded, "The call did not end within its deadline"
	case f == nil && errors.Is(err, context.Canceled):
		return Canceled, "The call was canceled"
	case f == nil:
		f = fault.Classify(err)
	}
	if auth.IsRefusal(err) {
		return PermissionDenied, f.Message
	}
	if code, ok := codes[f.Category]; ok {
		return code, f.Message
	}
	return Unknown, f.Message
}

const hexDigits = "0123456789ABCDEF"

// escape writes a message as the header grpc-message wants it: bytes that are not visible ASCII,
// and %, by their number.
func escape(s string) string {
	var out strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '%' {
			out.WriteByte('%')
			out.WriteByte(hexDigits[c>>4])
			out.WriteByte(hexDigits[c&15])
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}
