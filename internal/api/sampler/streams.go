package sampler

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/stream"
)

// streamed is a stream of which a sample is taken.
type streamed struct {
	config   stream.Config
	format   ingest.Format
	earliest bool
}

// streamWire are the members of an ioConfig that a sample of a stream is taken by.
type streamWire struct {
	Topic      *string                    `json:"topic"`
	Pattern    *string                    `json:"topicPattern"`
	Stream     *string                    `json:"stream"`
	Properties map[string]json.RawMessage `json:"consumerProperties"`
	Format     json.RawMessage            `json:"inputFormat"`
	Offset     bool                       `json:"useEarliestOffset"`
	Sequence   bool                       `json:"useEarliestSequenceNumber"`
}

// streamSpec are the parts of the specification of a supervisor: in [spec], or at the top.
type streamSpec struct {
	Spec       json.RawMessage `json:"spec"`
	DataSchema json.RawMessage `json:"dataSchema"`
	IOConfig   json.RawMessage `json:"ioConfig"`
}

// parseStream reads what is sampled of a stream.
func (r *request) parseStream(kind string, text json.RawMessage) error {
	var parts streamSpec
	if err := jsontext.Read(text, &parts); err != nil {
		return fault.Malformed("[spec] is not readable: %s", fault.JSONProblem(err))
	}
	if !isNull(parts.Spec) {
		within := parts.Spec
		parts = streamSpec{}
		if err := jsontext.Read(within, &parts); err != nil {
			return fault.Malformed("[spec.spec] is not readable: %s", fault.JSONProblem(err))
		}
	}
	if isNull(parts.IOConfig) {
		return fault.InvalidInput("[spec.ioConfig] is required")
	}
	var w streamWire
	if err := jsontext.Read(parts.IOConfig, &w); err != nil {
		return fault.Malformed("[spec.ioConfig] is not readable: %s", fault.JSONProblem(err))
	}
	s := &streamed{earliest: w.Offset || w.Sequence}
	s.config = stream.Config{Type: kind, Properties: w.Properties, IO: parts.IOConfig, Committed: true}
	name := w.Topic
	if name == nil {
		name = w.Stream
	}
	switch {
	case kind == "kafka" && name == nil && w.Pattern == nil:
		return fault.InvalidInput("Either topic or topicPattern must be specified")
	case kind == "kafka" && name != nil && w.Pattern != nil:
		return fault.InvalidInput("Only one of topic [%s] or topicPattern [%s] must be specified", *name, *w.Pattern)
	case name == nil && w.Pattern == nil:
		return fault.InvalidInput("[spec.ioConfig.stream] is required")
	case name != nil:
		s.config.Name = *name
	default:
		s.config.Pattern = *w.Pattern
	}
	if isNull(w.Format) {
		return fault.InvalidInput("[spec.ioConfig.inputFormat] is required: inputFormat required for streams")
	}
	var err error
	if s.format, err = ingest.ParseFormat(w.Format); err != nil {
		return err
	}
	if r.format, err = json.Marshal(ingest.ValueFormat(s.format)); err != nil {
		return err
	}
	r.stream = s
	return r.parseSchema(parts.DataSchema)
}

// pollTime is how long one poll waits.
const pollTime = 100 * time.Millisecond

// readStream takes records of a stream until there are enough. One that is read from its beginning
// is left when all that it had was read; else records are waited for.
func (s *sample) readStream(ctx context.Context) error {
	unable := func(err error) error {
		if f := fault.Find(err); f != nil {
			return fault.InvalidInput("Unable to create RecordSupplier: %s", f.Message).WithCause(err)
		}
		if _, message := stream.ClassOf(err); message != "" {
			return fault.InvalidInput("Unable to create RecordSupplier: %s", message).WithCause(err)
		}
		return err
	}
	source, err := s.api.o.OpenStream(ctx, s.stream.config)
	if err != nil {
		return unable(err)
	}
	defer func() { _ = source.Close() }() // it was only read
	partitions, err := source.Partitions(ctx)
	if err != nil {
		return unable(err)
	}
	if len(partitions) == 0 {
		return fault.InvalidInput("Stream [%s%s] has no partition: it is not there", s.stream.config.Name, s.stream.config.Pattern)
	}
	ends, err := source.Latest(ctx, partitions)
	if err != nil {
		return unable(err)
	}
	starts := ends
	if s.stream.earliest {
		if starts, err = source.Earliest(ctx, partitions); err != nil {
			return unable(err)
		}
	}
	reader, err := source.Open(ctx)
	if err != nil {
		return unable(err)
	}
	defer func() { _ = reader.Close() }() // likewise
	if err := reader.Assign(ctx, starts); err != nil {
		return unable(err)
	}
	messages, err := ingest.NewMessageReader(s.stream.format, &ingest.Options{Access: s.api.o.Access})
	if err != nil {
		return err
	}
	at := maps.Clone(starts)
	behind := func() bool {
		for p, end := range ends {
			if source.Compare(at[p], end) < 0 {
				return true
			}
		}
		return false
	}
	for !s.full() && (!s.stream.earliest || behind()) {
		batches, err := reader.Poll(ctx, pollTime)
		if err != nil {
			return unable(err)
		}
		for i := range batches {
			at[batches[i].Partition] = batches[i].Next
			if err := s.takeMessages(ctx, messages, batches[i].Records); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeMessages makes entries of records until there are enough.
func (s *sample) takeMessages(ctx context.Context, messages *ingest.MessageReader, records []stream.Record) error {
	var found []entry
	for i := range records {
		list, err := messages.Read(ctx, &records[i])
		if err != nil {
			return err
		}
		for k := range list {
			e := s.message(messages, &list[k])
			if found = append(found, e); e.input != nil {
				s.bytes += int64(len(record.AppendJSON(nil, e.input)))
			}
		}
		if len(s.entries)+len(found) >= s.limits.rows || s.full() {
			found = found[:min(len(found), s.limits.rows-len(s.entries))]
			kept, err := s.filter(context.WithoutCancel(ctx), found)
			if err != nil {
				return err
			}
			if s.entries, found = append(s.entries, kept...), nil; s.full() {
				return nil
			}
		}
	}
	kept, err := s.filter(context.WithoutCancel(ctx), found)
	s.entries = append(s.entries, kept...)
	return err
}

// message makes an entry of a message.
func (s *sample) message(messages *ingest.MessageReader, m *ingest.Message) entry {
	where := " (Record: " + string(record.AppendText(nil, m.Number)) + ")"
	if m.Object == nil {
		if m.Reason == ingest.EmptyMessage {
			return entry{error: "Unable to parse [] as the intermediateRow resulted in empty input row" + where}
		}
		return entry{error: "Unable to parse row [" + messages.ParseError(m).Row + "]" + where}
	}
	discover := s.schema.Dimensions.Discover
	e := entry{input: messages.Input(m), flat: messages.Reach(m), narrow: messages.Flatten(m, discover)}
	if !discover && spec.DropsNulls(s.format) {
		e.narrow = withoutNulls(e.narrow)
	}
	var problem string
	if e.time, problem = s.schema.Time.Of(e.flat, e.narrow); problem != "" {
		e.error = problem + where
	}
	return e
}
