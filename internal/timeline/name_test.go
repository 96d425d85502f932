package timeline

import (
	"strings"
	"testing"
)

func TestDataSourceProblem(t *testing.T) {
	for name, want := range map[string]string{
		"wiki": "", `a\b`: "", "a b": "", "a.b": "", "ä%2e%2e": "", strings.Repeat("x", 255): "",
		".a": "start with '.'", "..": "start with '.'", "a/b": "'/'", "a\tb": "whitespace", "a\x01b": "control", "a\x7f": "control",
		"a\u0085b": "whitespace", strings.Repeat("x", 256): "[256] bytes", "a\xff": "UTF-8",
	} {
		if got := DataSourceProblem(name); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
