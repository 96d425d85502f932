package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// longStatements are statements of 10 MB, of the shortest constants there are, with what they
// answer.
var longStatements = []struct {
	name, text string
	answer     json.Number
}{
	{"a statement of 10 MB: 2.5 million rows of VALUES, counted", "SELECT COUNT(*) FROM (VALUES " + strings.Repeat("(1),", 2_499_999) + "(1))", "2500000"},
	{"a statement of 10 MB: 5 million numbers in IN", "SELECT COUNT(*) FROM (VALUES (1), (7)) AS v(a) WHERE a IN (" + strings.Repeat("7,", 4_999_999) + "7)", "1"},
}

// readsLong measures from sending each of them to the whole answer.
func (m *measurement) readsLong(ctx context.Context, s *server) ([]figure, error) {
	var out []figure
	for _, l := range longStatements {
		var took []float64
		for range m.times {
			began := time.Now()
			rows, err := s.query(ctx, l.text)
			if err != nil {
				return nil, err
			}
			took = append(took, milliseconds(time.Since(began)))
			if len(rows) != 1 || len(rows[0]) != 1 || rows[0][0] != l.answer {
				return nil, fmt.Errorf("the answer is %v, want %s", rows, l.answer)
			}
		}
		out = append(out, newFigure(l.name, "ms", longLimit, took))
	}
	return out, nil
}
