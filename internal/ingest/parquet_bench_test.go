package ingest

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkParquet reads 500,000 rows of one kind of column, on one goroutine.
func BenchmarkParquet(b *testing.B) {
	const rows = 500_000
	type row struct {
		Plain int64    `parquet:"plain,plain"`
		Null  *int64   `parquet:"null,optional,plain"`
		Dict  int64    `parquet:"dict,dict"`
		Delta int64    `parquet:"delta,delta"`
		Num   float64  `parquet:"num,plain"`
		Split float64  `parquet:"split,split"`
		Few   *string  `parquet:"few,optional,dict"`
		Text  string   `parquet:"text,plain"`
		DText string   `parquet:"dtext,delta"`
		Flag  bool     `parquet:"flag"`
		List  []string `parquet:"list,list"`
	}
	r := rand.New(rand.NewPCG(1, 1))
	data := make([]row, rows)
	for i := range data {
		n, few := r.Int64N(1_000_000), fmt.Sprintf("few-%d", r.IntN(500))
		data[i] = row{Plain: n, Dict: n % 1000, Delta: int64(i)*1000 + n%1000, Num: float64(n) / 8, Split: float64(n) / 8, Text: fmt.Sprintf("text-%d", n),
			DText: fmt.Sprintf("text-%06d", i), Flag: n%3 == 0}
		if n%10 != 0 {
			data[i].Null, data[i].Few = &n, &few
		}
		for range n % 3 {
			data[i].List = append(data[i].List, few)
		}
	}
	file := string(writeParquet(b, data))
	for _, c := range []struct{ name, columns string }{
		{"plain", "plain long"}, {"nulls", "null long"}, {"dict", "dict long"}, {"delta", "delta long"}, {"double", "num double"}, {"split", "split double"},
		{"codes", "few string"}, {"text", "text string"}, {"deltatext", "dtext string"}, {"bool", "flag long"}, {"list", "list mv"},
		{"all", "plain long null long dict long delta long num double split double few string text string dtext string flag long list mv"},
	} {
		b.Run(c.name, func(b *testing.B) {
			table := &Table{Source: &Inline{Data: file}, Format: &Parquet{flat: &flattening{discover: true}}, Fields: fields(b, c.columns)}
			b.ReportAllocs()
			for b.Loop() {
				reader, err := table.Open(b.Context(), Split{Entity: inlineEntity{file}, End: -1}, &Options{Decoders: 1})
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = reader.Next(b.Context())
				}
				if n := reader.Stats().Rows; n != rows {
					b.Fatalf("[%d] rows: %v", n, err)
				}
				reader.Close()
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
