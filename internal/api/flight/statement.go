package flight

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"strconv"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/grpc"
	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/secret"
)

// statement is a statement on its way between calls: within tickets and prepared statements.
type statement struct {
	User string `json:"u,omitempty"`
	// ID is the id of the query; "": the statement is a prepared statement.
	ID         string            `json:"i,omitempty"`
	SQL        string            `json:"q,omitempty"`
	Context    map[string]any    `json:"c,omitempty"`
	Parameters []query.Parameter `json:"p,omitempty"`
	// Command is a metadata command, in place of a statement.
	Command []byte `json:"m,omitempty"`
}

// contextHeader holds query context parameters, as a JSON object.
const contextHeader = "Henge-Context"

// statement makes a statement of a text.
func (c *call) statement(sql string) (*statement, error) {
	s := &statement{User: c.who.name, SQL: sql}
	if text := c.stream.Request().Header.Get(contextHeader); text != "" {
		if err := unmarshal([]byte(text), &s.Context); err != nil {
			return nil, fault.InvalidInput("Header [%s] is not a JSON object of query context parameters", contextHeader)
		}
	}
	return s, nil
}

// openStatement reads a sealed statement.
func (c *call) openStatement(kind string, data []byte) (*statement, error) {
	what := map[string]string{kindTicket: "ticket", kindPrepared: "prepared statement"}[kind]
	var s statement
	switch expired, ok := c.api.seal.Open(kind, data, &s); {
	case expired:
		return nil, &grpc.Error{Code: grpc.NotFound, Message: "The " + what + " has expired; request a new one"}
	case !ok:
		return nil, &grpc.Error{Code: grpc.InvalidArgument, Message: "The " + what + " was not issued by this cluster"}
	case s.User != c.who.name:
		return nil, &grpc.Error{Code: grpc.PermissionDenied, Message: "The " + what + " is another user's"}
	}
	return &s, nil
}

// request makes the request of a query.
func (c *call) request(ctx context.Context, s *statement) (*query.Request, error) {
	if s.SQL == "" {
		return nil, fault.InvalidInput("The statement is empty")
	}
	secret.Hold(ctx, s.SQL)
	req := &query.Request{SQL: s.SQL, Format: result.Arrow, Context: maps.Clone(s.Context), Parameters: s.Parameters, ID: s.ID,
		User: c.who.name, Access: c.who.access, Dialect: edge.DialectOf(ctx).Name}
	if req.Context == nil {
		req.Context = map[string]any{}
	}
	if id, err := querycontext.SQLQueryID.Read(req.Context); err != nil {
		return nil, err
	} else if id != "" && req.ID == "" {
		req.ID = id
	}
	if req.ID == "" {
		req.ID = query.NewID()
	}
	req.Context[querycontext.SQLQueryID.Key()] = req.ID
	return req, nil
}

// describe returns what a statement gives and wants.
func (c *call) describe(ctx context.Context, s *statement) (*query.Description, error) {
	req, err := c.request(ctx, s)
	if err != nil {
		return nil, err
	}
	req.Parameters = nil
	return c.api.engine.Describe(ctx, req)
}

// schemaOf is the schema of rows. Text is plain: not all clients of Flight read dictionaries.
func schemaOf(columns []result.Column) *arrow.Schema {
	return arrow.SchemaOf(result.ArrowColumns(columns, nil, false))
}

// run runs a statement and sends its rows.
func (c *call) run(ctx context.Context, s *statement) (err error) {
	arrived := clock.Deadline(0)
	req, err := c.request(ctx, s)
	if err != nil {
		return err
	}
	ctx, done, err := query.Deadline(ctx, arrived, req.Context, c.api.o.DefaultTimeout, c.api.o.MaxTimeout)
	if err != nil {
		return err
	}
	defer done()
	ctx, q, err := c.api.running.Enter(ctx, query.Arrival{ID: req.ID, SQL: req.SQL, Identity: req.User, Context: req.Context})
	if err != nil {
		return err
	}
	defer func() {
		q.Wrote(c.stream.Sent())
		q.End(ctx, err)
	}()
	defer edge.Tie(ctx)()
	rows, err := c.api.engine.Start(ctx, q, req)
	if err != nil {
		return query.Cause(ctx, err)
	}
	defer rows.Close()
	out := newSender(c.stream, result.ArrowColumns(rows.Columns(), rows.Zone(), false), c.api.o.Clock)
	for {
		b, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return c.gone(ctx, out.Flush())
		}
		if err != nil {
			return query.Cause(ctx, err)
		}
		if err := out.Batch(b); err != nil {
			return c.gone(ctx, err)
		}
		if err := out.soon(); err != nil {
			return c.gone(ctx, err)
		}
	}
}

