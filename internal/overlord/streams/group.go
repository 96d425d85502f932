package streams

import (
	"cmp"
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/hashorder"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
)

// group is some tasks that read the same partitions alike.
type group struct {
	id int
	// sequence is the base of the names of its sequences, which its tasks have in common.
	sequence   string
	starts     stream.Positions
	exclusive  []stream.Partition
	follows    []stream.Partition // as in chat.TaskIO
	minTime    *int64
	maxTime    *int64
	tasks      map[string]*member
	began      int64 // when the first of its tasks began to read, in milliseconds; 0: none has
	made       int64
	replicated bool // it had a task, ever

	// checkpoints are the starts of its sequences by number, but for those that are published.
	checkpoints map[int]stream.Positions

	// ends are set of a pending group; it has to be done at the deadline.
	ends     stream.Positions
	deadline int64
}

// member is a task of a group.
type member struct {
	id string
	// status is what the task last told; nil: it has not.
	status *chat.Status
	// made is when it was submitted.
	made int64
	// priority is that of the task for queries; nil: it has none.
	priority *int
}

// partitions returns the partitions of the group in their order.
func (g *group) partitions() []stream.Partition { return sorted(maps.Keys(g.starts)) }

func sorted(partitions func(func(stream.Partition) bool)) []stream.Partition {
	return slices.SortedFunc(partitions, comparePartitions)
}

// comparePartitions orders partitions by their topics, and these by number.
func comparePartitions(a, b stream.Partition) int {
	topicA, a2 := a.Split()
	topicB, b2 := b.Split()
	x, errA := strconv.Atoi(a2)
	y, errB := strconv.Atoi(b2)
	if errA != nil || errB != nil {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(topicA, topicB), cmp.Compare(x, y))
}

// overlaps reports whether the group reads one of some partitions.
func (g *group) overlaps(positions stream.Positions) bool {
	for p := range positions {
		if _, ok := g.starts[p]; ok {
			return true
		}
	}
	return false
}

// groupOf is the number of the group that reads a partition. Clients know the formula.
func (k *keeper) groupOf(p stream.Partition, all []stream.Partition) int {
	if k.tasks <= 0 {
		return 0
	}
	topic, number := p.Split()
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || k.spec().Type == spec.Kinesis: // shards have no numbers: their place counts
		n = slices.Index(all, p)
	case k.spec().IO.Stream.Pattern != "":
		hash := 31*hashorder.Text(topic) + uint32(n) // wraps around
		n = int(int32(hash))
		if n < 0 {
			n = -n
		}
	}
	return max(0, n) % k.tasks
}

// assignment returns the partitions of each group.
func (k *keeper) assignment(all []stream.Partition) map[int][]stream.Partition {
	out := map[int][]stream.Partition{}
	if k.tasks <= 0 {
		return out
	}
	for _, p := range all {
		id := k.groupOf(p, all)
		out[id] = append(out[id], p)
	}
	return out
}

// hashDigits is how many digits of a hash are in the name of a sequence.
const hashDigits = 15

// sequenceName names the sequences of a group: by what its tasks do, so that tasks of another
// version of the specification never share a sequence.
func sequenceName(s *spec.Stream, starts stream.Positions, low, high *int64) (string, error) {
	t, err := spec.NewStreamTask(s, "", chat.TaskIO{Stream: s.IO.Stream, Starts: stream.Positions{}, Ends: stream.Positions{}})
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	var parts struct {
		Schema any `json:"dataSchema"`
		Tuning any `json:"tuningConfig"`
	}
	if err := json.Unmarshal(payload, &parts); err != nil {
		return "", err
	}
	canonical, err := jsontext.Marshal([]any{parts.Schema, parts.Tuning, starts, low, high}) // members are sorted
	if err != nil {
		return "", err
	}
	sum := sha1.Sum(canonical)
	return spec.StreamTaskType(s.Type) + "_" + s.ID() + "_" + hex.EncodeToString(sum[:])[:hashDigits], nil
}

// taskID names a task of a sequence.
func taskID(sequence string) string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	for i, b := range random {
		random[i] = 'a' + b&15
	}
	return sequence + "_" + string(random[:])
}
