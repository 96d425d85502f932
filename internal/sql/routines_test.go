package sql

import (
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/sql/infoschema"
)

// Every window function is listed in INFORMATION_SCHEMA.ROUTINES, and nothing is listed as one that
// is none.
func TestWindowFunctionsAreListed(t *testing.T) {
	for name := range windowFunctions {
		if !slices.ContainsFunc(infoschema.Windows, func(f infoschema.Form) bool { return f.Name == name }) {
			t.Errorf("window function [%s] is not listed", name)
		}
	}
	for _, f := range infoschema.Windows {
		if windowFunctions[f.Name] == nil {
			t.Errorf("[%s] is listed and is no window function", f.Name)
		}
	}
}
