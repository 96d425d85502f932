package intake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/vector"
)

// wikiLines are edits of a wiki, with some 20 columns each.
func wikiLines(n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	channels := []string{"#en.wikipedia", "#de.wikipedia", "#fr.wikipedia", "#vi.wikipedia", "#ceb.wikipedia"}
	pick := func(kind string, n int) string { return fmt.Sprintf("%s %d", kind, r.IntN(n)) }
	lines := make([][]byte, n)
	for i := range lines {
		added := r.IntN(3000)
		lines[i] = fmt.Appendf(nil, `{"time":"2015-09-12T%02d:%02d:%02d.%03dZ","channel":"%s","cityName":null,"comment":"/* %s */ %s",`+
			`"countryIsoCode":null,"countryName":null,"isAnonymous":%t,"isMinor":%t,"isNew":%t,"isRobot":%t,"isUnpatrolled":%t,`+
			`"metroCode":null,"namespace":"%s","page":"%s","regionIsoCode":null,"regionName":null,"user":"%s","delta":%d,"added":%d,"deleted":%d}`,
			r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000), channels[r.IntN(5)],
			pick("History", 2000), pick("fixed a thing that was wrong", 50000),
			r.IntN(5) == 0, r.IntN(3) == 0, r.IntN(9) == 0, r.IntN(2) == 0, r.IntN(4) == 0,
			pick("Space", 20), pick("A page about something", 20000), pick("Some User", 3000), added-20, added, r.IntN(20))
	}
	return lines
}

const wikiTime = `"timestampSpec":{"column":"time","format":"iso"}`

var wikiSchemas = map[string]string{
	"explicit": `{` + wikiTime + `,"dimensionsSpec":{"dimensions":["channel","cityName","comment","countryIsoCode","countryName","isAnonymous",
		"isMinor","isNew","isRobot","isUnpatrolled","metroCode","namespace","page","regionIsoCode","regionName","user",
		{"type":"long","name":"delta"},{"type":"long","name":"added"},{"type":"long","name":"deleted"}]}}`,
	"discovered": `{` + wikiTime + `,"dimensionsSpec":{"useSchemaDiscovery":true}}`,
	"rollup": `{` + wikiTime + `,"dimensionsSpec":{"dimensions":["channel","cityName","countryIsoCode","countryName","isAnonymous",
		"isMinor","isNew","isRobot","isUnpatrolled","metroCode","namespace","page","regionIsoCode","regionName","user"]},
		"metricsSpec":[{"type":"count","name":"n"},{"type":"longSum","name":"added","fieldName":"added"},
			{"type":"longSum","name":"deleted","fieldName":"deleted"},{"type":"longSum","name":"delta","fieldName":"delta"}],
		"granularitySpec":{"queryGranularity":"minute","rollup":true}}`,
	"transformed": `{` + wikiTime + `,"dimensionsSpec":{"dimensions":["channel","page","user","up",{"type":"long","name":"twice"}]},
		"transformSpec":{"transforms":[{"type":"expression","name":"up","expression":"upper(channel)"},
			{"type":"expression","name":"twice","expression":"delta * 2"}],
			"filter":{"type":"not","field":{"type":"selector","dimension":"channel","value":"#vi.wikipedia"}}}}`,
}

// BenchmarkMake makes rows of polls of several sizes; batch reads the same lines as a file of a
// load, by the same plan, on one core.
func BenchmarkMake(b *testing.B) {
	lines := wikiLines(20_000)
	for _, name := range []string{"explicit", "discovered", "rollup", "transformed"} {
		for _, size := range []int{1, 100, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s/poll=%d", name, size), func(b *testing.B) {
				m, _ := maker(b, wikiSchemas[name], `{"type":"json"}`)
				records := make([]stream.Record, len(lines))
				for i, line := range lines {
					records[i].Value = line
				}
				if _, err := m.Make(b.Context(), records); err != nil {
					b.Fatal(err)
				}
				at := 0
				perCore(b, size, func() {
					if _, err := m.Make(b.Context(), records[at:at+size]); err != nil {
						b.Fatal(err)
					}
					if at += size; at+size > len(records) {
						at = 0
					}
				})
			})
		}
		b.Run(name+"/batch", func(b *testing.B) {
			m, _ := maker(b, wikiSchemas[name], `{"type":"json"}`)
			records := make([]stream.Record, 1000)
			for i := range records {
				records[i].Value = lines[i]
			}
			if _, err := m.Make(b.Context(), records); err != nil {
				b.Fatal(err)
			}
			perCore(b, len(lines), func() { readBatch(b, m, lines) })
		})
	}
}

// readBatch reads lines as a load does, by the plan of m.
func readBatch(t testing.TB, m *Maker, lines [][]byte) *Made {
	t.Helper()
	text := strings.Builder{}
	text.Write(bytes.Join(lines, []byte("\n")))
	table := &ingest.Table{Source: &ingest.Inline{Data: text.String()}, Format: m.o.Format, Fields: m.plan.fields}
	opts := &ingest.Options{KeepNullBytes: true, OnParseError: func(*ingest.ParseError) error { return nil }}
	splits, err := table.Splits(t.Context(), opts, 0)
	if err != nil {
		t.Fatal(err)
	}
	made := &Made{ThrownAway: map[string]int64{}}
	var parts []*vector.Batch
	for _, split := range splits {
		r, err := table.Open(t.Context(), split, opts)
		if err != nil {
			t.Fatal(err)
		}
		for {
			batch, err := r.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			rows, err := m.rows(t.Context(), &ingest.MessageRows{Batches: []*vector.Batch{batch}}, made)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, rows)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	made.Columns = m.plan.specs()
	types := make([]vector.Type, len(made.Columns))
	for i, c := range made.Columns {
		types[i] = c.Type
	}
	if _, bench := t.(*testing.B); !bench {
		made.Rows = vector.Concat(types, parts)
	}
	return made
}

// perCore measures what f, which makes so many rows each time, takes of a core: on a machine with
// much else to do the time that passes says little.
func perCore(b *testing.B, rows int, f func()) {
	b.Helper()
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := used()
	for range b.N {
		f()
	}
	spent := float64(used() - before)
	b.ReportMetric(float64(rows)*float64(b.N)/spent*1e9, "rows/s/core")
	b.ReportMetric(spent/float64(b.N)/1000, "µs/poll")
}
