package query

import (
	"fmt"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/jsontext"
)

// Uncovered is the response context of a query that reads intervals without segments; it lists at
// most limit of them.
func Uncovered(missing []chrono.Interval, limit int) (string, error) {
	if len(missing) == 0 {
		return "{}", nil
	}
	overflowed := len(missing) > limit
	text, err := jsontext.Marshal(map[string]any{"uncoveredIntervals": missing[:min(limit, len(missing))], "uncoveredIntervalsOverflowed": overflowed})
	if err != nil {
		return "", fmt.Errorf("encoding the response context: %w", err)
	}
	return string(text), nil
}
