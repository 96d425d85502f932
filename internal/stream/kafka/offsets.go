package kafka

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/hengedb/henge/internal/stream"
)

// Earliest implements stream.Source.
func (s *Source) Earliest(ctx context.Context, partitions []stream.Partition) (stream.Positions, error) {
	return s.offsets(ctx, partitions, s.admin.ListStartOffsets)
}

// Latest implements stream.Source.
func (s *Source) Latest(ctx context.Context, partitions []stream.Partition) (stream.Positions, error) {
	if s.uncommitted {
		return s.offsets(ctx, partitions, s.admin.ListEndOffsets)
	}
	return s.offsets(ctx, partitions, s.admin.ListCommittedOffsets)
}

// lister asks for one kind of offset of all partitions of topics.
type lister func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)

// offsets returns those of the partitions that there are.
func (s *Source) offsets(ctx context.Context, partitions []stream.Partition, list lister) (stream.Positions, error) {
	ctx, cancel := context.WithTimeout(ctx, s.answer)
	defer cancel()
	out := stream.Positions{}
	positions := map[stream.Partition]topicPartition{}
	var topics []string
	for _, p := range partitions {
		at, err := s.topicPartition(p)
		if err != nil {
			return nil, err
		}
		if positions[p] = at; !slices.Contains(topics, at.topic) {
			topics = append(topics, at.topic)
		}
	}
	if len(topics) == 0 {
		return out, nil
	}
	const doing = "Timeout expired while fetching offsets"
	listed, err := list(ctx, topics...)
	if err != nil && len(listed) == 0 {
		return nil, s.trouble(doing, err)
	}
	for p, at := range positions {
		offset, ok := listed.Lookup(at.topic, at.number)
		switch {
		case !ok && err != nil:
			return nil, s.trouble(doing, err)
		case !ok, errors.Is(offset.Err, kerr.UnknownTopicOrPartition), errors.Is(offset.Err, kerr.UnknownTopicID):
			continue
		case offset.Err != nil:
			return nil, s.trouble("The offsets of partition ["+string(p)+"] are not known", offset.Err)
		}
		out[p] = position(offset.Offset)
	}
	return out, nil
}

func position(offset int64) stream.Position {
	return stream.Position(strconv.FormatInt(offset, 10))
}

// number returns a position as a number; one that is none counts as not set.
func number(p stream.Position) int64 {
	n, err := strconv.ParseInt(string(p), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// Compare implements stream.Source.
func (s *Source) Compare(a, b stream.Position) int { return cmp.Compare(number(a), number(b)) }

// Distance implements stream.Source. It is negative if from is after to.
func (s *Source) Distance(from, to stream.Position) int64 { return number(to) - number(from) }
