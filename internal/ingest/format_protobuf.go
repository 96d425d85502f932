package ingest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/avro"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
)

var protoDecoders = []string{"file", "inline", "schema_registry"}

// maxDescriptorBytes bounds a file of descriptors.
const maxDescriptorBytes = 16 << 20

func parseProtobuf(text json.RawMessage) (Format, error) {
	return parseMessageFormat("protobuf", "protoBytesDecoder", text, func(text json.RawMessage, o avro.Options) (openDecoder, error) {
		var w struct {
			Type       string `json:"type"`
			Descriptor string `json:"descriptor"`
			Inline     string `json:"descriptorString"`
			Message    string `json:"protoMessageType"`
		}
		if err := wire.Decode("protoBytesDecoder", text, &w); err != nil {
			return nil, err
		}
		switch w.Type {
		case "inline":
			data, err := base64.StdEncoding.DecodeString(w.Inline)
			if err != nil {
				return nil, wire.Invalid("protoBytesDecoder", "'descriptorString' is not base64")
			}
			return always(newProtoMessages(data, w.Message, o))
		case "file":
			return func(access *Access) (messageDecoder, error) {
				data, err := readDescriptor(access, w.Descriptor)
				if err != nil {
					return nil, err
				}
				return newProtoMessages(data, w.Message, o)
			}, nil
		case "schema_registry":
			return parseRegistry("protoBytesDecoder", text, func(schema registered, references []registered) (messageDecoder, error) {
				if schema.Type == jsonSchema {
					return &jsonMessages{}, nil
				}
				return registeredProto(schema, references, o)
			})
		}
		return nil, wire.UnknownType("protoBytesDecoder", w.Type, protoDecoders)
	})
}

func newProtoMessages(data []byte, message string, o avro.Options) (messageDecoder, error) {
	d, err := messageType(data, message)
	if err != nil {
		return nil, err
	}
	return &protoMessages{d, o.BinaryAsString}, nil
}

// readDescriptor reads a local file of descriptors, or .proto text, that inputs may come from.
func readDescriptor(access *Access, path string) ([]byte, error) {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "file://"), "file:")
	if path == "" || strings.Contains(path, "://") {
		return nil, wire.Invalid("protoBytesDecoder", "'descriptor' is the path of a local file")
	}
	if err := allowedLocal(access, path); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, localFault("Descriptor file", path, err)
	}
	if info.Size() > maxDescriptorBytes {
		return nil, fault.InvalidInput("Descriptor file [%s] is larger than [%d] bytes", path, maxDescriptorBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, localFault("Descriptor file", path, err)
	}
	return data, nil
}

// messageType finds a message in a FileDescriptorSet, or in .proto text. Without a name it is the
// first.
func messageType(data []byte, name string) (protoreflect.MessageDescriptor, error) {
	files, err := protoFiles(data)
	if err != nil {
		return nil, wire.Invalid("protoBytesDecoder", "the descriptor is not valid: %s", err)
	}
	var found protoreflect.MessageDescriptor
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Messages().Len() {
			m := f.Messages().Get(i)
			if name == "" || string(m.FullName()) == name || string(m.Name()) == name {
				found = m
				return false
			}
		}
		return true
	})
	if found == nil && name != "" {
		if d, err := files.FindDescriptorByName(protoreflect.FullName(name)); err == nil {
			found, _ = d.(protoreflect.MessageDescriptor)
		}
	}
	if found == nil {
		return nil, wire.Invalid("protoBytesDecoder", "the descriptor has no message '%s'", name)
	}
	return found, nil
}

func protoFiles(data []byte) (*protoregistry.Files, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(data, &set); err == nil && len(set.File) > 0 {
		return protodesc.NewFiles(&set)
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{"input.proto": string(data)}),
	})}
	compiled, err := compiler.Compile(context.Background(), "input.proto")
	if err != nil {
		return nil, err
	}
	files := &protoregistry.Files{}
	return files, files.RegisterFile(compiled[0])
}

// registeredProto decodes messages of a .proto file in a registry, which imports others.
func registeredProto(schema registered, references []registered, o avro.Options) (messageDecoder, error) {
	if schema.Type != "PROTOBUF" {
		return nil, errors.New("it is not of type PROTOBUF")
	}
	const main = "message.proto"
	sources := map[string]string{main: schema.Schema}
	for _, r := range references {
		sources[r.name] = r.Schema
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(sources)})}
	files, err := compiler.Compile(context.Background(), main)
	if err != nil {
		return nil, err
	}
	return &protoOfFile{messages: files[0].Messages(), binaryAsString: o.BinaryAsString}, nil
}

