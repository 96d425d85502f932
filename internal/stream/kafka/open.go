package kafka

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/javaregex"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/stream"
)

// Source is a topic, or all topics whose names match a pattern. It implements stream.Source.
type Source struct {
	*cluster
	topic  string
	client *kgo.Client
	admin  *kadm.Client

	mu      sync.Mutex
	pattern *javaregex.LinePattern // nil: topic
}

// Open returns the source that config describes. It does not connect: methods of the source return
// an error if the brokers are unreachable. log receives warnings about unused properties.
func Open(config stream.Config, access *ingest.Access, log *slog.Logger) (*Source, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	var env secret.Environment
	if access != nil {
		env = access.Getenv
	}
	set, err := readSettings(config.Properties, env)
	if err != nil {
		return nil, err
	}
	for _, name := range set.unused {
		log.Warn("property of consumerProperties is ignored", "property", name)
	}
	s := &Source{topic: config.Name}
	if config.Pattern != "" {
		if s.pattern, err = javaregex.CompileLines(config.Pattern, "topicPattern", patternTime); err != nil {
			return nil, err
		}
	}
	if s.cluster, err = newCluster(set, access, log); err != nil {
		return nil, err
	}
	if s.client, err = s.cluster.client(); err != nil {
		return nil, err
	}
	s.admin = kadm.NewClient(s.client)
	return s, nil
}

// Check validates the settings without a connection.
func Check(config stream.Config, access *ingest.Access) error {
	s, err := Open(config, access, nil)
	if err != nil {
		return err
	}
	return s.Close()
}

// Close implements stream.Source.
func (s *Source) Close() error {
	s.client.Close()
	return nil
}

// Partitions implements stream.Source.
func (s *Source) Partitions(ctx context.Context) ([]stream.Partition, error) {
	ctx, cancel := context.WithTimeout(ctx, s.answer)
	defer cancel()
	var names []string
	if s.pattern == nil {
		names = []string{s.topic}
	}
	topics, err := s.metadata(ctx, s.client, names)
	if err != nil {
		return nil, err
	}
	var found []topicPartition
	for name, t := range topics {
		if ok, err := s.wants(name, t.internal); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		for number := range t.leaders {
			found = append(found, topicPartition{name, number})
		}
	}
	slices.SortFunc(found, func(a, b topicPartition) int {
		return cmp.Or(strings.Compare(a.topic, b.topic), cmp.Compare(a.number, b.number))
	})
	out := make([]stream.Partition, len(found))
	for i, p := range found {
		out[i] = s.partition(p)
	}
	return out, nil
}

// wants reports whether a topic is part of the source.
func (s *Source) wants(topic string, internal bool) (bool, error) {
	if s.pattern == nil {
		return topic == s.topic, nil
	}
	if internal && !s.internal {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	groups, err := s.pattern.Match(topic)
	return groups != nil, err
}

// topicPartition is a partition of a topic.
type topicPartition struct {
	topic  string
	number int32
}

// partition returns the name of a partition (docs/streaming.md).
func (s *Source) partition(p topicPartition) stream.Partition {
	number := strconv.FormatInt(int64(p.number), 10)
	if s.pattern == nil {
		return stream.Partition(number)
	}
	return stream.Partition(p.topic + ":" + number)
}

// topicPartition returns what a name stands for.
func (s *Source) topicPartition(p stream.Partition) (topicPartition, error) {
	topic, number := s.topic, string(p)
	if s.pattern != nil {
		at := strings.LastIndexByte(number, ':')
		if at < 0 {
			return topicPartition{}, fault.InvalidInput("Partition [%s] of a stream of several topics must be written as topic:number", p)
		}
		topic, number = number[:at], number[at+1:]
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 {
		return topicPartition{}, fault.InvalidInput("Partition [%s] of topic [%s] is not a number", p, topic)
	}
	return topicPartition{topic, int32(n)}, nil
}

// topic is what the brokers say of one.
type topic struct {
	id       [16]byte
	internal bool
	leaders  map[int32]leader
}

// leader is who leads a partition; node is -1 while nobody does.
type leader struct{ node, epoch int32 }

// metadata asks for topics; nil: all there are. Those that do not exist are not in the answer.
func (c *cluster) metadata(ctx context.Context, client *kgo.Client, names []string) (map[string]*topic, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	if names != nil {
		req.Topics = []kmsg.MetadataRequestTopic{}
	}
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = new(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, c.trouble("Timeout expired while fetching topic metadata", err)
	}
	out := map[string]*topic{}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil {
			continue
		}
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
			continue
		case err != nil && names == nil && !errors.Is(err, kerr.LeaderNotAvailable):
			continue // a topic that can't be seen is none that a pattern means
		case err != nil:
			return nil, c.trouble("Topic ["+*t.Topic+"] can't be read", err)
		}
		known := &topic{id: t.TopicID, internal: t.IsInternal, leaders: map[int32]leader{}}
		for _, p := range t.Partitions {
			l := leader{p.Leader, p.LeaderEpoch}
			if p.ErrorCode != 0 && !errors.Is(kerr.ErrorForCode(p.ErrorCode), kerr.ReplicaNotAvailable) {
				l.node = -1
			}
			known.leaders[p.Partition] = l
		}
		out[*t.Topic] = known
	}
	return out, nil
}
