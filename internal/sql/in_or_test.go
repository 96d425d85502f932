package sql

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/plan"
)

// How many rows of an IN subquery are NULL is asked only where it makes a difference whether
// something is false or unknown.
func TestNullsOfINAreCountedWhereTheyCount(t *testing.T) {
	for condition, counted := range map[string]bool{
		"s IN (SELECT s FROM c_dim) OR i = 1":                                     false,
		"i = 1 OR (i = 2 AND (s IN (SELECT s FROM c_dim) OR i = 3))":              false,
		"NOT (s IN (SELECT s FROM c_dim) OR i = 1)":                               true,
		"i = 1 OR s NOT IN (SELECT s FROM c_dim)":                                 true,
		"CASE WHEN s IN (SELECT s FROM c_dim) THEN i = 1 ELSE i = 2 END OR i = 3": true,
	} {
		s, err := prepare("SELECT COUNT(*) FROM c_types WHERE " + condition)
		if err != nil {
			t.Errorf("%s: %v", condition, err)
			continue
		}
		if got := strings.Contains(plan.Format(s.Plan), "$known"); got != counted {
			t.Errorf("%s: NULLs are counted: %v, want %v\n%s", condition, got, counted, plan.Format(s.Plan))
		}
	}
}
