// Package arch checks the rules of the code base: imports between layers, dependencies of the
// binary, and package comments.
package arch

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

const module = "github.com/hengedb/henge"

// layer is a row of the table in docs/architecture.md.
type layer struct {
	name     string
	packages []string
	// may are the layers (or single packages) it may import beside its own.
	may []string
}

// readLayers reads the table, so that the document and the code can't drift apart.
func readLayers(t *testing.T) []layer {
	t.Helper()
	f, err := os.Open("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var layers []layer
	in := false
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "| Layer |"):
			in = true
		case in && !strings.HasPrefix(line, "|"):
			in = false
		case in && !strings.HasPrefix(line, "|---"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			if len(cells) != 3 {
				t.Fatalf("row %q of the import table has %d cells, want 3", line, len(cells))
			}
			layers = append(layers, layer{name: strings.TrimSpace(cells[0]), packages: strings.Fields(cells[1]), may: strings.Fields(cells[2])})
		}
	}
	if len(layers) == 0 {
		t.Fatal("docs/architecture.md has no import table")
	}
	return layers
}

// top returns the folder of a package below internal/: "sql" for internal/sql/syntax.
func top(path string) string {
	rest, ok := strings.CutPrefix(path, module+"/internal/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

type goPackage struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p goPackage
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	return packages
}

func TestLayersImportDownwardsOnly(t *testing.T) {
	layers := readLayers(t)
	of, may := map[string]string{}, map[string]map[string]bool{}
	for _, l := range layers {
		may[l.name] = map[string]bool{l.name: true}
		for _, m := range l.may {
			may[l.name][m] = true
		}
		for _, p := range l.packages {
			of[p] = l.name
			if _, err := os.Stat("../../internal/" + p); err != nil {
				t.Errorf("the import table names package [%s], which does not exist: take it out, or build it", p)
			}
		}
	}
	for _, p := range listPackages(t) {
		from := top(p.ImportPath)
		if from == "" || from == "testkit" {
			continue
		}
		if of[from] == "" {
			t.Errorf("package [%s] is in no layer of docs/architecture.md: add it to the row it belongs to", from)
			continue
		}
		for _, imported := range p.Imports {
			to := top(imported)
			switch {
			case to == "" || to == from:
			case to == "testkit":
				t.Errorf("%s imports %s, which is for tests only", p.ImportPath, imported)
			case !may[of[from]][of[to]] && !may[of[from]][from+">"+to]:
				t.Errorf("%s (layer %s) imports %s (layer %s): layers import downwards only. Move the code, or let the importer declare an interface that the layer above fills",
					p.ImportPath, of[from], imported, of[to])
			}
		}
	}
}

func TestQuestionsImportOneWay(t *testing.T) {
	forbidden := map[string][]string{
		"expr":   {"plan", "sql", "native", "exec", "dispatch", "explain"},
		"plan":   {"sql", "native", "exec", "dispatch", "explain"},
		"exec":   {"sql", "native", "explain"},
		"sql":    {"native", "exec", "dispatch", "explain"},
		"native": {"sql", "exec", "dispatch", "explain"},
	}
	for _, p := range listPackages(t) {
		for _, imported := range p.Imports {
			for _, no := range forbidden[top(p.ImportPath)] {
				if top(imported) == no {
					t.Errorf("%s imports %s: sql and native use plan, plan uses expr, exec runs plans, explain shows them; never back",
						p.ImportPath, imported)
				}
			}
		}
	}
}

// TestServersAndEdgeImportOneWay looks inside the layers service and edge, as
// TestQuestionsImportOneWay does inside questions.
func TestServersAndEdgeImportOneWay(t *testing.T) {
	// may names what packages of the layer service use of their own layer: nothing unless it is here.
	may := map[string]string{"broker": "query", "tasktype": "query broker overlord"}
	service := map[string]bool{}
	for _, l := range readLayers(t) {
		for _, p := range l.packages {
			service[p] = service[p] || l.name == "service"
		}
	}
	for _, p := range listPackages(t) {
		from := top(p.ImportPath)
		for _, imported := range p.Imports {
			to := top(imported)
			if service[from] && service[to] && from != to && !slices.Contains(strings.Fields(may[from]), to) {
				t.Errorf("%s imports %s: servers do not use each other; let %s declare an interface that role fills", p.ImportPath, imported, from)
			}
			if to == "role" && from != "role" && from != "testkit" && from != "" {
				t.Errorf("%s imports %s: role wires everything and is imported by the command only", p.ImportPath, imported)
			}
		}
	}
}

func TestOnlyTheEdgeServesHTTP(t *testing.T) {
	for _, p := range listPackages(t) {
		name := top(p.ImportPath)
		if name == "api" || name == "role" || name == "testkit" || name == "console" || name == "" {
			continue
		}
		inspect(t, p.ImportPath, func(path string, f *ast.File) {
			ast.Inspect(f, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := sel.X.(*ast.Ident); ok && x.Name == "http" && (sel.Sel.Name == "ListenAndServe" || sel.Sel.Name == "ServeMux" || sel.Sel.Name == "NewServeMux") {
						t.Errorf("%s uses http.%s: only packages api and role serve HTTP", path, sel.Sel.Name)
					}
				}
				return true
			})
		})
	}
}

