package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// dashboard is a statement of 500 characters, as dashboards send them. No row is of its day:
// planning is measured, and not what reading leaves of it in the caches of the processor (behind a
// scan of the sample it takes half as long again, to twice as long).
const dashboard = `SELECT TIME_FLOOR(__time, 'PT1H') AS "hour", channel, CASE WHEN isRobot = 'true' THEN 'robot' ELSE 'human' END AS kind,
  COUNT(*) AS edits, COUNT(DISTINCT "user") AS users, SUM(added) AS added, SUM(added) FILTER (WHERE namespace = 'Main') AS main_added
FROM wikipedia
WHERE __time >= TIMESTAMP '2016-09-12' AND __time < TIMESTAMP '2016-09-13' AND channel IN ('#en.wikipedia', '#de.wikipedia', '#fr.wikipedia')
  AND delta <> 0
GROUP BY 1, 2, 3
HAVING SUM(added) > 999999
ORDER BY edits DESC LIMIT 10`

// plannings is how often a statement is planned in a row: the first times are those of a process
// that has just begun.
const plannings = 1000

// plans measures from the text of a statement to its optimized plan, as the server tells it.
func (m *measurement) plans(ctx context.Context, s *server) (figure, error) {
	var took []float64
	for range m.times {
		round := make([]float64, plannings)
		for i := range round {
			rows, err := s.query(ctx, "EXPLAIN ANALYZE AS JSON "+dashboard)
			if err != nil {
				return figure{}, err
			}
			var analysis struct {
				PlanningMillis float64 `json:"planningMs"`
			}
			text, ok := rows[0][0].(string)
			if !ok {
				return figure{}, fmt.Errorf("the analysis is %v", rows)
			}
			if err := json.Unmarshal([]byte(text), &analysis); err != nil {
				return figure{}, err
			}
			if analysis.PlanningMillis <= 0 {
				return figure{}, errors.New("the analysis has no time of planning")
			}
			round[i] = analysis.PlanningMillis * 1000
		}
		slices.Sort(round)
		took = append(took, round[plannings/2])
	}
	return newFigure(fmt.Sprintf("planning a statement of %d characters, median of %d", len(dashboard), plannings), "us", planLimit, took), nil
}
