package push

import (
	"encoding/json"
	"maps"
	"math/big"
	"strings"
	"time"
)

// remembersKeys is how long an idempotency key is known.
const remembersKeys = time.Hour

// memory is what tells entries that were written already.
type memory struct {
	Channels map[string]Mark `json:"channels"`
	// Keys are idempotency keys with the entry that had them.
	Keys map[string]Mark `json:"keys"`
}

// Mark is the state of a channel or key.
type Mark struct {
	// Offset is the offset of the entry in its channel; "" for keys.
	Offset   string `json:"offset,omitempty"`
	Position int64  `json:"position"`
	Time     int64  `json:"time"`
}

func newMemory() *memory { return &memory{Channels: map[string]Mark{}, Keys: map[string]Mark{}} }

func (m *memory) clone() *memory {
	return &memory{Channels: maps.Clone(m.Channels), Keys: maps.Clone(m.Keys)}
}

// known returns the mark of an entry that e repeats.
func (m *memory) known(e *Entry) (Mark, bool) {
	if e.Channel != "" {
		mark, ok := m.Channels[e.Channel]
		return mark, ok && CompareOffsets(e.Offset, mark.Offset) <= 0
	}
	if e.Key == "" {
		return Mark{}, false
	}
	mark, ok := m.Keys[e.Key]
	return mark, ok && e.Time-mark.Time < remembersKeys.Milliseconds()
}

// note remembers an entry.
func (m *memory) note(e *Entry) {
	mark := Mark{Offset: e.Offset, Position: e.Position, Time: e.Time}
	switch {
	case e.Channel != "":
		m.Channels[e.Channel] = mark
	case e.Key != "":
		mark.Offset = ""
		m.Keys[e.Key] = mark
	}
}

// snapshot returns what is to be remembered from now on, as JSON.
func (m *memory) snapshot(now int64) []byte {
	maps.DeleteFunc(m.Keys, func(_ string, k Mark) bool { return now-k.Time >= remembersKeys.Milliseconds() })
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // maps of texts and numbers are JSON
	}
	return text
}

// readSnapshot reads the payload of a snapshot.
func readSnapshot(payload []byte) (*memory, error) {
	m := newMemory()
	if len(payload) == 0 || payload[0] != kindSnapshot || json.Unmarshal(payload[1:], m) != nil {
		return nil, errTorn
	}
	return m, nil
}

// CompareOffsets orders the offsets of a channel: integers by value, other strings by bytes, and
// integers before other strings.
func CompareOffsets(a, b string) int {
	x, y := wholeNumber(a), wholeNumber(b)
	switch {
	case x != nil && y != nil:
		return x.Cmp(y)
	case x != nil:
		return -1
	case y != nil:
		return 1
	}
	return strings.Compare(a, b)
}

// wholeNumber returns the number that a text is; nil: it is none.
func wholeNumber(text string) *big.Int {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return nil
	}
	n, _ := new(big.Int).SetString(text, 10)
	return n
}
