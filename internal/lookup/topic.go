package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/kafka"
)

// topicPeriod is how often a topic is looked at: what is produced is in its lookup that much later.
const topicPeriod = time.Second

// topic reads a topic of Kafka as a table: the last value of each key. A record without a value
// deletes its key. What was read is kept, and the next reading goes on from there.
type topic struct {
	config stream.Config

	entries map[string]string
	at      stream.Positions
	version int // of entries
}

func parseTopic(text json.RawMessage) (*factory, error) {
	var wire struct {
		Topic      string                     `json:"kafkaTopic"`
		Properties map[string]json.RawMessage `json:"kafkaProperties"`
		Timeout    int64                      `json:"connectTimeout"`
	}
	if err := jsontext.Read(text, &wire); err != nil {
		return nil, unreadable("lookupExtractorFactory of type [kafka]", err)
	}
	if wire.Topic == "" {
		return nil, fault.InvalidInput("A lookup of type [kafka] needs a [kafkaTopic]")
	}
	if len(wire.Properties) == 0 {
		return nil, fault.InvalidInput("A lookup of type [kafka] needs [kafkaProperties] with [bootstrap.servers]")
	}
	t := &topic{config: stream.Config{Type: "kafka", Name: wire.Topic, Properties: wire.Properties}}
	f := &factory{source: t, period: topicPeriod, timeout: topicTimeout}
	if wire.Timeout > 0 {
		f.timeout = time.Duration(min(wire.Timeout, maxTimeoutSeconds*1000)) * time.Millisecond
	}
	return f, nil
}

// read implements source. The mark is the version of the entries.
func (t *topic) read(
	ctx context.Context, access *ingest.Access, last string, add func(key, value string) error,
) (changed bool, mark string, err error) {
	if err := t.update(ctx, access); err != nil {
		return false, "", err
	}
	if mark = strconv.Itoa(t.version); mark == last {
		return false, mark, nil
	}
	for key, value := range t.entries {
		if err := add(key, value); err != nil {
			return false, "", err
		}
	}
	return true, mark, nil
}

// update reads what was produced since the last reading, up to the end that there is now.
func (t *topic) update(ctx context.Context, access *ingest.Access) (err error) {
	source, err := kafka.Open(t.config, access, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	partitions, err := source.Partitions(ctx)
	if err != nil {
		return shownTrouble(err)
	}
	if len(partitions) == 0 {
		return fault.Unavailable("Topic [%s] of a lookup has no partition: it is not there", t.config.Name)
	}
	ends, err := source.Latest(ctx, partitions)
	if err != nil {
		return shownTrouble(err)
	}
	starts, err := source.Earliest(ctx, partitions)
	if err != nil {
		return shownTrouble(err)
	}
	at, anew := maps.Clone(t.at), t.at == nil
	for p, start := range starts {
		now, known := at[p]
		if known && (source.Compare(now, ends[p]) > 0 || source.Compare(now, start) < 0) {
			anew = true // the topic is another one, or its records are gone
		}
		if !known && at != nil {
			at[p] = start
		}
	}
	entries := map[string]string{}
	if anew {
		at = starts
	} else {
		maps.Copy(entries, t.entries)
	}
	moved := anew
	wanted := stream.Positions{}
	for p, end := range ends {
		if source.Compare(at[p], end) < 0 {
			wanted[p] = at[p]
		}
	}
	if len(wanted) > 0 {
		if err := t.follow(ctx, source, wanted, ends, entries); err != nil {
			return shownTrouble(err)
		}
		maps.Copy(at, wanted)
		moved = true
	}
	t.at = at
	if moved {
		t.entries = entries
		t.version++
	}
	return nil
}

// follow reads from positions, which it moves, to ends.
func (t *topic) follow(ctx context.Context, source stream.Source, at, ends stream.Positions, entries map[string]string) (err error) {
	reader, err := source.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if err := reader.Assign(ctx, at); err != nil {
		return err
	}
	behind := func() bool {
		for p, now := range at {
			if source.Compare(now, ends[p]) < 0 {
				return true
			}
		}
		return false
	}
	for behind() {
		batches, err := reader.Poll(ctx, topicPeriod)
		if err != nil {
			return err
		}
		for i := range batches {
			for k := range batches[i].Records {
				r := &batches[i].Records[k]
				switch {
				case r.Key == nil:
				case r.Value == nil:
					delete(entries, string(r.Key))
				default:
					entries[string(r.Key)] = string(r.Value)
				}
			}
			at[batches[i].Partition] = batches[i].Next
		}
	}
	return nil
}

// shownTrouble makes trouble of a connection a fault that users may see.
func shownTrouble(err error) error {
	if _, message := stream.ClassOf(err); message != "" && fault.Find(err) == nil {
		return fault.Unavailable("%s", message).WithCause(err)
	}
	return err
}
