package kinesis

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go"

	"github.com/hengedb/henge/internal/stream"
)

// shards returns all shards that have records, or may get some. None: the stream is not there.
func (s *Source) shards(ctx context.Context) ([]types.Shard, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var out []types.Shard
	req := &kinesis.ListShardsInput{StreamName: &s.name}
	for {
		resp, err := s.api.ListShards(ctx, req)
		if refused, ok := errors.AsType[smithy.APIError](err); ok && refused.ErrorCode() == "AccessDeniedException" {
			return s.described(ctx)
		}
		if isMissing(err) {
			return nil, nil
		}
		if err != nil {
			return nil, trouble("The shards of stream ["+s.name+"] can't be listed", err)
		}
		out = append(out, resp.Shards...)
		if resp.NextToken == nil {
			return out, nil
		}
		req = &kinesis.ListShardsInput{NextToken: resp.NextToken}
	}
}

// described returns the shards as those may see them who may not list them.
func (s *Source) described(ctx context.Context) ([]types.Shard, error) {
	var out []types.Shard
	req := &kinesis.DescribeStreamInput{StreamName: &s.name}
	for {
		resp, err := s.api.DescribeStream(ctx, req)
		if isMissing(err) {
			return nil, nil
		}
		if err != nil {
			return nil, trouble("Stream ["+s.name+"] can't be described", err)
		}
		d := resp.StreamDescription
		out = append(out, d.Shards...)
		if d.HasMoreShards == nil || !*d.HasMoreShards || len(d.Shards) == 0 {
			return out, nil
		}
		req.ExclusiveStartShardId = d.Shards[len(d.Shards)-1].ShardId
	}
}

// Partitions implements stream.Source.
func (s *Source) Partitions(ctx context.Context) ([]stream.Partition, error) {
	shards, err := s.shards(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]stream.Partition, len(shards))
	for i := range shards {
		out[i] = stream.Partition(*shards[i].ShardId)
	}
	return out, nil
}

// begin is the position before the first number of a shard.
func begin(shard *types.Shard) stream.Position {
	return shifted(*shard.SequenceNumberRange.StartingSequenceNumber, -1)
}

// only returns the shards of partitions.
func (s *Source) only(ctx context.Context, partitions []stream.Partition) (map[stream.Partition]*types.Shard, error) {
	shards, err := s.shards(ctx)
	if err != nil {
		return nil, err
	}
	all := map[stream.Partition]*types.Shard{}
	for i := range shards {
		all[stream.Partition(*shards[i].ShardId)] = &shards[i]
	}
	out := map[stream.Partition]*types.Shard{}
	for _, p := range partitions {
		if shard := all[p]; shard != nil {
			out[p] = shard
		}
	}
	return out, nil
}

// Earliest implements stream.Source. It is before the first number of a shard as long as the stream
// is too young for records to have expired.
func (s *Source) Earliest(ctx context.Context, partitions []stream.Partition) (stream.Positions, error) {
	shards, err := s.only(ctx, partitions)
	if err != nil {
		return nil, err
	}
	out := stream.Positions{}
	if len(shards) == 0 {
		return out, nil
	}
	young, err := s.young(ctx)
	if err != nil {
		return nil, err
	}
	for p, shard := range shards {
		out[p] = begin(shard)
		if young {
			continue
		}
		first, err := s.first(ctx, p)
		if err != nil {
			return nil, err
		}
		if first != "" {
			out[p] = shifted(first, -1)
		}
	}
	return out, nil
}

// young reports whether the stream is younger than its records may become.
func (s *Source) young(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	resp, err := s.api.DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: &s.name})
	if refused, ok := errors.AsType[smithy.APIError](err); ok && refused.ErrorCode() == "AccessDeniedException" {
		return false, nil // then records tell
	}
	if err != nil {
		return false, trouble("Stream ["+s.name+"] can't be described", err)
	}
	d := resp.StreamDescriptionSummary
	if d.StreamCreationTimestamp == nil || d.RetentionPeriodHours == nil {
		return false, nil
	}
	return s.clock.Now().Before(d.StreamCreationTimestamp.Add(time.Duration(*d.RetentionPeriodHours) * time.Hour)), nil
}

// first returns the number of the first record of a shard; "": there is none.
func (s *Source) first(ctx context.Context, shard stream.Partition) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	iterator, err := s.iterator(ctx, shard, types.ShardIteratorTypeTrimHorizon, "")
	one := int32(1)
	for range looks {
		if err != nil || iterator == nil {
			break
		}
		var resp *kinesis.GetRecordsOutput
		if resp, err = s.api.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: iterator, Limit: &one}); err != nil {
			break
		}
		if len(resp.Records) > 0 {
			return *resp.Records[0].SequenceNumber, nil
		}
		if resp.MillisBehindLatest == nil || *resp.MillisBehindLatest == 0 {
			return "", nil
		}
		iterator = resp.NextShardIterator
	}
	return "", trouble("Shard ["+string(shard)+"] can't be read", err)
}

