package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/obs"
)

// metricName is what a metric of the interface is called in the source; a star stands for what is
// known at run time only.
var metricName = regexp.MustCompile(`^[a-z][A-Za-z]*(/[A-Za-z*]+)+$`)

// ownName is what the metrics are called that are Henge's own.
var ownName = regexp.MustCompile(`^henge_[a-z_]+_(total|bytes|seconds)$|` +
	`^henge_(queries|tasks|disk|segments|task|trace|build|published|datasources)[a-z_]*$`)

// Every metric of the interface that the source measures says in internal/obs/helps.txt what it is,
// and every entry there is of a metric.
func TestEveryMetricHasHelp(t *testing.T) {
	areas := map[string]bool{}
	var entries []string
	for name, text := range obs.Helps() {
		if area, _, ok := strings.Cut(name, "/"); ok {
			areas[area] = true
		}
		if slices.Contains(entries, name) {
			t.Errorf("metric [%s] has two entries", name)
		}
		entries = append(entries, name)
		if len(text) < 15 || !strings.HasSuffix(text, ".") {
			t.Errorf("the entry of metric [%s] is no sentence: %s", name, text)
		}
	}
	used := map[string]bool{}
	for name, place := range metricsIn(t, "../../internal", areas) {
		known := false
		for _, e := range entries {
			if matches(name, ".*", e) || matches(e, "[^/]+", name) {
				known, used[e] = true, true
			}
		}
		if !known {
			t.Errorf("%s measures [%s], of which internal/obs/helps.txt has no entry", place, name)
		}
	}
	for _, e := range entries {
		if !used[e] {
			t.Errorf("nothing measures [%s], of which internal/obs/helps.txt has an entry", e)
		}
	}
}

// matches reports whether a name is of a pattern, whose stars stand for what star does.
func matches(pattern, star, name string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, star) + "$").MatchString(name)
}

// metricsIn returns the names of metrics below a folder, with a place of each: texts with slashes
// whose first part is an area of metrics, in files that use package obs.
func metricsIn(t *testing.T, root string, areas map[string]bool) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(file string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		measures := parsed.Name.Name == "assign" || slices.ContainsFunc(parsed.Imports, func(i *ast.ImportSpec) bool {
			return i.Path.Value == `"github.com/hengedb/henge/internal/obs"`
		}) || slices.Contains([]string{"obs", "broker", "dispatch", "exec", "streaming", "streams"}, parsed.Name.Name)
		if !measures {
			return nil
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if _, imports := n.(*ast.ImportSpec); imports {
				return false
			}
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, whole := pattern(e)
			if area, _, _ := strings.Cut(text, "/"); metricName.MatchString(text) && areas[area] || ownName.MatchString(text) {
				out[text] = fset.Position(n.Pos()).String()
			}
			return !whole
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// pattern returns the text that an expression is, with a star for each part that is no literal;
// false: it is no text.
func pattern(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		x, xOK := pattern(e.X)
		y, yOK := pattern(e.Y)
		if !xOK && !yOK {
			return "", false
		}
		if !xOK {
			x = "*"
		}
		if !yOK {
			y = "*"
		}
		return x + y, true
	}
	return "", false
}
