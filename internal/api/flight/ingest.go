package flight

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hengedb/henge/internal/api/grpc"
	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/result"
)

// What happens if a datasource exists, or does not exist (TableDefinitionOptions).
const (
	missingFail   = 2
	existsFail    = 1
	existsReplace = 3
)

// ingestOptions are options of an ingestion that go to the endpoint of pushes.
var ingestOptions = []string{"ack", "onError", "timeColumn", "timeFormat"}

// ingest takes rows for a datasource, a batch at a time, each as one push.
func (c *call) ingest(ctx context.Context, first *data, in fields) error {
	if c.api.o.Ingest == nil {
		return fault.Unsupported("This process takes no rows")
	}
	table := in.text(2)
	if table == "" {
		return fault.InvalidInput("The ingestion names no table")
	}
	if err := noTransaction(in.bytes(6)); err != nil {
		return err
	}
	if in.number(5) != 0 {
		return &grpc.Error{Code: grpc.Unimplemented, Message: "Temporary tables are not supported"}
	}
	if err := c.checkTable(ctx, table, in.bytes(1)); err != nil {
		return err
	}
	options := url.Values{}
	for _, entry := range in[protowire.Number(1000)] {
		pair, err := read(entry.bytes)
		if err != nil {
			return err
		}
		if !slices.Contains(ingestOptions, pair.text(1)) {
			return fault.InvalidInput("Option [%.100s] of the ingestion is unknown; known are %q", pair.text(1), ingestOptions)
		}
		options.Set(pair.text(1), pair.text(2))
	}
	schema, _, err := c.decoder(first)
	if err != nil {
		return err
	}
	if name := timeColumn(schema); name != "" && options.Get("timeColumn") == "" {
		options.Set("timeColumn", name)
		options.Set("timeFormat", "millis")
	}
	rows, err := c.push(ctx, table, options, first)
	if err != nil {
		return err
	}
	var inner, out message
	inner.number(1, rows)
	out.bytes(1, inner)
	return c.stream.Send(out)
}

// timeColumn is the column that holds the time of rows, for a datasource that they make: __time, or
// else the first that holds instants; "": none does.
func timeColumn(s *arrow.Schema) string {
	first := ""
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Type.Kind != arrow.Timestamp {
			continue
		}
		if f.Name == "__time" {
			return f.Name
		}
		if first == "" {
			first = f.Name
		}
	}
	return first
}

// checkTable refuses an ingestion that wants the datasource to be there, or not to be.
func (c *call) checkTable(ctx context.Context, table string, wanted []byte) error {
	definition, err := read(wanted)
	if err != nil {
		return err
	}
	missing, exists := definition.number(1), definition.number(2)
	if exists == existsReplace {
		return &grpc.Error{Code: grpc.Unimplemented, Message: "Rows are not replaced by an ingestion; drop the datasource first"}
	}
	if missing != missingFail && exists != existsFail {
		return nil
	}
	value, _ := json.Marshal(table) // texts are JSON
	found, err := c.values(ctx, "SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = ? AND TABLE_TYPE = 'TABLE' "+
		"AND TABLE_SCHEMA NOT IN ('INFORMATION_SCHEMA', 'sys', 'lookup')", query.Parameter{Type: "VARCHAR", Value: value})
	if err != nil {
		return err
	}
	switch there := len(found) == 1 && found[0][0] != int64(0); {
	case there && exists == existsFail:
		return &grpc.Error{Code: grpc.AlreadyExists, Message: "Datasource [" + table + "] exists"}
	case !there && missing == missingFail:
		return &grpc.Error{Code: grpc.NotFound, Message: "Datasource [" + table + "] does not exist"}
	}
	return nil
}

