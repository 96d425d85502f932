package segment

import (
	"encoding/json"
	"fmt"
)

// Kept is the JSON that segments keep for their readers (Options.Metadata). Members that are not
// known here are passed over.
type Kept struct {
	// TimestampSpec is that of the native spec the rows were loaded by.
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
