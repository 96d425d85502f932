package sql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/plan"
)

// TestLongChainsOfJoinsAreCountedOnce: the rows of tables, which the caller looks up, are asked for
// a few times for each join, not for each pair or three of them.
func TestLongChainsOfJoinsAreCountedOnce(t *testing.T) {
	const joins, times = 199, 20
	var b strings.Builder
	b.WriteString("SELECT COUNT(*) FROM t AS t0")
	for i := 1; i <= joins; i++ {
		fmt.Fprintf(&b, " JOIN t AS t%d ON t%d.dim1 = t%d.dim1", i, i-1, i)
	}
	s, err := prepare(b.String())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	plan.Optimize(s.Plan, plan.Options{Context: s.Env(), Rows: func(*plan.Scan) float64 { asked++; return 1e6 }})
	if asked > joins*times {
		t.Errorf("%d joins asked for rows %d times", joins, asked)
	}
}
