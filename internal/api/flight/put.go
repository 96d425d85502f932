package flight

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/api/grpc"
	"github.com/hengedb/henge/internal/arrow"
)

// data is a message of FlightData.
type data struct {
	descriptor, metadata, body []byte
}

// recv returns the next message; it is valid until the next call.
func (c *call) recv() (*data, error) {
	raw, err := c.stream.Recv()
	if err != nil {
		return nil, err
	}
	in, err := read(raw)
	if err != nil {
		return nil, err
	}
	return &data{in.bytes(1), in.bytes(2), in.bytes(1000)}, nil
}

// put takes what a client sends: its first message says what it is.
func (c *call) put(ctx context.Context) error {
	first, err := c.recv()
	if errors.Is(err, io.EOF) {
		return &grpc.Error{Code: grpc.InvalidArgument, Message: "The call has no message"}
	}
	if err != nil {
		return err
	}
	descriptor, err := read(first.descriptor)
	if err != nil {
		return err
	}
	cmd, err := command(descriptor)
	if err != nil {
		return err
	}
	name, in, err := unpack(cmd)
	if err != nil {
		return err
	}
	switch name {
	case "CommandPreparedStatementQuery":
		return c.bind(first, in.bytes(1))
	case "CommandStatementIngest":
		return c.ingest(ctx, first, in)
	case "CommandStatementUpdate", "CommandPreparedStatementUpdate":
		return &grpc.Error{Code: grpc.Unimplemented, Message: "Statements that change something are not run over Flight SQL: send INSERT and " +
			"REPLACE to /service/v2/sql/task, and rows by bulk ingestion"}
	}
	return &grpc.Error{Code: grpc.Unimplemented, Message: "Command [" + name[:min(len(name), maxNamed)] + "] can't be put"}
}

// decoder reads the schema that a call begins with.
func (c *call) decoder(first *data) (*arrow.Schema, *arrow.Decoder, error) {
	if len(first.metadata) == 0 {
		return nil, nil, &grpc.Error{Code: grpc.InvalidArgument, Message: "The first message has no schema"}
	}
	schema, err := arrow.DecodeSchema(first.metadata)
	if err != nil {
		return nil, nil, err
	}
	d, err := arrow.NewDecoder(schema)
	return schema, d, err
}

// bind puts parameters into a prepared statement, which becomes another one.
func (c *call) bind(first *data, handle []byte) error {
	s, err := c.openStatement(kindPrepared, handle)
	if err != nil {
		return err
	}
	schema, decoder, err := c.decoder(first)
	if err != nil {
		return err
	}
	s.Parameters = nil
	for {
		next, err := c.recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(next.metadata) == 0 {
			continue
		}
		batch, err := decoder.Decode(next.metadata, next.body)
		if err != nil {
			return err
		}
		row, err := parametersOf(schema, batch)
		if err != nil {
			return err
		}
		if row != nil && s.Parameters != nil {
			return &grpc.Error{Code: grpc.Unimplemented, Message: "The parameters have several rows; a statement is run with one"}
		}
		if row != nil {
			s.Parameters = row
		}
	}
	bound, err := c.api.seal.Seal(kindPrepared, s, preparedLife)
	if err != nil {
		return err
	}
	var inner, out message
	inner.bytes(1, bound)
	out.bytes(1, inner)
	return c.stream.Send(out)
}
