package avatica

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// wire wraps a request in the message that drivers send.
func wire(name string, request []byte) []byte {
	var m message
	m.text(1, requestPrefix+name)
	m.element(2, request)
	return m
}

func TestReadProtobuf(t *testing.T) {
	var info, open message
	info.text(1, "user")
	info.text(2, "u")
	open.text(1, "c1")
	open.element(2, info)
	r, err := readProtobuf(wire("OpenConnectionRequest", open))
	if err != nil || r.Kind != "openConnection" || r.connection() != "c1" || r.Info["user"] != "u" {
		t.Errorf("%+v, %v", r, err)
	}
	var handle, long, execute message
	handle.text(1, "c2")
	handle.number(2, 7)
	long.number(1, 13)
	long = protowire.AppendVarint(protowire.AppendTag(long, 4, protowire.VarintType), protowire.EncodeZigZag(-5))
	execute.element(1, handle)
	execute.element(2, long)
	r, err = readProtobuf(wire("ExecuteRequest", execute))
	if err != nil || r.connection() != "c2" || r.statement() != 7 || len(r.Values) != 1 || string(r.Values[0].Value) != "-5" {
		t.Errorf("%+v, %v", r, err)
	}
	if id := ConnectionOf(ProtobufPath, wire("ExecuteRequest", execute)); id != "c2" {
		t.Errorf("connection %q", id)
	}
	if id := ConnectionOf(JSONPath, []byte(`{"request":"execute","statementHandle":{"connectionId":"c3","id":1}}`)); id != "c3" {
		t.Errorf("connection %q", id)
	}
	if _, err := readProtobuf(wire("NoRequest", nil)); err == nil {
		t.Error("an unknown request is read")
	}
}

func FuzzReadProtobuf(f *testing.F) {
	for name := range protobufRequests {
		f.Add(wire(name, []byte{10, 1, 'a', 16, 3, 26, 2, 8, 1}))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := readProtobuf(body)
		if err != nil {
			return
		}
		for _, v := range r.Values {
			if !json.Valid(v.Value) {
				t.Errorf("value %q of type %s is not valid JSON", v.Value, v.Type)
			}
		}
	})
}
