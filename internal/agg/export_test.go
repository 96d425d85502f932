package agg

import (
	"slices"
	"testing"
)

// Add puts f into the catalog until the test ends, as a line in the table does.
func Add(t testing.TB, f *Function) {
	before := catalog
	catalog = append(slices.Clone(catalog), f)
	byName[f.Name] = f
	t.Cleanup(func() {
		catalog = before
		delete(byName, f.Name)
	})
}
