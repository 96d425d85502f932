package avatica

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of fields are those of common.proto, requests.proto and responses.proto of Avatica.

// field is a field of a message: a number or bytes.
type field struct {
	number int32
	value  uint64
	bytes  []byte
}

// fieldsOf cuts a message into its fields; false: it is none.
func fieldsOf(message []byte) (out []field, ok bool) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, false
		}
		message = message[n:]
		f := field{number: int32(number)}
		switch kind {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			f.value, n = protowire.ConsumeFixed64(message)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(message)
			f.value = uint64(v)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return nil, false
		}
		message = message[n:]
		out = append(out, f)
	}
	return out, true
}

// requestPrefix begins the names of requests.
const requestPrefix = "org.apache.calcite.avatica.proto.Requests$"

// protobufRequests are the requests by the names of their messages.
var protobufRequests = map[string]struct {
	kind string
	read func(r *request, f field) bool
}{
	"OpenConnectionRequest":         {"openConnection", readOpen},
	"CloseConnectionRequest":        {"closeConnection", connectionAt(1)},
	"ConnectionSyncRequest":         {"connectionSync", readSync},
	"DatabasePropertyRequest":       {"databaseProperties", connectionAt(1)},
	"CatalogsRequest":               {"getCatalogs", connectionAt(1)},
	"TableTypesRequest":             {"getTableTypes", connectionAt(1)},
	"TypeInfoRequest":               {"getTypeInfo", connectionAt(1)},
	"SchemasRequest":                {"getSchemas", readSchemas},
	"TablesRequest":                 {"getTables", readTables},
	"ColumnsRequest":                {"getColumns", readColumns},
	"CreateStatementRequest":        {"createStatement", connectionAt(1)},
	"CloseStatementRequest":         {"closeStatement", readStatement},
	"PrepareRequest":                {"prepare", readPrepare},
	"PrepareAndExecuteRequest":      {"prepareAndExecute", readPrepareAndExecute},
	"ExecuteRequest":                {"execute", readExecute},
	"FetchRequest":                  {"fetch", readFetch},
	"SyncResultsRequest":            {"syncResults", readResume},
	"CommitRequest":                 {"commit", connectionAt(1)},
	"RollbackRequest":               {"rollback", connectionAt(1)},
	"PrepareAndExecuteBatchRequest": {"prepareAndExecuteBatch", connectionAt(1)},
	"ExecuteBatchRequest":           {"executeBatch", connectionAt(1)},
}

// readProtobuf reads a WireMessage with a request in it.
func readProtobuf(body []byte) (*request, error) {
	wrong := &refusal{"The request is not a valid Avatica message"}
	outer, ok := fieldsOf(body)
	if !ok {
		return nil, wrong
	}
	var name string
	var message []byte
	for _, f := range outer {
		switch f.number {
		case 1:
			name = string(f.bytes)
		case 2:
			message = f.bytes
		}
	}
	kind, ok := protobufRequests[strings.TrimPrefix(name, requestPrefix)]
	if !ok {
		return nil, &refusal{"Request [" + name + "] is unknown"}
	}
	fields, ok := fieldsOf(message)
	if !ok {
		return nil, wrong
	}
	r := &request{Kind: kind.kind}
	for _, f := range fields {
		if !kind.read(r, f) {
			return nil, wrong
		}
	}
	// Texts that were not given are empty, and flags say so; old drivers have no flags for them.
	return r, nil
}

func connectionAt(number int32) func(r *request, f field) bool {
	return func(r *request, f field) bool {
		if f.number == number {
			r.ConnectionID = string(f.bytes)
		}
		return true
	}
}

func readOpen(r *request, f field) bool {
	switch f.number {
	case 1:
		r.ConnectionID = string(f.bytes)
	case 2: // an entry of a map
		entry, ok := fieldsOf(f.bytes)
		var key, text string
		for _, e := range entry {
			switch e.number {
			case 1:
				key = string(e.bytes)
			case 2:
				text = string(e.bytes)
			}
		}
		if r.Info == nil {
			r.Info = map[string]string{}
		}
		r.Info[key] = text
		return ok
	}
	return true
}

