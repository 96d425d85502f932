package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand"
	"strconv"
)

// The event data: seven dimensions with 7 to 3 M distinct values, skewed, five metrics, one row
// every 129.6 ms of thirty days at 20 M rows. The same seed gives the same rows; they come in order
// of time.
const (
	eventsStart = int64(1700006400000) // 2023-11-15T00:00:00Z
	eventsSpan  = int64(30 * 86400 * 1000)
	eventsChunk = 500_000
	hourMillis  = int64(3_600_000)
	dayMillis   = 24 * hourMillis
)

var (
	eventDimensions = []string{"d7", "d25", "d250", "d5k", "d200k", "user", "url"}
	eventMetrics    = []string{"ms", "mm", "ml", "f1", "f2"} // three integers, two doubles
)

type events struct {
	rows  int
	nulls int // per cent of the values of each column but the time
	dicts [7][]string
}

// newEvents prepares the dictionaries. Users are 15 of 100 rows, so that their share of distinct
// values does not depend on the scale; all other cardinalities are fixed.
func newEvents(rows, nulls int) *events {
	e := &events{rows: rows, nulls: nulls}
	for k, n := range []int{7, 25, 250, 5000, 200_000, max(rows*3/20, 1000), 100_000} {
		e.dicts[k] = make([]string, n)
		for i := range e.dicts[k] {
			e.dicts[k][i] = eventValue(k, i)
		}
	}
	return e
}

func eventValue(dimension, i int) string {
	h := mix(uint64(i) + uint64(dimension)<<32)
	switch dimension {
	case 0:
		return []string{"web", "ios", "android", "tv", "console", "api", "other"}[i]
	case 1:
		return fmt.Sprintf("region-%02d", i)
	case 2:
		return fmt.Sprintf("country_%03x_%03d", h&0xfff, i)
	case 3:
		return fmt.Sprintf("campaign-%05x-%04d", h&0xfffff, i)
	case 4:
		return fmt.Sprintf("sku%08x%06d", h&0xffffffff, i)
	case 5:
		return fmt.Sprintf("%016x", h)
	}
	hosts := []string{"shop.example.com", "www.example.org", "news.example.net", "m.example.com"}
	sections := []string{"products", "articles", "search", "checkout", "user", "help"}
	word := make([]byte, 6+h%9)
	for j := range word {
		word[j] = byte('a' + mix(h+uint64(j))%26)
	}
	return fmt.Sprintf("https://%s/%s/%s/%d", hosts[h>>8&3], sections[(h>>16)%6], word, i)
}

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// fileFormat writes rows as text.
type fileFormat string

const (
	ndjson fileFormat = "ndjson"
	csv    fileFormat = "csv"
	// parquet files are made by DuckDB from those of NDJSON.
	parquet fileFormat = "parquet"
)

// write writes all rows. Every chunk has a random source of its own, so a prefix of the rows does
// not depend on how many follow.
func (e *events) write(to io.Writer, format fileFormat) error {
	out := bufio.NewWriterSize(to, 1<<20)
	if format == csv {
		out.WriteString("t,d7,d25,d250,d5k,d200k,user,url,ms,mm,ml,f1,f2\n")
	}
	line := make([]byte, 0, 1024)
	for first := 0; first < e.rows; first += eventsChunk {
		r := rand.New(rand.NewSource(int64(first/eventsChunk)*7919 + 42))
		zipf := [4]*rand.Zipf{
			rand.NewZipf(r, 1.2, 4, 249), rand.NewZipf(r, 1.15, 10, 4999), rand.NewZipf(r, 1.1, 50, 199_999), rand.NewZipf(r, 1.1, 30, 99_999),
		}
		for row := first; row < min(first+eventsChunk, e.rows); row++ {
			f := r.Float64()
			ids := [7]int{r.Intn(7), r.Intn(25), int(zipf[0].Uint64()), int(zipf[1].Uint64()), int(zipf[2].Uint64()),
				int(f * (0.75 + 0.25*f) * float64(len(e.dicts[5]))), int(zipf[3].Uint64())}
			w := rowWriter{line: line[:0], format: format}
			w.begin(eventsStart + int64(float64(row)*float64(eventsSpan)/float64(e.rows)))
			for k, name := range eventDimensions {
				w.text(name, e.dicts[k][ids[k]], e.absent(r))
			}
			w.number("ms", float64(r.Intn(100)), 0, e.absent(r))
			w.number("mm", float64(r.Intn(100_000)-5000), 0, e.absent(r))
			w.number("ml", float64(r.Int63n(1_000_000_000_000)), 0, e.absent(r))
			w.number("f1", r.Float64()*100, -1, e.absent(r))
			w.number("f2", r.NormFloat64()*15+50, -1, e.absent(r))
			line = w.end()
			if _, err := out.Write(line); err != nil {
				return fmt.Errorf("writing the event data: %w", err)
			}
		}
	}
	return out.Flush()
}

func (e *events) absent(r *rand.Rand) bool { return e.nulls > 0 && r.Intn(100) < e.nulls }

// rowWriter appends one row as text. Its values need no escapes in either format.
type rowWriter struct {
	line   []byte
	format fileFormat
}

func (w *rowWriter) begin(millis int64) {
	if w.format == ndjson {
		w.line = append(w.line, `{"t":`...)
	}
	w.line = strconv.AppendInt(w.line, millis, 10)
}

func (w *rowWriter) name(name string) {
	w.line = append(w.line, ',')
	if w.format == ndjson {
		w.line = append(append(append(w.line, '"'), name...), '"', ':')
	}
}

func (w *rowWriter) text(name, value string, absent bool) {
	w.name(name)
	switch {
	case absent:
		w.null()
	case w.format == ndjson:
		w.line = append(append(append(w.line, '"'), value...), '"')
	default:
		w.line = append(w.line, value...)
	}
}

func (w *rowWriter) number(name string, value float64, decimals int, absent bool) {
	w.name(name)
	if absent {
		w.null()
		return
	}
	w.line = strconv.AppendFloat(w.line, value, 'f', decimals, 64)
}

func (w *rowWriter) integer(name string, value int64) {
	w.name(name)
	w.line = strconv.AppendInt(w.line, value, 10)
}

func (w *rowWriter) null() {
	if w.format == ndjson {
		w.line = append(w.line, "null"...)
	}
}

func (w *rowWriter) end() []byte {
	if w.format == ndjson {
		w.line = append(w.line, '}')
	}
	return append(w.line, '\n')
}

// table is the event data as one table.
func (e *events) table(partitionedBy string) *table {
	t := &table{name: "events", rows: e.rows, nulls: e.nulls > 0, partitionedBy: partitionedBy, write: e.write}
	for _, d := range eventDimensions {
		t.columns = append(t.columns, column{d, "VARCHAR"})
	}
	for _, m := range eventMetrics {
		typ := "BIGINT"
		if m[0] == 'f' {
			typ = "DOUBLE"
		}
		t.columns = append(t.columns, column{m, typ})
	}
	return t
}
