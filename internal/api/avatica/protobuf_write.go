package avatica

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// answerProtobuf answers a request in protobuf.
func (a *API) answerProtobuf(w http.ResponseWriter, r *http.Request) error {
	return a.answer(w, r, "application/octet-stream;charset=utf-8", readProtobuf,
		func(out response) ([]byte, error) { return appendResponse(nil, out) })
}

// message gathers fields. Those that are 0 or empty are left out, as proto3 has it.
type message []byte

func (m *message) number(field protowire.Number, v int64) {
	if v != 0 {
		*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
	}
}

func (m *message) flag(field protowire.Number, v bool) {
	if v {
		m.number(field, 1)
	}
}

func (m *message) text(field protowire.Number, v string) {
	if v != "" {
		m.element(field, []byte(v))
	}
}

func (m *message) optional(field protowire.Number, v *string) {
	if v != nil {
		m.text(field, *v)
	}
}

// element appends bytes also where there are none: it is one of several, or says that it is there.
func (m *message) element(field protowire.Number, v []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), v)
}

// metadata appends what goes with every answer.
func (m *message) metadata(field protowire.Number, v *metadata) {
	if v != nil {
		var of message
		of.text(1, v.Address)
		m.element(field, of)
	}
}

// responsePrefix begins the names of responses.
const responsePrefix = "org.apache.calcite.avatica.proto.Responses$"

// plainNames are the names of the messages of answers that say only that something was done.
var plainNames = map[string]string{
	"openConnection": "OpenConnectionResponse", "closeConnection": "CloseConnectionResponse", "closeStatement": "CloseStatementResponse",
	"commit": "CommitResponse", "rollback": "RollbackResponse",
}

// appendResponse appends a WireMessage with an answer in it.
func appendResponse(dst []byte, r response) ([]byte, error) {
	var m message
	name := ""
	var err error
	switch x := r.(type) {
	case *plain:
		name = plainNames[x.Kind]
		m.metadata(1, x.Metadata)
	case *synced:
		name = "ConnectionSyncResponse"
		m.element(1, propsMessage(x.Props))
		m.metadata(2, x.Metadata)
	case *properties:
		name = "DatabasePropertyResponse"
		m.metadata(2, x.Metadata)
	case *created:
		name = "CreateStatementResponse"
		m.text(1, x.ConnectionID)
		m.number(2, int64(x.StatementID))
		m.metadata(3, x.Metadata)
	case *prepared:
		name = "PrepareResponse"
		var h message
		h.text(1, x.Statement.ConnectionID)
		h.number(2, int64(x.Statement.ID))
		h.element(3, signatureMessage(x.Statement.Signature))
		m.element(1, h)
		m.metadata(2, x.Metadata)
	case *executed:
		name = "ExecuteResponse"
		for _, set := range x.Results {
			var of message
			if of, err = resultMessage(set); err != nil {
				return nil, err
			}
			m.element(1, of)
		}
		m.flag(2, x.Missing)
		m.metadata(3, x.Metadata)
	case *resultSet:
		name = "ResultSetResponse"
		m, err = resultMessage(x)
	case *fetched:
		name = "FetchResponse"
		if x.Frame != nil {
			var of message
			of, err = frameMessage(x.Frame)
			m.element(1, of)
		}
		m.flag(2, x.MissingStatement)
		m.flag(3, x.MissingResults)
		m.metadata(4, x.Metadata)
	case *resumed:
		name = "SyncResultsResponse"
		m.flag(1, x.MissingStatement)
		m.flag(2, x.More)
		m.metadata(3, x.Metadata)
	case *failure:
		name = "ErrorResponse"
		failureFields(&m, x)
	default:
		return nil, fmt.Errorf("an answer of type %T has no message", r)
	}
	if err != nil {
		return nil, err
	}
	outer := message(dst)
	outer.text(1, responsePrefix+name)
	outer.element(2, m)
	return outer, nil
}

// severities are the numbers of severities.
var severities = map[string]int64{"FATAL": 1, "ERROR": 2, "WARNING": 3}

func failureFields(m *message, x *failure) {
	for _, text := range x.Exceptions {
		m.element(1, []byte(text))
	}
	m.optional(2, x.Message)
	m.number(3, severities[x.Severity])
	m.number(4, int64(x.Code))
	m.text(5, x.State)
	m.metadata(6, x.Metadata)
	m.flag(7, len(x.Exceptions) > 0)
}

func propsMessage(p *connectionProps) message {
	var m message
	m.flag(1, p.Dirty)
	m.flag(2, *p.AutoCommit)
	m.flag(3, *p.ReadOnly)
	m.number(4, int64(*p.Isolation))
	m.optional(5, p.Catalog)
	m.optional(6, p.Schema)
	m.flag(7, true)
	m.flag(8, true)
	return m
}

