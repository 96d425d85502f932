package flight

import (
	"context"
	"strconv"

	"github.com/hengedb/henge/internal/api/grpc"
	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/result"
)

// actions are the actions by their names, in the order in which they are listed.
var actions = []struct{ name, about string }{
	{"CreatePreparedStatement", "Prepares a statement."},
	{"ClosePreparedStatement", "Forgets a prepared statement."},
	{"CancelFlightInfo", "Ends the query of a flight."},
	{"CancelQuery", "Ends the query of a flight."},
	{"CloseSession", "Ends a session; the server keeps no state of sessions."},
}

// The results of a cancellation.
const (
	cancelled      = 1
	notCancellable = 3
)

func (c *call) actions() error {
	for _, a := range actions {
		var m message
		m.text(1, a.name)
		m.text(2, a.about)
		if err := c.stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) action(ctx context.Context) error {
	data, err := c.stream.One()
	if err != nil {
		return err
	}
	in, err := read(data)
	if err != nil {
		return err
	}
	var out message
	switch kind, body := in.text(1), in.bytes(2); kind {
	case "CreatePreparedStatement":
		out, err = c.prepare(ctx, body)
	case "ClosePreparedStatement": // its handle is the statement, which nobody keeps
		_, _, err = unpack(body)
		if err == nil {
			return c.stream.Flush()
		}
	case "CancelFlightInfo":
		var request fields
		if request, err = read(body); err == nil {
			out, err = c.cancel(ctx, request.bytes(1))
		}
	case "CancelQuery":
		var request fields
		if _, request, err = unpack(body); err == nil {
			out, err = c.cancel(ctx, request.bytes(1))
			out = pack("ActionCancelQueryResult", out)
		}
	case "CloseSession":
		out.number(1, 1)
	default:
		err = &grpc.Error{Code: grpc.Unimplemented, Message: "Action [" + kind[:min(len(kind), maxNamed)] + "] is not supported"}
	}
	if err != nil {
		return err
	}
	var result message
	result.bytes(1, out)
	return c.stream.Send(result)
}

// prepare describes a statement, and seals it as its own handle.
func (c *call) prepare(ctx context.Context, body []byte) (message, error) {
	_, in, err := unpack(body)
	if err != nil {
		return nil, err
	}
	if err := noTransaction(in.bytes(2)); err != nil {
		return nil, err
	}
	s, err := c.statement(in.text(1))
	if err != nil {
		return nil, err
	}
	d, err := c.describe(ctx, s)
	if err != nil {
		return nil, err
	}
	handle, err := c.api.seal.Seal(kindPrepared, s, preparedLife)
	if err != nil {
		return nil, err
	}
	parameters := make([]result.Column, len(d.Parameters))
	for i, t := range d.Parameters {
		if t.Base == expr.Null { // nothing says what it is: any text
			t = expr.Of(expr.Varchar)
		}
		parameters[i] = result.Column{Name: "parameter_" + strconv.Itoa(i+1), Type: t}
	}
	var out message
	out.bytes(1, handle)
	out.bytes(2, encapsulated(schemaOf(d.Columns)))
	if len(parameters) > 0 {
		out.bytes(3, encapsulated(schemaOf(parameters)))
	} else {
		out.bytes(3, encapsulated(&arrow.Schema{}))
	}
	return pack("ActionCreatePreparedStatementResult", out), nil
}

// cancel ends the query of a FlightInfo, wherever it runs.
func (c *call) cancel(ctx context.Context, info []byte) (message, error) {
	in, err := read(info)
	if err != nil {
		return nil, err
	}
	endpoint, err := read(in.bytes(3))
	if err != nil {
		return nil, err
	}
	ticket, err := read(endpoint.bytes(1))
	if err != nil {
		return nil, err
	}
	s, err := c.ticket(ticket.bytes(1))
	if err != nil {
		return nil, err
	}
	n := 0
	if s.ID != "" {
		for _, q := range c.api.running.Find(s.ID) {
			if err := q.MayCancel(ctx, c.who.access, auth.Read); err != nil {
				return nil, err
			}
		}
		n = c.api.running.Cancel(s.ID)
		if n == 0 && c.api.o.Cancel != nil {
			n = c.api.o.Cancel(ctx, c.who.header, s.ID)
		}
	}
	var out message
	if n > 0 {
		out.number(1, cancelled)
	} else {
		out.number(1, notCancellable)
	}
	return out, nil
}
