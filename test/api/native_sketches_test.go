package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestNativeSketchesThatAreShown asks for the bytes that the reference has for these rows: the order of the values in a small HLL sketch
// tells how often it was stored and read on its way.
func TestNativeSketchesThatAreShown(t *testing.T) {
	s := server.Start(t, server.Options{})
	var rows []string
	for i := range 9 {
		rows = append(rows, fmt.Sprintf(`{"t":"2024-01-01T00:00:0%dZ","k":"a","n":%d}`, i, i))
	}
	if err := s.Ingest(t.Context(), inline("REPLACE INTO nine OVERWRITE ALL", strings.Join(rows, "\n")), nil); err != nil {
		t.Fatal(err)
	}
	const (
		all    = `"dataSource":"nine","intervals":"2024-01-01/2024-01-02","granularity":"all","aggregations":[{"type":"HLLSketchBuild","name":"x","fieldName":"n"}]`
		field  = `"postAggregations":[{"type":"fieldAccess","name":"p","fieldName":"x"}]`
		raw    = `"context":{"finalize":false}`
		first  = `"AwEHDAUIAAEJAAAAgbxdBoYv+Q3L18IEwekXBdIWcwd1gWYH/C1CCntl5ggr8vsG"`
		second = `"AwEHDAUIAAEJAAAAgbxdBoYv+Q3L18IEK/L7BsHpFwXSFnMHdYFmB3tl5gj8LUIK"`
	)
	for _, c := range []struct{ name, body, want string }{
		{"a time series", `{"queryType":"timeseries",` + all + `,` + raw + `}`, `"x":` + second},
		{"the best", `{"queryType":"topN","dimension":"k","metric":{"type":"dimension"},"threshold":1,` + all + `,` + raw + `}`, `"x":` + second},
		{"groups", `{"queryType":"groupBy","dimensions":["k"],` + all + `,` + raw + `}`, `"x":` + first},
		{"a field", `{"queryType":"timeseries",` + all + `,` + field + `}`, `"p":` + second},
		{"the result of a query", `{"queryType":"timeseries","dataSource":{"type":"query","query":{"queryType":"scan","dataSource":"nine","intervals":"2024-01-01/2024-01-02",` +
			`"columns":["__time","k","n"],"resultFormat":"compactedList"}},` + strings.TrimPrefix(all, `"dataSource":"nine",`) + `,` + raw + `}`, `"x":` + first},
	} {
		status, _, got := post(t, s, "/service/v2", c.body)
		if status != http.StatusOK || !strings.Contains(got, c.want) {
			t.Errorf("%s: status %d, %s, want %s", c.name, status, got, c.want)
		}
	}
}