// push sends the batches of a call on and returns how many rows were taken. Each is a stream of its
// own, with the dictionaries that came before it.
func (c *call) push(ctx context.Context, table string, options url.Values, first *data) (taken int64, err error) {
	var head bytes.Buffer
	frames := arrow.NewFramed(&head)
	if err := frames.Message(&arrow.Message{Metadata: padTo8(first.metadata)}); err != nil {
		return 0, err
	}
	for {
		next, err := c.recv()
		if errors.Is(err, io.EOF) {
			return taken, nil
		}
		if err != nil {
			return taken, err
		}
		if len(next.metadata) == 0 {
			continue
		}
		rows, err := arrow.IsBatch(next.metadata)
		if err != nil {
			return taken, err
		}
		part := &arrow.Message{Metadata: padTo8(next.metadata), Body: [][]byte{next.body}}
		if !rows { // a dictionary, for all batches from here on
			if int64(head.Len()+len(next.body)) > c.api.o.MaxRowsBytes {
				return taken, fault.ResourceLimit("The dictionaries of the rows have more than [%d] bytes; send them in parts", c.api.o.MaxRowsBytes)
			}
			if err := frames.Unpadded(part); err != nil {
				return taken, err
			}
			continue
		}
		var body bytes.Buffer
		body.Write(head.Bytes())
		one := arrow.NewFramed(&body)
		if err := errors.Join(one.Unpadded(part), one.End()); err != nil {
			return taken, err
		}
		n, err := c.send(ctx, table, options, body.Bytes())
		if taken += n; err != nil {
			if taken > 0 {
				return taken, fmt.Errorf("after [%d] rows that were taken: %w", taken, err)
			}
			return taken, err
		}
	}
}

// padTo8 pads metadata as streams have it.
func padTo8(metadata []byte) []byte {
	out := slices.Clone(metadata)
	for len(out)%8 != 0 {
		out = append(out, 0)
	}
	return out
}

// send sends a stream of rows to the endpoint of pushes.
func (c *call) send(ctx context.Context, table string, options url.Values, body []byte) (int64, error) {
	to := url.URL{Path: "/service/v2/ingest/" + table, RawQuery: options.Encode()}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return 0, fault.InvalidInput("Datasource [%s] can't have this name", table)
	}
	r.Header.Set("Content-Type", result.ArrowMedia)
	for _, name := range []string{"Authorization", "Cookie"} { // for the worker that takes the rows
		if values := c.who.header.Values(name); len(values) > 0 {
			r.Header[name] = values
		}
	}
	r.RemoteAddr = c.stream.Request().RemoteAddr
	answer := &recorder{header: http.Header{}}
	c.api.o.Ingest.ServeHTTP(answer, r)
	if answer.status == 0 || answer.status == http.StatusOK {
		var out struct {
			Rows int64 `json:"rows"`
		}
		if err := json.Unmarshal(answer.body.Bytes(), &out); err != nil {
			return 0, fault.Defensive("The answer of a push can't be read").WithCause(err)
		}
		return out.Rows, nil
	}
	var problem struct {
		ErrorMessage string `json:"errorMessage"`
		Error        string `json:"error"`
	}
	_ = json.Unmarshal(answer.body.Bytes(), &problem) // an answer without a reason has a status
	text := problem.ErrorMessage
	if text == "" {
		text = "The rows were refused with status [" + http.StatusText(answer.status) + "]"
	}
	return 0, &grpc.Error{Code: codeOfStatus(answer.status), Message: text}
}

func codeOfStatus(status int) grpc.Code {
	switch status {
	case http.StatusUnauthorized:
		return grpc.Unauthenticated
	case http.StatusForbidden:
		return grpc.PermissionDenied
	case http.StatusNotFound:
		return grpc.NotFound
	case http.StatusTooManyRequests, http.StatusRequestEntityTooLarge:
		return grpc.ResourceExhausted
	case http.StatusServiceUnavailable:
		return grpc.Unavailable
	case http.StatusNotImplemented:
		return grpc.Unimplemented
	}
	if status < http.StatusInternalServerError {
		return grpc.InvalidArgument
	}
	return grpc.Internal
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the headers of the response.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader records the status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write appends to the recorded body.
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
