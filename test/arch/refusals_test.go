package arch

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/pending"
	"github.com/hengedb/henge/internal/testkit/server"
)

var update = flag.Bool("update", false, "take what passes out of the lists of exceptions")

// refusing are the packages whose refusals of statements and queries are held against the tests.
var refusing = []string{"agg", "expr", "native", "plan", "sql"}

// refuses are the functions that make a refusal of a format.
var refuses = []string{"InvalidSQL", "UnsupportedSQL", "InvalidInput", "Unsupported", "ResourceLimit", "refuse", "invalid", "fail", "notFound"}

// Every message with which a statement or a native query is refused is in a test, or in a recording
// that one replays: the longest part of it that is always the same. What can't be brought about is
// in testdata/refusals.txt with the reason.
func TestEveryRefusalHasATest(t *testing.T) {
	shared := server.Shared(t)
	excused := pending.Read(t, "testdata/refusals.txt")
	tests := textOf(t, "../..", func(path string) bool {
		return strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".slt") || strings.Contains(path, "/testdata/") && !strings.HasSuffix(path, "refusals.txt")
	}) + textOf(t, filepath.Join(shared, "golden"), func(path string) bool { return strings.Contains(filepath.Ext(path), "json") })
	outcome := pending.Outcome{}
	for _, dir := range refusing {
		for place, formats := range formatsIn(t, filepath.Join("../../internal", dir)) {
			for _, format := range formats {
				part := longestPart(format)
				if len(part) < leastPart {
					continue
				}
				name := strings.ReplaceAll(place+":"+part, " ", "_")
				outcome[name] = ""
				if !strings.Contains(tests, part) {
					outcome[name] = "no test has this message"
				}
			}
		}
	}
	for _, name := range excused.Names() {
		if excused.Reason(name) == "" {
			t.Errorf("refusals.txt gives no reason for [%s]", name)
		}
	}
	excused.Settle(t, outcome, true, *update)
}

// leastPart is from how many letters on a part of a message tells it from others.
const leastPart = 8

// seam is between two pieces of a text in Go.
var seam = regexp.MustCompile(`"\s*\+\s*"`)

// textOf returns the text of the files below a folder that are wanted, without the backslashes of
// escapes, and texts in several pieces in one.
func textOf(t *testing.T, dir string, wanted func(path string) bool) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !wanted(path) {
			return err
		}
		data, err := os.ReadFile(path)
		all.WriteString(seam.ReplaceAllString(strings.ReplaceAll(string(data), `\`, ""), ""))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// formatsIn returns the formats of refusals in the Go files below a folder, by file.
func formatsIn(t *testing.T, dir string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		place := strings.TrimPrefix(filepath.ToSlash(path), "../../internal/")
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains(refuses, calledName(call.Fun)) {
				return true
			}
			for _, arg := range call.Args {
				if format, ok := constantText(arg); ok {
					out[place] = append(out[place], format)
					break
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func calledName(fn ast.Expr) string {
	switch x := fn.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// constantText returns a text that is written out, in one piece or several.
func constantText(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(x.Value)
		return s, err == nil && x.Kind == token.STRING
	case *ast.BinaryExpr:
		l, isText := constantText(x.X)
		r, also := constantText(x.Y)
		return l + r, isText && also && x.Op == token.ADD
	}
	return "", false
}

// verb is what something is put in place of; no test has messages of several lines in one piece.
var verb = regexp.MustCompile(`%(\[\d+\])?[.\d]*[a-zA-Z]|\n`)

// longestPart returns the longest part of a format between its verbs.
func longestPart(format string) string {
	parts := verb.Split(strings.ReplaceAll(format, `\`, ""), -1)
	return strings.TrimSpace(slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) }))
}
