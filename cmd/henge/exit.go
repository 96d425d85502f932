package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hengedb/henge/internal/fault"
)

// The statuses with which the program ends (docs/prompt.md).
const (
	exitFailed      = 1 // a statement or command failed
	exitUsage       = 2 // flags, arguments or a file of settings are wrong
	exitNoServer    = 3 // the server does not respond, or no longer does
	exitRefused     = 4 // credentials are not accepted, or a permission lacks
	exitInterrupted = 130
)

// errUsage marks errors of how the program was called. It adds nothing to a message.
var errUsage = errors.New("")

// errReported ends the program when the user has been told why already.
var errReported = errors.New("already reported")

// reportedError is an error that the user has been told.
type reportedError struct{ cause error }

// Error implements error.
func (e *reportedError) Error() string { return errReported.Error() }

// Unwrap gives both: that it was reported, and what it was.
func (e *reportedError) Unwrap() []error { return []error{errReported, e.cause} }

// exitOf returns the status that an error ends the program with.
func exitOf(err error, interrupted bool) int {
	f := fault.Find(err)
	switch {
	case err == nil:
		return 0
	case interrupted && errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errNoServer), f != nil && f.Category == fault.CategoryServiceUnavailable:
		return exitNoServer
	case f != nil && (f.Category == fault.CategoryUnauthorized || f.Category == fault.CategoryForbidden):
		return exitRefused
	}
	return exitFailed
}

// jsonError writes an error as JSON, for scripts.
func jsonError(w io.Writer, err error) {
	var body struct {
		Error struct {
			Message  string            `json:"message"`
			Category string            `json:"category,omitempty"`
			Code     string            `json:"code,omitempty"`
			Context  map[string]string `json:"context,omitempty"`
			Exit     int               `json:"exitStatus"`
		} `json:"error"`
	}
	body.Error.Message, body.Error.Exit = messageOf(err), exitOf(err, false)
	if f := fault.Find(err); f != nil {
		body.Error.Category, body.Error.Code, body.Error.Context = string(f.Category), f.Code, f.Context
	}
	text, _ := json.Marshal(body) // texts and a number: it can't fail
	fmt.Fprintf(w, "%s\n", text)
}
