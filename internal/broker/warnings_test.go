package broker

import (
	"fmt"
	"strings"
	"testing"
)

func TestWarningsOfQueries(t *testing.T) {
	var w warnings
	if got := w.join(`{"a":1}`); got != `{"a":1}` {
		t.Error(got)
	}
	w.add("Spalte [ä😀] \"x\"\n")
	if got, want := w.join("{}"), `{"warnings":["Spalte [\u00e4\ud83d\ude00] \"x\"\n"]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := w.join(`{"a":1}`); !strings.HasPrefix(got, `{"a":1,"warnings":[`) {
		t.Error(got)
	}
	for i := range 8 {
		w.add(fmt.Sprint(i, strings.Repeat("x", 1000)))
	}
	if got := w.join("{}"); strings.Count(got, "xxx...") != 4 || !strings.HasSuffix(got, `,"[4] more warnings are left out"]}`) {
		t.Error(got)
	}
}
