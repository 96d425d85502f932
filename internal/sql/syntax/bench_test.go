package syntax

import (
	"strings"
	"testing"
)

// analyticsQuery is of the size and shape that dashboards send: 438 characters.
const analyticsQuery = `SELECT TIME_FLOOR(__time, 'PT1H') AS "hour", channel, COUNT(*) AS edits, SUM(added) AS added, ` +
	`COUNT(DISTINCT "user") FILTER (WHERE isRobot = 'false') AS people FROM wikiticker WHERE __time >= TIMESTAMP '2015-09-12 00:00:00' ` +
	`AND __time < TIMESTAMP '2015-09-13 00:00:00' AND channel IN ('#en.wikipedia', '#de.wikipedia') AND (delta > 10 OR page LIKE '%a%') ` +
	`GROUP BY 1, 2 HAVING COUNT(*) > 5 ORDER BY edits DESC LIMIT 100 OFFSET 10 -- page 2`

func BenchmarkParse(b *testing.B) {
	if len(analyticsQuery) != 438 {
		b.Fatal(len(analyticsQuery))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(analyticsQuery); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseLongIn(b *testing.B) {
	text := "SELECT 1 FROM t WHERE a IN (1" + strings.Repeat(", 12345", 100_000) + ")"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	s, err := Parse(analyticsQuery)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		Print(s)
	}
}
