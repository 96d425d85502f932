package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand"
)

// visits are event data with uneven dimensions, as they are met: a few platforms and countries have
// most rows, pages and users have long tails. Rows come in order of time, thirty days whatever
// their number. The same seed gives the same rows.
type visits struct{ rows int }

// visitsSet is what their queries are called in a report.
const visitsSet = "Visits"

var visitDimensions = []struct {
	name     string
	distinct int
	skew     float64 // of a Zipf distribution, beyond 1
	flat     float64 // the larger, the nearer are the most frequent values to each other
}{
	{"platform", 7, 1.3, 2},
	{"country", 25, 1.2, 3},
	{"city", 250, 1.15, 5},
	{"campaign", 5000, 1.1, 10},
	{"page", 200_000, 1.1, 50},
	{"user", 3_000_000, 1.02, 20_000},
}

// distinct is how many values a dimension has; users are 15 of 100 rows, 3 M of 20 M.
func (v visits) distinct(dimension int) int {
	if n := visitDimensions[dimension].distinct; n < 1_000_000 {
		return n
	}
	return max(v.rows*3/20, 1000)
}

func (v visits) write(to io.Writer, format fileFormat) error {
	out := bufio.NewWriterSize(to, 1<<20)
	if format == csv {
		out.WriteString("t,platform,country,city,campaign,page,user,ms,mm,ml,delay,price,score\n")
	}
	var line []byte
	for first := 0; first < v.rows; first += eventsChunk {
		r := rand.New(rand.NewSource(int64(first/eventsChunk)*6151 + 7))
		var zipf []*rand.Zipf
		for k, d := range visitDimensions {
			zipf = append(zipf, rand.NewZipf(r, d.skew, d.flat, uint64(v.distinct(k)-1)))
		}
		for row := first; row < min(first+eventsChunk, v.rows); row++ {
			w := rowWriter{line: line[:0], format: format}
			w.begin(eventsStart + int64(float64(row)*float64(eventsSpan)/float64(v.rows)))
			for k, d := range visitDimensions {
				w.text(d.name, visitValue(d.name, zipf[k].Uint64()), false)
			}
			w.integer("ms", int64(r.Intn(100)))
			w.integer("mm", int64(r.Intn(100_000)-5000))
			w.integer("ml", r.Int63n(1_000_000_000_000))
			w.integer("delay", visitDelay(r))
			w.number("price", float64(r.Intn(100_000))/100, 2, false)
			w.number("score", r.NormFloat64()*15+50, -1, false)
			line = w.end()
			if _, err := out.Write(line); err != nil {
				return fmt.Errorf("writing the visits: %w", err)
			}
		}
	}
	return out.Flush()
}

// visitDelay is in minutes, like that of flights: most are near 0, the tail ends after a day.
func visitDelay(r *rand.Rand) int64 {
	if r.Intn(10) < 7 {
		return int64(r.NormFloat64() * 12)
	}
	return min(int64(r.ExpFloat64()*60), 1440)
}

// visitValue is the name of value i of a dimension; neighbours in frequency are none in order.
func visitValue(dimension string, i uint64) string {
	return fmt.Sprintf("%s-%05x-%d", dimension, mix(i)&0xfffff, i)
}

func (v visits) table(partitionedBy string) *table {
	t := &table{name: "visits", rows: v.rows, partitionedBy: partitionedBy, write: v.write}
	for _, d := range visitDimensions {
		t.columns = append(t.columns, column{d.name, "VARCHAR"})
	}
	for _, name := range []string{"ms", "mm", "ml", "delay"} {
		t.columns = append(t.columns, column{name, "BIGINT"})
	}
	t.columns = append(t.columns, column{"price", "DOUBLE"}, column{"score", "DOUBLE"})
	return t
}
