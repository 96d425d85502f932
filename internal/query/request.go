package query

import (
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// Parameter is a value for a `?` of the statement.
type Parameter struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
	// Unbound is true if the request has null in place of the parameter.
	Unbound bool `json:"-"`
}

// Request is a SQL request.
type Request struct {
	SQL string
	// Script is the parsed SQL, if it had to be parsed to determine the context; nil: it is not parsed
	// yet. Only one caller may use it, because binding may change it.
	Script *syntax.Script
	// Format is the result format; FormatGiven is true if the request names it.
	Format                              result.Format
	FormatGiven                         bool
	Header, TypesHeader, SQLTypesHeader bool
	// Context holds JSON values as encoding/json decodes them, numbers as json.Number. It is never nil
	// and contains sqlQueryId.
	Context    map[string]any
	Parameters []Parameter
	// ID is the id of the query: from the request, or a new one.
	ID string
	// User is the authenticated user or, without security, the user that the request names; "":
	// unknown.
	User string
	// Access contains the permissions of the user; nil: an internal query with all permissions.
	Access *auth.Access
	// Kept is true if the statement becomes a task, which stores the view that access rules give the
	// user. View is the stored view of a task, in place of an Access; nil: none.
	Kept bool
	Seen *auth.Seen
	// Dialect is the product name in the path of the request.
	Dialect string
	// Pin is the state that the request reads; nil: the newest state.
	Pin Pin
}

// NewID returns a random UUID (version 4) in lower case.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