func readSync(r *request, f field) bool {
	if f.number != 2 {
		return connectionAt(1)(r, f)
	}
	fields, ok := fieldsOf(f.bytes)
	p := &connectionProps{}
	var commit, only bool
	for _, x := range fields {
		text, yes := string(x.bytes), x.value != 0
		switch x.number {
		case 1:
			p.Dirty = yes
		case 2:
			commit = yes
		case 3:
			only = yes
		case 4:
			level := int32(x.value)
			p.Isolation = &level
		case 5:
			p.Catalog = &text
		case 6:
			p.Schema = &text
		case 7:
			p.AutoCommit = &commit
		case 8:
			p.ReadOnly = &only
		}
	}
	r.Props = p
	return ok
}

func readSchemas(r *request, f field) bool {
	text := string(f.bytes)
	switch f.number {
	case 1:
		r.Catalog = &text
	case 2:
		r.SchemaPattern = &text
	case 3:
		r.ConnectionID = text
	}
	return true
}

func readTables(r *request, f field) bool {
	text := string(f.bytes)
	switch f.number {
	case 1:
		r.Catalog = &text
	case 2:
		r.SchemaPattern = &text
	case 3:
		r.TablePattern = &text
	case 4:
		r.Types = append(r.Types, text)
	case 7:
		r.ConnectionID = text
	}
	return true
}

func readColumns(r *request, f field) bool {
	text := string(f.bytes)
	switch f.number {
	case 1:
		r.Catalog = &text
	case 2:
		r.SchemaPattern = &text
	case 3:
		r.TablePattern = &text
	case 4:
		r.ColumnPattern = &text
	case 5:
		r.ConnectionID = text
	}
	return true
}

func readStatement(r *request, f field) bool {
	if f.number == 2 {
		r.StatementID = int32(f.value)
		return true
	}
	return connectionAt(1)(r, f)
}

func readPrepare(r *request, f field) bool {
	switch f.number {
	case 2:
		r.SQL = string(f.bytes)
	case 3:
		r.MaxRowCount = number(f)
	case 4:
		r.MaxRowsTotal = number(f)
	default:
		return connectionAt(1)(r, f)
	}
	return true
}

func readPrepareAndExecute(r *request, f field) bool {
	switch f.number {
	case 2:
		r.SQL = string(f.bytes)
	case 3:
		r.MaxRowCount = number(f)
	case 4:
		r.StatementID = int32(f.value)
	case 5:
		r.MaxRowsTotal = number(f)
	case 6:
		r.FirstFrameSize = number(f)
	default:
		return connectionAt(1)(r, f)
	}
	return true
}

func number(f field) *int64 {
	n := int64(f.value)
	return &n
}

func readFetch(r *request, f field) bool {
	switch f.number {
	case 2:
		r.StatementID = int32(f.value)
	case 3:
		r.Offset = int64(f.value)
	case 4:
		if f.value != 0 {
			r.FetchRows = number(f)
		}
	case 5:
		r.FrameSize = number(f)
	default:
		return connectionAt(1)(r, f)
	}
	return true
}

func readResume(r *request, f field) bool {
	switch f.number {
	case 2:
		r.StatementID = int32(f.value)
	case 3:
		fields, ok := fieldsOf(f.bytes)
		r.State = &state{}
		for _, x := range fields {
			if x.number == 2 {
				r.State.SQL = string(x.bytes)
			}
		}
		return ok
	case 4:
		r.Offset = int64(f.value)
	default:
		return connectionAt(1)(r, f)
	}
	return true
}

