package sql

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

var rewrite = flag.Bool("rewrite", false, "write what statements give into testdata")

// Files of testdata hold blocks divided by empty lines: comments (#), a statement up to a line
// ----, and what it gives: its plan as it is bound, or the error. With -rewrite the answers are
// replaced.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
				head, want, _ := strings.Cut(block, "\n----")
				var statement []string
				for line := range strings.SplitSeq(head, "\n") {
					if !strings.HasPrefix(line, "#") {
						statement = append(statement, line)
					}
				}
				got := "\n" + describe(strings.Join(statement, "\n"))
				if got != want && !*rewrite {
					t.Errorf("%s\ngives%s\nwant%s", head, got, want)
				}
				out = append(out, head+"\n----"+got)
			}
			if *rewrite {
				if err := os.WriteFile(name, []byte(strings.Join(out, "\n\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// describe returns the plan of a statement, or its error with the place.
func describe(text string) string {
	s, err := prepare(text, func(r *Request) {
		if strings.Contains(text, "INSERT") || strings.Contains(text, "REPLACE INTO") || strings.Contains(text, "EXTERN") {
			r.Engine = MSQ
		}
	})
	if err != nil {
		f := fault.Find(err)
		if f == nil {
			return "no fault: " + err.Error()
		}
		out := string(f.Category) + ": " + f.Message
		if c := f.Context; c["line"] != "" {
			out += "\n  at " + c["line"] + ":" + c["column"] + "-" + c["endLine"] + ":" + c["endColumn"]
		}
		return out
	}
	return strings.TrimSuffix(plan.Format(s.Plan), "\n")
}
