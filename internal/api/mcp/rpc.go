package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/hengedb/henge/internal/fault"
)

// The codes of JSON-RPC, and the codes that the protocol adds.
const (
	codeParse           = -32700
	codeInvalid         = -32600
	codeUnknownMethod   = -32601
	codeParams          = -32602
	codeInternal        = -32603
	codeHeaderMismatch  = -32020
	codeUnknownProtocol = -32022
	codeCancelled       = -32800
)

// rpcError is why a message is not answered by a result.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error returns the message.
func (e *rpcError) Error() string { return e.Message }

func refuse(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// message is one that a client sends: a request, or without an id a notification.
type message struct {
	ID     json.RawMessage // as it was sent; nil: a notification
	Method string
	Params json.RawMessage
	// answers says that it answers a request of the server, which sends none.
	answers bool
}

// answer is what a request is answered with.
type answer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// maxID bounds an id, which is sent back and kept while its request runs.
const maxID = 256

// decode reads the body of a POST.
func decode(body []byte) (*message, *rpcError) {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		return nil, refuse(codeInvalid, "Batches are not taken: send one message at a time")
	}
	var wire struct {
		JSONRPC *string         `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if !json.Valid(body) {
		return nil, refuse(codeParse, "The body is not JSON")
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return nil, refuse(codeInvalid, "The body is not a message of JSON-RPC")
	}
	if wire.JSONRPC == nil || *wire.JSONRPC != "2.0" {
		return nil, refuse(codeInvalid, "Member [jsonrpc] of the message must be [2.0]")
	}
	if !goodID(wire.ID) {
		return nil, refuse(codeInvalid, "Member [id] of the message must be a string or a whole number of at most [%d] characters", maxID)
	}
	m := &message{ID: wire.ID, Params: wire.Params}
	switch {
	case wire.Method != nil && *wire.Method != "" && wire.Result == nil && wire.Error == nil:
		m.Method = *wire.Method
	case wire.Method == nil && wire.ID != nil && (wire.Result != nil) != (wire.Error != nil):
		m.answers = true
	default:
		return nil, refuse(codeInvalid, "The message has no method, or an answer beside it")
	}
	if p := bytes.TrimSpace(m.Params); len(p) > 0 && p[0] != '{' {
		return nil, refuse(codeParams, "Member [params] of the message must be an object")
	}
	return m, nil
}

func goodID(id json.RawMessage) bool {
	switch {
	case id == nil:
		return true
	case len(id) > maxID:
		return false
	case id[0] == '"':
		return true
	}
	_, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil
}

// read decodes parameters. Members that are not known are passed over, as the protocol grows, but
// not among the arguments of a tool, where one would be a limit that does not hold.
func (m *message) read(into any) *rpcError {
	if len(m.Params) == 0 {
		return nil
	}
	if err := json.Unmarshal(m.Params, into); err != nil {
		return refuse(codeParams, "The parameters of [%.100s] can't be read: %s", m.Method, fault.Words(err))
	}
	return nil
}
