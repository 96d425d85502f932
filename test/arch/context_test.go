package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// contextName matches the names of variables that hold a query context.
var contextName = regexp.MustCompile(`(?i)(^|\.)(\w*context|settings|merged)(\(\))?$`)

// faultKeys are members of the context of a fault, which has the same name.
var faultKeys = map[string]bool{"suggestion": true, "line": true, "column": true, "endLine": true, "endColumn": true, "sourceType": true}

// Query contexts are read and written through the list of package querycontext: a key in quotes
// would be a parameter that docs/context.md does not name.
func TestNoQuotedContextKeys(t *testing.T) {
	for _, dir := range []string{"../../internal", "../../cmd"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(path, "/querycontext/") || strings.Contains(path, "/testkit/") {
				return err
			}
			for _, found := range quotedContextKeys(t, path, nil) {
				t.Errorf("%s: read it with a parameter of internal/querycontext/params.go", found)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found := quotedContextKeys(t, "x.go", `package x
		func f() { _ = r.Context["timeout"]; _ = q.Context()["lane"]; _ = err.Context["line"]; _ = other["timeout"]; _, _ = context["mode"] }`); len(found) != 3 {
		t.Errorf("the test itself finds %q", found)
	}
}

func quotedContextKeys(t *testing.T, path string, src any) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		x, ok := n.(*ast.IndexExpr)
		if !ok {
			return true
		}
		literal, ok := x.Index.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING || !contextName.MatchString(nameOf(x.X)) {
			return true
		}
		if key, err := strconv.Unquote(literal.Value); err == nil && !faultKeys[key] {
			out = append(out, files.Position(x.Pos()).String()+" ["+key+"]")
		}
		return true
	})
	return out
}

// nameOf writes names, selectors and calls of them, as in r.Context().
func nameOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return nameOf(x.X) + "." + x.Sel.Name
	case *ast.CallExpr:
		return nameOf(x.Fun) + "()"
	}
	return ""
}
