package main

import (
	"strings"
	"testing"
)

// Columns are aligned whatever the width of letters is.
func TestColumnsOfWideLetters(t *testing.T) {
	var out strings.Builder
	if _, err := printTable(&out, strings.NewReader(`["city","n"]`+"\n"+`["東京",1]`+"\n"+`["Bern",2]`+"\n")); err != nil {
		t.Fatal(err)
	}
	if want := "city | n\n-----+--\n東京 | 1\nBern | 2\n"; out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}
