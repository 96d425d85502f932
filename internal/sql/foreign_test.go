package sql

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/expr/catalog"
)

// TestForeignNamesAreForeign: a name that is proposed is a function here, one for which another is
// proposed is none.
func TestForeignNamesAreForeign(t *testing.T) {
	forms := map[string]bool{"CASE": true, "UNNEST": true, "CURRENT_TIMESTAMP": true, "CURRENT_DATE": true}
	known := func(name string) bool {
		_, ok := catalog.Lookup(name)
		return ok || isAggregate(name) || forms[name]
	}
	for foreign, ours := range foreignNames {
		if foreign != strings.ToUpper(foreign) || known(foreign) {
			t.Errorf("[%s] is a function here, or not written in capitals", foreign)
		}
		if name, _, _ := strings.Cut(ours, "("); !known(name) {
			t.Errorf("[%s], proposed for [%s], is no function", ours, foreign)
		}
	}
}