// gone is for rows that could not be sent: then the query may have ended in time.
func (c *call) gone(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ended := context.Cause(ctx); fault.Find(ended) != nil {
		return ended
	}
	return err
}

// sender sends batches as messages of Flight.
type sender struct {
	*arrow.Writer
	clock clock.Clock
	sent  time.Time
	send  func() error
}

// heldTime is how long rows wait for more.
const heldTime = 100 * time.Millisecond

func newSender(s *grpc.Stream, columns []arrow.Column, c clock.Clock) *sender {
	return &sender{Writer: arrow.NewWriter(columns, func(m *arrow.Message) error { return sendData(s, m) }), clock: c, send: s.Flush}
}

// soon sends rows that have waited long enough. It is asked once per batch.
func (s *sender) soon() error {
	now := s.clock.Now()
	if s.sent.IsZero() {
		s.sent = now
	}
	if now.Sub(s.sent) < heldTime {
		return nil
	}
	s.sent = now
	return errors.Join(s.Flush(), s.send())
}

// sendData sends a message as FlightData: its metadata in field 2, its body in field 1000.
func sendData(s *grpc.Stream, m *arrow.Message) error {
	var head message
	head.bytes(2, m.Metadata)
	if m.BodyLength == 0 {
		return s.Send(head)
	}
	head = appendBytesTag(head, 1000, m.BodyLength)
	return s.SendParts(len(head)+m.BodyLength, append([][]byte{head}, m.Padded()...)...)
}

// parametersOf makes values of the row of a batch.
func parametersOf(schema *arrow.Schema, b *arrow.Batch) ([]query.Parameter, error) {
	if b == nil || b.Rows == 0 {
		return nil, nil
	}
	if b.Rows > 1 {
		return nil, fault.Unsupported("The parameters have [%d] rows; a statement is run with one", b.Rows)
	}
	out := make([]query.Parameter, len(b.Columns))
	for i, column := range b.Columns {
		t := schema.Fields[i].Type
		value, err := json.Marshal(parameterValue(t, column.Value(0)))
		if err != nil {
			return nil, fault.InvalidInput("The value of parameter [%d] can't be read", i+1)
		}
		out[i] = query.Parameter{Type: parameterType(t), Value: value}
	}
	return out, nil
}

func parameterType(t *arrow.Type) string {
	switch t.Kind {
	case arrow.Bool:
		return "BOOLEAN"
	case arrow.Int:
		return "BIGINT"
	case arrow.Float:
		return "DOUBLE"
	case arrow.Decimal:
		return "DECIMAL"
	case arrow.Date:
		return "DATE"
	case arrow.Timestamp:
		return "TIMESTAMP"
	case arrow.Null:
		return "NULL"
	case arrow.List, arrow.LargeList, arrow.FixedList:
		return "ARRAY"
	}
	return "VARCHAR"
}

func parameterValue(t *arrow.Type, v any) any {
	switch x := v.(type) {
	case int64:
		if t.Kind == arrow.Date {
			return x / (24 * 60 * 60 * 1000)
		}
	case float32:
		return parameterValue(t, float64(x))
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return strconv.FormatFloat(x, 'g', -1, 64)
		}
		return x
	case arrow.Number:
		return json.Number(x)
	case []byte:
		return string(x)
	case *arrow.Members:
		object := map[string]any{}
		for i, name := range x.Names {
			object[name] = parameterValue(t, x.Values[i])
		}
		return object
	case []any:
		for i := range x {
			x[i] = parameterValue(t.Children[0].Type, x[i])
		}
	}
	return v
}
