package sql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/plan"
)

// A query in queries that uses a column of the outermost of them joins its values once, however
// deep it is.
func TestPassedColumns(t *testing.T) {
	const depth = 20
	condition := "TRUE"
	for i := depth; i > 0; i-- {
		condition = fmt.Sprintf("EXISTS (SELECT 1 FROM t t%d WHERE t%d.cnt >= t0.cnt AND %s)", i, i, condition)
	}
	s, err := Prepare(t.Context(), Request{Text: "SELECT COUNT(*) FROM t t0 WHERE " + condition, Catalog: tables})
	if err != nil {
		t.Fatal(err)
	}
	if scans := strings.Count(plan.Format(s.Plan), "Scan"); scans != 2*depth+1 {
		t.Errorf("%d scans, want one for each query and one for the values in each but the outermost:\n%s", scans, plan.Format(s.Plan))
	}
}