func readExecute(r *request, f field) bool {
	switch f.number {
	case 1:
		fields, ok := fieldsOf(f.bytes)
		r.Handle = &handle{}
		for _, x := range fields {
			switch x.number {
			case 1:
				r.Handle.ConnectionID = string(x.bytes)
			case 2:
				r.Handle.ID = int32(x.value)
			}
		}
		return ok
	case 2:
		v, ok := typedValue(f.bytes)
		r.Values = append(r.Values, v)
		return ok
	case 3:
		if f.value != 0 && r.FirstFrameSize == nil {
			r.RowsInFirstFrame = number(f)
		}
	case 5:
		r.FirstFrameSize = number(f)
	}
	return true
}

// reps are the representations of values by their numbers.
var reps = map[uint64]string{
	0: "PRIMITIVE_BOOLEAN", 1: "PRIMITIVE_BYTE", 2: "PRIMITIVE_CHAR", 3: "PRIMITIVE_SHORT", 4: "PRIMITIVE_INT", 5: "PRIMITIVE_LONG",
	6: "PRIMITIVE_FLOAT", 7: "PRIMITIVE_DOUBLE", 8: "BOOLEAN", 9: "BYTE", 10: "CHARACTER", 11: "SHORT", 12: "INTEGER", 13: "LONG",
	14: "FLOAT", 15: "DOUBLE", 16: "JAVA_SQL_TIME", 17: "JAVA_SQL_TIMESTAMP", 18: "JAVA_SQL_DATE", 19: "JAVA_UTIL_DATE",
	20: "BYTE_STRING", 21: "STRING", 22: "NUMBER", 23: "OBJECT", 24: "NULL", 25: "BIG_INTEGER", 26: "BIG_DECIMAL", 27: "ARRAY",
	28: "STRUCT", 29: "MULTISET",
}

// maxNesting bounds arrays within arrays.
const maxNesting = 32

// typedValue reads the value of a parameter.
func typedValue(message []byte) (value, bool) { return nestedValue(message, 0) }

func nestedValue(message []byte, depth int) (value, bool) {
	fields, ok := fieldsOf(message)
	if !ok || depth > maxNesting {
		return value{}, false
	}
	rep, null := uint64(0), false
	var text []byte
	var long int64
	var double float64
	truth := false
	list := []json.RawMessage{}
	for _, f := range fields {
		switch f.number {
		case 1:
			rep = f.value
		case 2:
			truth = f.value != 0
		case 3:
			text = f.bytes
		case 4:
			long = protowire.DecodeZigZag(f.value)
		case 6:
			double = math.Float64frombits(f.value)
		case 7, 10:
			null = null || f.value != 0
		case 8:
			v, ok := nestedValue(f.bytes, depth+1)
			if !ok {
				return value{}, false
			}
			list = append(list, v.Value)
		}
	}
	out := value{Type: reps[rep], Value: json.RawMessage("null")}
	if null || rep == 24 {
		return out, true
	}
	switch out.Type {
	case "PRIMITIVE_BOOLEAN", "BOOLEAN":
		out.Value = strconv.AppendBool(nil, truth)
	case "STRING", "BIG_DECIMAL", "BIG_INTEGER", "CHARACTER", "PRIMITIVE_CHAR", "OBJECT":
		out.Value, _ = json.Marshal(string(text)) // texts are JSON
	case "FLOAT", "PRIMITIVE_FLOAT":
		out.Value = finite(float64(math.Float32frombits(uint32(long))))
	case "DOUBLE", "PRIMITIVE_DOUBLE":
		out.Value = finite(double)
	case "ARRAY":
		out.Value, _ = json.Marshal(list) // of JSON values
	default:
		out.Value = strconv.AppendInt(nil, long, 10)
	}
	return out, true
}

// finite is a number in JSON, or text where there is none.
func finite(x float64) json.RawMessage {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return json.RawMessage(strconv.Quote(strconv.FormatFloat(x, 'g', -1, 64)))
	}
	return strconv.AppendFloat(nil, x, 'g', -1, 64)
}
