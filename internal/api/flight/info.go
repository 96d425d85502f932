package flight

import (
	"context"
	"time"

	"github.com/hengedb/henge/internal/api/grpc"
	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
)

// Kinds of descriptors.
const (
	descriptorPath = 1
	descriptorCmd  = 2
)

// asked is a descriptor with what it asks for.
type asked struct {
	descriptor []byte
	statement  *statement
	schema     *arrow.Schema
}

// command returns the command of a descriptor.
func command(descriptor fields) ([]byte, error) {
	if descriptor.number(1) != descriptorCmd {
		return nil, &grpc.Error{Code: grpc.NotFound, Message: "Flights have no paths here; send a command of Flight SQL"}
	}
	return descriptor.bytes(2), nil
}

// ask reads the descriptor of a call and finds out what it gives.
func (c *call) ask(ctx context.Context) (*asked, error) {
	data, err := c.stream.One()
	if err != nil {
		return nil, err
	}
	descriptor, err := read(data)
	if err != nil {
		return nil, err
	}
	cmd, err := command(descriptor)
	if err != nil {
		return nil, err
	}
	name, in, err := unpack(cmd)
	if err != nil {
		return nil, err
	}
	out := &asked{descriptor: append([]byte(nil), data...)}
	switch name {
	case "CommandStatementQuery":
		if err := noTransaction(in.bytes(2)); err != nil {
			return nil, err
		}
		out.statement, err = c.statement(in.text(1))
	case "CommandPreparedStatementQuery":
		out.statement, err = c.openStatement(kindPrepared, in.bytes(1))
	default:
		m, ok := catalogs[name]
		if !ok {
			return nil, &grpc.Error{Code: grpc.Unimplemented, Message: "Command [" + name[:min(len(name), maxNamed)] + "] is not supported"}
		}
		out.schema = m.schema(in)
		out.statement = &statement{User: c.who.name, Command: append([]byte(nil), cmd...)}
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := c.describe(ctx, out.statement)
	if err != nil {
		return nil, err
	}
	out.schema = schemaOf(d.Columns)
	return out, nil
}

// noTransaction refuses statements of transactions, of which there are none.
func noTransaction(id []byte) error {
	if len(id) > 0 {
		return &grpc.Error{Code: grpc.Unimplemented, Message: "Transactions are not supported"}
	}
	return nil
}

// flight makes the FlightInfo of what was asked for.
func (c *call) flight(of *asked) (message, error) {
	if of.statement.Command == nil {
		of.statement.ID = query.NewID()
		if id, _ := of.statement.Context[querycontext.SQLQueryID.Key()].(string); id != "" {
			of.statement.ID = id
		}
	}
	handle, err := c.api.seal.Seal(kindTicket, of.statement, ticketLife)
	if err != nil {
		return nil, err
	}
	var inner, ticket, endpoint, out message
	inner.bytes(1, handle)
	ticket.bytes(1, pack("TicketStatementQuery", inner))
	endpoint.bytes(1, ticket)
	endpoint.bytes(3, timestamp(c.api.o.Clock, ticketLife))
	out.bytes(1, encapsulated(of.schema))
	out.bytes(2, of.descriptor)
	out.bytes(3, endpoint)
	out.number(4, -1)
	out.number(5, -1)
	out.text(7, of.statement.ID)
	return out, nil
}

// timestamp is the instant after some time from now.
func timestamp(c clock.Clock, life time.Duration) message {
	at := c.Now().Add(life)
	var m message
	m.number(1, at.Unix())
	m.number(2, int64(at.Nanosecond()))
	return m
}

func (c *call) info(ctx context.Context) error {
	of, err := c.ask(ctx)
	if err != nil {
		return err
	}
	m, err := c.flight(of)
	if err != nil {
		return err
	}
	return c.stream.Send(m)
}

// poll answers that the flight is there: a query runs once its rows are fetched.
func (c *call) poll(ctx context.Context) error {
	of, err := c.ask(ctx)
	if err != nil {
		return err
	}
	m, err := c.flight(of)
	if err != nil {
		return err
	}
	var out message
	out.bytes(1, m)
	out.bytes(4, timestamp(c.api.o.Clock, ticketLife))
	return c.stream.Send(out)
}

func (c *call) schema(ctx context.Context) error {
	of, err := c.ask(ctx)
	if err != nil {
		return err
	}
	var m message
	m.bytes(1, encapsulated(of.schema))
	return c.stream.Send(m)
}

// get sends the rows of a ticket.
func (c *call) get(ctx context.Context) error {
	data, err := c.stream.One()
	if err != nil {
		return err
	}
	in, err := read(data)
	if err != nil {
		return err
	}
	s, err := c.ticket(in.bytes(1))
	if err != nil {
		return err
	}
	if s.Command != nil {
		return c.metadata(ctx, s.Command)
	}
	return c.run(ctx, s)
}

// ticket reads a ticket.
func (c *call) ticket(data []byte) (*statement, error) {
	name, in, err := unpack(data)
	if err != nil || name != "TicketStatementQuery" {
		return nil, &grpc.Error{Code: grpc.InvalidArgument, Message: "The ticket was not issued by this cluster"}
	}
	return c.openStatement(kindTicket, in.bytes(1))
}
