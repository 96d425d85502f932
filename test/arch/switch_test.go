package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sumTypes are interfaces with an unexported marker method, whose types are known: by package, the
// marker.
var sumTypes = map[string]string{
	"internal/plan": "node", "internal/expr": "expr", "internal/native": "filter", "internal/sql/syntax": "expr",
}

// TestSwitchesCoverEveryType holds type switches over a sum type to all of its types: one that
// names most of them, has no default clause and ends its function means all, and would pass over a
// type that comes later. What stands behind a switch is for all other types; a switch over a few
// types is left alone.
func TestSwitchesCoverEveryType(t *testing.T) {
	members := map[string][]string{} // by package
	files, positions := map[string]*ast.File{}, token.NewFileSet()
	for _, name := range goFiles(t) {
		if strings.HasSuffix(name, "_test.go") || !strings.HasPrefix(name, "internal/") {
			continue
		}
		f, err := parser.ParseFile(positions, filepath.Join("../..", name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = f
		marker, ok := sumTypes[path.Dir(name)]
		if !ok {
			continue
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv != nil && fn.Name.Name == marker && len(fn.Type.Params.List) == 0 && fn.Type.Results == nil {
				of, _, _ := strings.Cut(functionName(fn), ".")
				members[path.Dir(name)] = append(members[path.Dir(name)], of)
			}
		}
	}
	for dir := range sumTypes {
		if len(members[dir]) < 5 {
			t.Fatalf("package %s has the types %v with its marker", dir, members[dir])
		}
	}
	checked := 0
	for name, f := range files {
		imports := map[string]string{}
		for _, im := range f.Imports {
			full, err := strconv.Unquote(im.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			local := path.Base(full)
			if im.Name != nil {
				local = im.Name.Name
			}
			imports[local] = strings.TrimPrefix(full, module+"/")
		}
		ast.Inspect(f, func(n ast.Node) bool {
			body, ok := n.(*ast.BlockStmt)
			if !ok || len(body.List) == 0 {
				return true
			}
			sw, ok := body.List[len(body.List)-1].(*ast.TypeSwitchStmt)
			if !ok {
				return true
			}
			named, hasDefault := casesOf(sw, path.Dir(name), imports)
			for dir, names := range named {
				all := members[dir]
				names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(all, name) })
				if hasDefault || 2*len(names) <= len(all) {
					continue
				}
				checked++
				missing := slices.DeleteFunc(slices.Clone(all), func(m string) bool { return slices.Contains(names, m) })
				if len(missing) > 0 {
					t.Errorf("%s:%d: a type switch over %d types of %s has no case for %v: add them, or a default clause that says why not",
						name, positions.Position(sw.Pos()).Line, len(names), dir, missing)
				}
			}
			return true
		})
	}
	t.Logf("%d switches name all types", checked)
}

// casesOf returns the types of sum types that a switch names, by package, and whether it has a
// default clause.
func casesOf(sw *ast.TypeSwitchStmt, dir string, imports map[string]string) (named map[string][]string, hasDefault bool) {
	named = map[string][]string{}
	for _, s := range sw.Body.List {
		clause := s.(*ast.CaseClause)
		hasDefault = hasDefault || clause.List == nil
		for _, of := range clause.List {
			if p, ok := of.(*ast.StarExpr); ok {
				of = p.X
			}
			in, name := dir, ""
			switch x := of.(type) {
			case *ast.Ident:
				name = x.Name
			case *ast.SelectorExpr:
				if p, ok := x.X.(*ast.Ident); ok {
					in, name = imports[p.Name], x.Sel.Name
				}
			}
			if sumTypes[in] != "" && name != "" && name != "nil" {
				named[in] = append(named[in], name)
			}
		}
	}
	return named, hasDefault
}
