package segment

import (
	"encoding/json"
	"fmt"
)

// Kept is the JSON metadata of a segment for its readers (Options.Metadata). Unknown members are
// ignored.
type Kept struct {
	// TimestampSpec is the timestampSpec of the native spec that loaded the rows.
	TimestampSpec json.RawMessage `json:"timestampSpec,omitempty"`
}

// ParseKept reads the metadata of a segment, which may be empty.
func ParseKept(metadata json.RawMessage) (Kept, error) {
	var k Kept
	if len(metadata) == 0 {
		return k, nil
	}
	if err := json.Unmarshal(metadata, &k); err != nil {
		return k, fmt.Errorf("reading the metadata of a segment: %w", err)
	}
	return k, nil
}
