package sql

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/plan"
)

// CLUSTERED BY names what an ORDER BY could: what is no output column is computed beside them, and
// not stored.
func TestClusteredBy(t *testing.T) {
	for text, want := range map[string]struct {
		cluster []int
		hidden  int
		names   string
	}{
		`SELECT __time, dim1, m2 FROM t PARTITIONED BY DAY CLUSTERED BY 3, dim1`:                                {[]int{2, 1}, 0, "m2 dim1"},
		`SELECT __time, dim1 FROM t PARTITIONED BY DAY CLUSTERED BY UPPER(dim1), dim1`:                          {[]int{2, 1}, 1, `UPPER("dim1") dim1`},
		`SELECT __time, dim1 FROM t PARTITIONED BY DAY CLUSTERED BY dim2`:                                       {[]int{2}, 1, "dim2"},
		`SELECT __time, dim1, CEIL(m2) AS c FROM t PARTITIONED BY DAY CLUSTERED BY CEIL(m2)`:                    {[]int{2}, 0, `CEIL("m2")`},
		`SELECT __time, dim1 AS x FROM t PARTITIONED BY DAY CLUSTERED BY m2 + 1, x, cnt`:                        {[]int{2, 1, 3}, 2, `"m2" + 1 x cnt`},
		`SELECT __time, dim1, COUNT(*) AS n FROM t GROUP BY 1, 2 PARTITIONED BY DAY CLUSTERED BY SUM(m2), dim1`: {[]int{3, 1}, 1, `SUM("m2") dim1`},
		`SELECT dim1 FROM t UNION ALL SELECT dim2 FROM t PARTITIONED BY ALL CLUSTERED BY UPPER(dim1)`:           {[]int{1}, 1, `UPPER("dim1")`},
		`SELECT dim1 FROM t LIMIT 3 PARTITIONED BY ALL CLUSTERED BY cnt`:                                        {[]int{1}, 1, "cnt"},
	} {
		s, err := prepare("REPLACE INTO x OVERWRITE ALL "+text, func(r *Request) { r.Engine = MSQ })
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		w := s.Plan.(*plan.Write)
		if d := cmp.Diff(want.cluster, w.Cluster); d != "" || w.Hidden != want.hidden || len(w.Columns()) != len(s.Columns) {
			t.Errorf("%s: hidden %d, columns %d of %d\n%s%s", text, w.Hidden, len(w.Columns()), len(s.Columns), d, plan.Format(w))
		}
		if got := strings.Join(s.Target.ClusteredBy, " "); got != want.names {
			t.Errorf("%s: clustered by [%s], want [%s]", text, got, want.names)
		}
	}
	for text, want := range map[string]string{
		`SELECT __time, dim1 FROM t PARTITIONED BY DAY CLUSTERED BY nosuch`:           "nosuch",
		`SELECT DISTINCT dim1 FROM t PARTITIONED BY ALL CLUSTERED BY cnt`:             "cnt",
		`SELECT __time, dim1 FROM t PARTITIONED BY DAY CLUSTERED BY SUM(m2)`:          "",
		`SELECT __time, dim1 FROM t PARTITIONED BY DAY CLUSTERED BY UPPER(dim1) DESC`: "cannot sort in descending order",
	} {
		if _, err := prepare("INSERT INTO x "+text, func(r *Request) { r.Engine = MSQ }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