func resultMessage(x *resultSet) (message, error) {
	var m message
	m.text(1, x.ConnectionID)
	m.number(2, int64(x.StatementID))
	m.flag(3, x.Own)
	m.element(4, signatureMessage(x.Signature))
	if x.First != nil {
		first, err := frameMessage(x.First)
		if err != nil {
			return nil, err
		}
		m.element(5, first)
	}
	m.number(6, x.Updates)
	m.metadata(7, x.Metadata)
	return m, nil
}

// styles are the numbers of the styles of cursors.
var styles = map[string]int64{styleArray: 3, styleList: 4}

func signatureMessage(s *signature) message {
	var m message
	for i := range s.Columns {
		m.element(1, columnMessage(&s.Columns[i]))
	}
	m.optional(2, s.SQL)
	for i := range s.Parameters {
		p := &s.Parameters[i]
		var of message
		of.flag(1, p.Signed)
		of.number(2, int64(p.Precision))
		of.number(3, int64(p.Scale))
		of.number(4, int64(p.Type))
		of.text(5, p.TypeName)
		of.text(6, p.ClassName)
		of.text(7, p.Name)
		m.element(3, of)
	}
	var style message
	style.number(1, styles[s.CursorFactory.Style])
	m.element(4, style)
	return m // the type of the statement, SELECT, is 0
}

func columnMessage(c *column) message {
	var m message
	m.number(1, int64(c.Ordinal))
	m.flag(2, c.AutoIncrement)
	m.flag(3, c.CaseSensitive)
	m.flag(4, c.Searchable)
	m.flag(5, c.Currency)
	m.number(6, int64(c.Nullable))
	m.flag(7, c.Signed)
	m.number(8, int64(c.DisplaySize))
	m.text(9, c.Label)
	m.text(10, c.ColumnName)
	m.optional(11, c.SchemaName)
	m.number(12, int64(c.Precision))
	m.number(13, int64(c.Scale))
	m.optional(14, c.TableName)
	m.optional(15, c.CatalogName)
	m.flag(16, c.ReadOnly)
	m.flag(17, c.Writable)
	m.flag(18, c.DefinitelyWritable)
	m.text(19, c.ClassName)
	m.element(20, typeMessage(&c.Type))
	return m
}

// repNumbers are the numbers of representations.
var repNumbers = func() map[string]int64 {
	out := map[string]int64{}
	for n, name := range reps {
		out[name] = int64(n)
	}
	return out
}()

func typeMessage(t *typeOf) message {
	var m message
	m.number(1, int64(t.ID))
	m.text(2, t.Name)
	m.number(3, repNumbers[t.Rep])
	if t.Component != nil {
		m.element(5, typeMessage(t.Component))
	}
	return m
}

// frameMessage makes a message of rows that are JSON.
func frameMessage(f *frame) (message, error) {
	var m message
	m.number(1, f.Offset)
	m.flag(2, f.Done)
	dec := json.NewDecoder(bytes.NewReader(f.Rows))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("reading the rows of a frame: %w", err)
	}
	for dec.More() {
		var row []any
		if err := dec.Decode(&row); err != nil {
			return nil, fmt.Errorf("reading a row of a frame: %w", err)
		}
		var of message
		for i, v := range row {
			of.element(1, cellMessage(v, i < len(f.columns) && f.columns[i].Type.small()))
		}
		m.element(3, of)
	}
	return m, nil
}

// cellMessage is the value of a column: a scalar or a list. Numbers of small types are INTEGER.
func cellMessage(v any, small bool) message {
	var m message
	list, ok := v.([]any)
	if !ok {
		m.element(4, valueMessage(v, small))
		return m
	}
	for _, x := range list {
		m.element(2, valueMessage(x, small))
	}
	m.flag(3, true)
	return m
}

// valueMessage is a TypedValue of a JSON value.
func valueMessage(v any, small bool) message {
	var m message
	switch x := v.(type) {
	case nil:
		m.number(1, repNumbers["NULL"])
		m.flag(7, true)
	case bool:
		m.number(1, repNumbers["BOOLEAN"])
		m.flag(2, x)
	case string:
		m.number(1, repNumbers["STRING"])
		m.text(3, x)
	case json.Number:
		if n, err := strconv.ParseInt(x.String(), 10, 64); err == nil {
			rep := "LONG"
			if small {
				rep = "INTEGER"
			}
			m.number(1, repNumbers[rep])
			if n != 0 {
				m = protowire.AppendVarint(protowire.AppendTag(m, 4, protowire.VarintType), protowire.EncodeZigZag(n))
			}
			return m
		}
		d, _ := x.Float64() // numbers of JSON are such, or infinite
		m.number(1, repNumbers["DOUBLE"])
		m = protowire.AppendFixed64(protowire.AppendTag(m, 6, protowire.Fixed64Type), math.Float64bits(d))
	case []any:
		m.number(1, repNumbers["ARRAY"])
		for _, e := range x {
			m.element(8, valueMessage(e, small))
		}
	default:
		m.number(1, repNumbers["STRING"])
		text, _ := json.Marshal(x) // objects of JSON
		m.text(3, string(text))
	}
	return m
}
