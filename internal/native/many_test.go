package native

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/plan"
)

// endsAfter is a context that ends after some questions whether it has.
type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func many(n int, member string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(member, i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// Every loop over the members of a query ends when its time is up.
func TestTranslationEndsAmongManyMembers(t *testing.T) {
	const head = `"dataSource":"wiki","intervals":"2000/2040","granularity":"all",`
	const n = 1000
	for name, body := range map[string]string{
		"dimensions":       `{"queryType":"groupBy",` + head + `"dimensions":` + many(n, `"d%d"`) + `}`,
		"aggregations":     `{"queryType":"timeseries",` + head + `"aggregations":` + many(n, `{"type":"longSum","fieldName":"added","name":"a%d"}`) + `}`,
		"postAggregations": `{"queryType":"timeseries",` + head + `"postAggregations":` + many(n, `{"type":"constant","value":1,"name":"p%d"}`) + `}`,
		"limitSpec": `{"queryType":"groupBy",` + head + `"dimensions":` + many(n/2, `"d%d"`) +
			`,"limitSpec":{"type":"default","limit":1,"columns":` + many(n/2, `"d%d"`) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			q, err := Decode([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			for _, left := range []int{n / 2, n - 10} {
				if _, err := Translate(&endsAfter{context.Background(), left}, q, wiki{}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %d questions: %v", left, err)
				}
			}
		})
	}
}

// Post-aggregators that read no other are values of one projection; each one that does stands in
// one above.
func TestPostAggregatorsStandSideBySide(t *testing.T) {
	projections := func(posts string) (n int) {
		q, err := Decode([]byte(`{"queryType":"timeseries","dataSource":"wiki","intervals":"2000/2040","granularity":"all",` +
			`"aggregations":[{"type":"count","name":"c"}],"postAggregations":` + posts + `}`))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Translate(context.Background(), q, wiki{})
		if err != nil {
			t.Fatal(err)
		}
		plan.Walk(p.Node, func(x plan.Node) bool {
			if _, ok := x.(*plan.Project); ok {
				n++
			}
			return true
		})
		return n
	}
	one := projections(many(1, `{"type":"expression","expression":"c + 1","name":"p%d"}`))
	if got := projections(many(300, `{"type":"expression","expression":"c + 1","name":"p%d"}`)); got != one {
		t.Errorf("300 have %d projections, one has %d", got, one)
	}
	chain := `[{"type":"expression","expression":"c + 1","name":"p"},{"type":"expression","expression":"p * 2","name":"q"},` +
		`{"type":"expression","expression":"p + q","name":"r"}]`
	if got := projections(chain); got != one+2 {
		t.Errorf("a chain of three has %d projections, one has %d", got, one)
	}
}
