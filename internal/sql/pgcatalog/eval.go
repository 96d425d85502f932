package pgcatalog

import (
	"errors"
	"fmt"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// frame is the row that expressions are computed of.
type frame struct {
	run *run
	// outer is that of the query around.
	outer *frame
	row   []any
	// aggs, wins and sets are the values of aggregates, windows and set-returning functions.
	aggs, wins, sets []any
	// ctes are the rows of WITH, by the slot of the query.
	ctes map[*cte][][]any
}

// run is one execution.
type run struct {
	s      *Session
	params []any
	// steps counts the rows that were looked at, so that a statement can be stopped.
	steps int
}

// step counts a row.
func (r *run) step() {
	if r.steps++; r.steps&1023 == 0 && r.s.Stopped != nil {
		if err := r.s.Stopped(); err != nil {
			panic(stopped{err})
		}
	}
}

// stopped carries the reason of an end through evaluation.
type stopped struct{ err error }

// expr is an expression with its type.
type expr struct {
	typ  pgtype.OID
	eval func(f *frame) any
	// constant says that no row, aggregate or parameter is looked at.
	constant bool
	// literal is the text of a literal whose type is not known yet, param the parameter's number.
	literal *string
	param   int
	// record are the names and types of the fields of a record.
	record *pgtype.Record
	// column is the index of the column that it is in its block, from 1; 0: it is something else.
	column int
	at     int
}

// fail ends compiling or running with an error of a place.
func fail(at int, code, format string, args ...any) {
	panic(&pg.Error{At: at, Code: code, Message: fmt.Sprintf(format, args...)})
}

// protect runs f and returns the error that it stopped with.
func protect(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			switch e := r.(type) {
			case *pg.Error:
				err = e
			case stopped:
				err = e.err
			default:
				panic(r)
			}
		}
	}()
	f()
	return nil
}

// value turns an error of reading a value into one with a place.
func value(v any, err error, at int) any {
	if err == nil {
		return v
	}
	if e, ok := errors.AsType[*pgtype.ValueError](err); ok {
		fail(at, e.Code, "%s", e.Message)
	}
	if e, ok := errors.AsType[*pg.Error](err); ok {
		panic(e)
	}
	panic(stopped{err})
}
