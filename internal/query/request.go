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
	// Unbound says that there is null in place of a parameter.
	Unbound bool `json:"-"`
}

// Request is a SQL request.
type Request struct {
	SQL string
	// Script is the parsed SQL where it had to be parsed to know the context; nil: it is not parsed
	// yet. One reader may take it: binding may change it.
	Script *syntax.Script
	// Format is the result format; FormatGiven says whether the request named it.
	Format                              result.Format
	FormatGiven                         bool
	Header, TypesHeader, SQLTypesHeader bool
	// Context holds JSON values as encoding/json decodes them, numbers as json.Number. It is never nil
	// and holds sqlQueryId.
	Context    map[string]any
	Parameters []Parameter
	// ID is the query's id: the caller's or a new one.
	ID string
	// User is whose it is, or without security whose it says it is; "": nobody's.
	User string
	// Access is what its user may do; nil: the process runs it by itself, and may do all.
	Access *auth.Access
	// Dialect is the product name the request came under.
	Dialect string
	// Pin is the state that the request reads; nil: the newest.
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
