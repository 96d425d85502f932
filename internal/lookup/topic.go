package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/kafka"
)

// topic reads a topic of Kafka as a table: the last value of each key. A record without a value
// deletes its key. It implements follower; marks are the positions behind what was read.
type topic struct{ config stream.Config }

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
	f := &factory{follower: t, period: topicPause, timeout: topicTimeout}
	if wire.Timeout > 0 {
		f.timeout = time.Duration(min(wire.Timeout, maxTimeoutSeconds*1000)) * time.Millisecond
	}
	return f, nil
}

// follow implements follower.
func (t *topic) follow(
	ctx context.Context, access *ingest.Access, last string, into func(anew bool) (set func(key string, value *string) error),
) (mark string, err error) {
	source, err := kafka.Open(t.config, access, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	at, ends, anew, err := t.begin(ctx, source, last)
	if err != nil {
		return "", shownTrouble(err)
	}
	reader, err := source.Open(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if err := reader.Assign(ctx, at); err != nil {
		return "", err
	}
	if err := read(ctx, source, reader, at, ends, anew, into(anew)); err != nil {
		return "", shownTrouble(err)
	}
	text, err := json.Marshal(at)
	return string(text), err
}

// begin returns where reading goes on, where the topic ends now, and whether the table begins anew.
func (t *topic) begin(ctx context.Context, source stream.Source, last string) (at, ends stream.Positions, anew bool, err error) {
	partitions, err := source.Partitions(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	if len(partitions) == 0 {
		return nil, nil, false, fault.Unavailable("Topic [%s] of a lookup has no partition: it is not there", t.config.Name)
	}
	if ends, err = source.Latest(ctx, partitions); err != nil {
		return nil, nil, false, err
	}
	starts, err := source.Earliest(ctx, partitions)
	if err != nil {
		return nil, nil, false, err
	}
	if last == "" {
		return starts, ends, true, nil
	}
	if err := json.Unmarshal([]byte(last), &at); err != nil {
		return nil, nil, false, err
	}
	for p, start := range starts {
		switch now, known := at[p]; {
		case !known:
			at[p] = start
		case source.Compare(now, ends[p]) > 0, source.Compare(now, start) < 0:
			return starts, ends, true, nil // the topic is another one, or its records are gone
		}
	}
	return at, ends, false, nil
}

// read reads from positions, which it moves, up to ends at least. Where nothing is new it waits for
// something, unless the table begins anew.
func read(
	ctx context.Context, source stream.Source, reader stream.Reader, at, ends stream.Positions, anew bool,
	set func(key string, value *string) error,
) error {
	behind := func() bool {
		for p, now := range at {
			if source.Compare(now, ends[p]) < 0 {
				return true
			}
		}
		return false
	}
	waits := !anew && !behind()
	for n := 0; waits || behind() && (anew || n < topicRecords); {
		batches, err := reader.Poll(ctx, topicWait)
		if err != nil {
			return err
		}
		if waits && len(batches) == 0 {
			return nil // nothing has come
		}
		waits = false
		for i := range batches {
			n += max(1, len(batches[i].Records))
			for k := range batches[i].Records {
				if err := apply(&batches[i].Records[k], set); err != nil {
					return err
				}
			}
			at[batches[i].Partition] = batches[i].Next
		}
	}
	return nil
}

// apply sets the key of a record. One without a key is of no key.
func apply(r *stream.Record, set func(key string, value *string) error) error {
	if r.Key == nil {
		return nil
	}
	if r.Value == nil {
		return set(string(r.Key), nil)
	}
	value := string(r.Value)
	return set(string(r.Key), &value)
}

// shownTrouble makes trouble of a connection a fault that users may see.
func shownTrouble(err error) error {
	if _, message := stream.ClassOf(err); message != "" && fault.Find(err) == nil {
		return fault.Unavailable("%s", message).WithCause(err)
	}
	return err
}
