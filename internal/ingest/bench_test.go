package ingest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// BenchmarkDecode decodes events of a time, three texts of few, some and many values, a list and
// three numbers, on one goroutine.
func BenchmarkDecode(b *testing.B) {
	const rows = 20_000
	var json, csv strings.Builder
	r := rand.New(rand.NewPCG(1, 1))
	for i := range rows {
		stamp := fmt.Sprintf("2026-01-01T%02d:%02d:%02d.%03dZ", i/3600%24, i/60%60, i%60, i%1000)
		country, page, session := r.IntN(30), r.IntN(2000), r.Uint32()
		price, n := float64(r.IntN(20_000))/100, r.IntN(3000)
		fmt.Fprintf(&json, `{"time":"%s","country":"C%d","page":"/shop/item-%d","session":"%08x","tags":["new","t%d"],"price":%v,"n":%d}`+"\n",
			stamp, country, page, session, n%7, price, n)
		fmt.Fprintf(&csv, "%s,C%d,/shop/item-%d,%08x,new|t%d,%v,%d\n", stamp, country, page, session, n%7, price, n)
	}
	for _, c := range []struct {
		name, data string
		format     Format
	}{
		{"json", json.String(), &JSON{}},
		{"csv", csv.String(), &Delimited{kind: "csv", Delimiter: ",", ListDelimiter: "|", Columns: strings.Fields("time country page session tags price n")}},
	} {
		b.Run(c.name, func(b *testing.B) {
			table := &Table{Source: &Inline{Data: c.data}, Format: c.format, Fields: fields(b, "time string country mv page mv session mv tags mv price double n long")}
			b.SetBytes(int64(len(c.data)))
			b.ReportAllocs()
			for b.Loop() {
				reader, err := table.Open(b.Context(), Split{Entity: inlineEntity{c.data}, End: -1}, nil)
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = reader.Next(b.Context())
				}
				if n := reader.Stats().Rows; n != rows {
					b.Fatalf("[%d] rows", n)
				}
				reader.Close()
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