// protoOfFile decodes messages that say first which type of a file they are of: how many numbers
// follow, then those of the type and of the types that it is nested in, from the outside; 0 alone
// stands for the first type. Numbers are zigzag varints.
type protoOfFile struct {
	messages       protoreflect.MessageDescriptors
	binaryAsString bool
}

func (d *protoOfFile) Message(ctx context.Context, data []byte) (*record.Object, error) {
	number := func() (int, error) {
		v, n := protowire.ConsumeVarint(data)
		if n < 0 || v > 2*record.MaxFields || v&1 == 1 { // which would be below zero
			return 0, errors.New("the number of its type is damaged")
		}
		data = data[n:]
		return int(protowire.DecodeZigZag(v)), nil
	}
	depth, err := number()
	if err != nil {
		return nil, err
	}
	path := []int{0}
	if depth > 0 {
		path = nil
	}
	for range depth {
		at, err := number()
		if err != nil || len(path) > record.MaxDepth {
			return nil, errors.New("the number of its type is damaged")
		}
		path = append(path, at)
	}
	level, found := d.messages, protoreflect.MessageDescriptor(nil)
	for _, at := range path {
		if at < 0 || at >= level.Len() {
			return nil, errors.New("its type is not in the schema")
		}
		found = level.Get(at)
		level = found.Messages()
	}
	return (&protoMessages{found, d.binaryAsString}).Message(ctx, data)
}

// protoMessages decodes messages of one type. Fields have the names of the descriptor; those
// without a value are left out.
type protoMessages struct {
	descriptor     protoreflect.MessageDescriptor
	binaryAsString bool
}

func (d *protoMessages) Message(_ context.Context, data []byte) (*record.Object, error) {
	m := dynamicpb.NewMessage(d.descriptor)
	if err := (proto.UnmarshalOptions{RecursionLimit: record.MaxDepth}).Unmarshal(data, m); err != nil {
		return nil, err
	}
	return d.object(m), nil
}

func (d *protoMessages) object(m protoreflect.Message) *record.Object {
	o := &record.Object{}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.HasPresence() && !m.Has(f) {
			continue
		}
		o.Add(f.JSONName(), d.field(f, m.Get(f)))
	}
	return o
}

func (d *protoMessages) field(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch {
	case f.IsList():
		list := v.List()
		out := make([]any, list.Len())
		for i := range out {
			out[i] = d.value(f, list.Get(i))
		}
		return out
	case f.IsMap():
		o := &record.Object{}
		v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
			o.Add(k.String(), d.value(f.MapValue(), e))
			return true
		})
		sortMembers(o)
		return o
	}
	return d.value(f, v)
}

// sortMembers orders what came from a map, whose order is random.
func sortMembers(o *record.Object) {
	order := make([]int, len(o.Names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(o.Names[a], o.Names[b]) })
	sorted := &record.Object{}
	for _, i := range order {
		sorted.Add(o.Names[i], o.Values[i])
	}
	*o = *sorted
}

func (d *protoMessages) value(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch x := v.Interface().(type) {
	case bool, int64, float64, float32, string:
		return x
	case int32:
		return int64(x)
	case uint32:
		return int64(x)
	case uint64:
		if x < 1<<63 {
			return int64(x)
		}
		return record.Digits(v.String())
	case []byte:
		if d.binaryAsString {
			return string(x)
		}
		return slices.Clone(x)
	case protoreflect.EnumNumber:
		if e := f.Enum().Values().ByNumber(x); e != nil {
			return string(e.Name())
		}
		return int64(x)
	case protoreflect.Message:
		return d.known(x)
	}
	return nil
}

// known gives the well-known types what they stand for, as their JSON form does, and all others as
// objects.
func (d *protoMessages) known(m protoreflect.Message) any {
	fields := m.Descriptor().Fields()
	switch name := m.Descriptor().FullName(); name {
	case "google.protobuf.Timestamp":
		seconds, nanos := m.Get(fields.ByName("seconds")).Int(), m.Get(fields.ByName("nanos")).Int()
		return chrono.FormatMillis(seconds*1000+nanos/1_000_000, chrono.UTC)
	case "google.protobuf.BoolValue", "google.protobuf.StringValue", "google.protobuf.BytesValue", "google.protobuf.Int32Value", "google.protobuf.Int64Value",
		"google.protobuf.UInt32Value", "google.protobuf.UInt64Value", "google.protobuf.FloatValue", "google.protobuf.DoubleValue":
		f := fields.ByName("value")
		return d.value(f, m.Get(f))
	}
	return d.object(m)
}