// iterator makes an iterator of a kind.
func (s *Source) iterator(ctx context.Context, shard stream.Partition, kind types.ShardIteratorType, at string) (*string, error) {
	id := string(shard)
	req := &kinesis.GetShardIteratorInput{StreamName: &s.name, ShardId: &id, ShardIteratorType: kind}
	if at != "" {
		req.StartingSequenceNumber = &at
	}
	resp, err := s.api.GetShardIterator(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp.ShardIterator, nil
}

// after makes an iterator of the records above a position. A number that no record has is refused
// by the service; then it is that of the next record, or the shard is read from where it begins,
// and who reads leaves out what is not above.
func (s *Source) after(ctx context.Context, shard stream.Partition, at stream.Position) (*string, error) {
	iterator, err := s.iterator(ctx, shard, types.ShardIteratorTypeAfterSequenceNumber, string(at))
	if isInvalid(err) {
		iterator, err = s.iterator(ctx, shard, types.ShardIteratorTypeAtSequenceNumber, string(shifted(string(at), 1)))
	}
	if isInvalid(err) {
		iterator, err = s.iterator(ctx, shard, types.ShardIteratorTypeTrimHorizon, "")
	}
	return iterator, err
}

// Latest implements stream.Source. The service does not return the last number of a shard. Latest
// reads forward from the last known number, or initially from an earlier time that has records.
func (s *Source) Latest(ctx context.Context, partitions []stream.Partition) (stream.Positions, error) {
	shards, err := s.only(ctx, partitions)
	if err != nil {
		return nil, err
	}
	out := stream.Positions{}
	for p, shard := range shards {
		if shard.SequenceNumberRange.EndingSequenceNumber != nil {
			out[p] = EOS
			continue
		}
		t, err := s.end(ctx, p, shard)
		if err != nil {
			return nil, err
		}
		out[p] = t.at
	}
	return out, nil
}

// back are the times from which on the end of a shard is looked for.
var back = []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}

func (s *Source) end(ctx context.Context, p stream.Partition, shard *types.Shard) (*tip, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	s.mu.Lock()
	t := s.tips[p]
	s.mu.Unlock()
	if t != nil && t.iterator != "" {
		next, err := s.follow(ctx, *t)
		if err == nil {
			return s.keep(p, next), nil
		}
		if !isExpired(err) {
			return nil, trouble("Shard ["+string(p)+"] can't be read", err)
		}
	}
	t, err := s.search(ctx, p, shard)
	if err != nil {
		return nil, trouble("Shard ["+string(p)+"] can't be read", err)
	}
	return s.keep(p, t), nil
}

// search finds the end of a shard: by its first records if these are all that it has, else from the
// shortest time back that has some.
func (s *Source) search(ctx context.Context, p stream.Partition, shard *types.Shard) (*tip, error) {
	from := begin(shard)
	iterator, err := s.iterator(ctx, p, types.ShardIteratorTypeTrimHorizon, "")
	if err != nil {
		return nil, err
	}
	t, done, err := s.step(ctx, tip{from, *iterator})
	if err != nil || done {
		return t, err
	}
	id := string(p)
	for _, ago := range back {
		since := s.clock.Now().Add(-ago)
		resp, err := s.api.GetShardIterator(ctx, &kinesis.GetShardIteratorInput{
			StreamName: &s.name, ShardId: &id, ShardIteratorType: types.ShardIteratorTypeAtTimestamp, Timestamp: &since,
		})
		if err != nil {
			return nil, err
		}
		next, err := s.follow(ctx, tip{from, *resp.ShardIterator})
		if err != nil {
			return nil, err
		}
		if next.at != from {
			return next, nil
		}
	}
	return s.follow(ctx, *t)
}

func (s *Source) keep(p stream.Partition, t *tip) *tip {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tips[p] = t
	return t
}

// follow reads on to the end of a shard.
func (s *Source) follow(ctx context.Context, t tip) (*tip, error) {
	for {
		next, done, err := s.step(ctx, t)
		if err != nil || done {
			return next, err
		}
		t = *next
	}
}

// step reads some records of a shard, and reports whether they were the last.
func (s *Source) step(ctx context.Context, t tip) (next *tip, done bool, err error) {
	resp, err := s.api.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: &t.iterator})
	if err != nil {
		return nil, false, err
	}
	if n := len(resp.Records); n > 0 {
		t.at = stream.Position(*resp.Records[n-1].SequenceNumber)
	}
	if resp.NextShardIterator == nil {
		return &tip{at: EOS}, true, nil
	}
	t.iterator = *resp.NextShardIterator
	return &t, resp.MillisBehindLatest == nil || *resp.MillisBehindLatest == 0, nil
}

// TimeLag implements stream.Lagger.
func (s *Source) TimeLag(ctx context.Context, positions stream.Positions) (map[stream.Partition]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	out := map[stream.Partition]time.Duration{}
	one := int32(1)
	for p, at := range positions {
		if rank(at) != 1 {
			if at == EOS {
				out[p] = 0
			}
			continue
		}
		iterator, err := s.after(ctx, p, at)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, trouble("Shard ["+string(p)+"] can't be read", err)
		}
		resp, err := s.api.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: iterator, Limit: &one})
		if err != nil {
			return nil, trouble("Shard ["+string(p)+"] can't be read", err)
		}
		behind := time.Duration(0)
		if len(resp.Records) > 0 && resp.Records[0].ApproximateArrivalTimestamp != nil {
			behind = max(0, s.clock.Now().Sub(*resp.Records[0].ApproximateArrivalTimestamp))
		} else if resp.MillisBehindLatest != nil {
			behind = time.Duration(*resp.MillisBehindLatest) * time.Millisecond
		}
		out[p] = behind
	}
	return out, nil
}