// inspect parses the files of a package that are no tests.
func inspect(t *testing.T, importPath string, see func(path string, f *ast.File)) {
	t.Helper()
	dir := filepath.Join("../..", strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/"))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		see(path, f)
	}
}

func TestTimeComesFromTheClock(t *testing.T) {
	for _, p := range listPackages(t) {
		if top(p.ImportPath) == "clock" || top(p.ImportPath) == "testkit" || top(p.ImportPath) == "" {
			continue
		}
		inspect(t, p.ImportPath, func(path string, f *ast.File) {
			ast.Inspect(f, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
						switch sel.Sel.Name {
						case "Now", "Sleep", "After", "Since", "Until", "NewTimer", "NewTicker", "Tick", "AfterFunc":
							t.Errorf("%s uses time.%s: take a clock.Clock, so that tests can step it", path, sel.Sel.Name)
						}
					}
				}
				return true
			})
		})
	}
}

func TestPackagesSayWhatTheyGive(t *testing.T) {
	for _, p := range listPackages(t) {
		if strings.Contains(p.ImportPath, "/test/") {
			continue
		}
		said := false
		inspect(t, p.ImportPath, func(_ string, f *ast.File) {
			if f.Doc != nil && len(strings.TrimSpace(f.Doc.Text())) > 40 {
				said = true
			}
		})
		if !said {
			t.Errorf("%s has no package comment: say in the first sentence what it gives, then its central type, who uses it, and what is elsewhere", p.ImportPath)
		}
	}
}

// TestDependenciesAreListed compares what the binary links with the table in docs/dependencies.md.
func TestDependenciesAreListed(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Indirect}}{{end}}{{end}}", "./cmd/henge")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	direct := map[string]bool{}
	for line := range strings.SplitSeq(string(out), "\n") {
		if path, indirect, _ := strings.Cut(line, " "); path != "" && indirect == "false" {
			direct[path] = true
		}
	}
	text, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(string(text), -1) {
		listed[m[1]] = true
	}
	var problems []string
	for path := range direct {
		if !listed[path] {
			problems = append(problems, fmt.Sprintf("module [%s] is linked into the binary and has no line in docs/dependencies.md: say what for, why it, and its licence", path))
		}
	}
	for path := range listed {
		if !direct[path] && !strings.Contains(string(text), "`"+path+"` (tests)") {
			problems = append(problems, fmt.Sprintf("docs/dependencies.md lists module [%s], which the binary does not link: take the line out", path))
		}
	}
	sort.Strings(problems)
	for _, p := range problems {
		t.Error(p)
	}
}
