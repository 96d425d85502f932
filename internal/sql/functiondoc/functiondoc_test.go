package functiondoc

import (
	"os"
	"strings"
	"testing"
)

func TestReferenceIsGenerated(t *testing.T) {
	got, err := os.ReadFile("../../../docs/functions.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Markdown() {
		t.Error("docs/functions.md is out of date: run go generate ./internal/sql/functiondoc")
	}
}

func TestEveryFunctionIsDescribed(t *testing.T) {
	for line := range strings.SplitSeq(Markdown(), "\n") {
		if strings.HasPrefix(line, "| `") && strings.HasSuffix(line, "|  |") {
			t.Errorf("a function without a sentence: %s", line)
		}
	}
}
