package arch

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	// maxFileLines is for one idea; files mostly run 100 to 400 lines.
	maxFileLines = 800
	// maxFunctionLines is about two screens.
	maxFunctionLines = 100
	// maxPackageFiles is how many files beside tests a reader finds a name in.
	maxPackageFiles = 60
	// maxCommentColumns and maxCodeColumns are in characters; a tab is one.
	maxCommentColumns, maxCodeColumns = 100, 140
)

// goFiles returns the Go files of the repository, relative to its root and sorted. Folders that the
// go command passes over are left out.
func goFiles(t *testing.T) (files []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case strings.HasSuffix(name, ".go"):
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// exceptions is a list of testdata: a name and the number that it may have, one a line.
type exceptions struct {
	path string
	most map[string]int
	now  map[string]int
}

func readExceptions(t *testing.T, name string) *exceptions {
	t.Helper()
	e := &exceptions{path: filepath.Join("testdata", name), most: map[string]int{}, now: map[string]int{}}
	text, err := os.ReadFile(e.path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		number, what, ok := strings.Cut(line, " ")
		n, err := strconv.Atoi(number)
		if !ok || err != nil {
			t.Fatalf("%s: line %q is not a number and a name", e.path, line)
		}
		e.most[what] = n
	}
	return e
}

// check compares what was counted with the list: more than it says fails with the remedy, less asks
// for the list to be shortened.
func (e *exceptions) check(t *testing.T, unit, remedy string) {
	t.Helper()
	shrunk := false
	for _, name := range slices.Sorted(mapsKeys(e.now, e.most)) {
		now, most := e.now[name], e.most[name]
		switch {
		case now > most:
			t.Errorf("%s has %d %s (%d are allowed): %s", name, now, unit, most, remedy)
		case now < most:
			shrunk = true
			if !*update {
				t.Errorf("%s has %d %s, the list %s says %d: shorten it with go test ./test/arch -update", name, now, unit, e.path, most)
			}
		}
	}
	if shrunk && *update && !t.Failed() {
		e.write(t)
	}
}

func (e *exceptions) write(t *testing.T) {
	t.Helper()
	old, err := os.ReadFile(e.path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(old)) {
		if strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	for _, name := range slices.Sorted(mapsKeys(e.now)) {
		if n := e.now[name]; n > 0 {
			fmt.Fprintf(&b, "%d %s\n", n, name)
		}
	}
	if err := os.WriteFile(e.path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// mapsKeys yields the keys of several maps, each once.
func mapsKeys(maps ...map[string]int) func(yield func(string) bool) {
	seen := map[string]bool{}
	return func(yield func(string) bool) {
		for _, m := range maps {
			for k := range m {
				if !seen[k] {
					seen[k] = true
					if !yield(k) {
						return
					}
				}
			}
		}
	}
}

func TestFilesHaveOneIdea(t *testing.T) {
	for _, path := range goFiles(t) {
		text, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > maxFileLines {
			t.Errorf("%s has %d lines, at most %d are allowed: split it by idea (files mostly run 100 to 400 lines)", path, n, maxFileLines)
		}
	}
}

func TestPackagesHaveRoom(t *testing.T) {
	count := map[string]int{}
	for _, path := range goFiles(t) {
		if !strings.HasSuffix(path, "_test.go") {
			count[filepath.Dir(path)]++
		}
	}
	for dir, n := range count {
		if n > maxPackageFiles {
			t.Errorf("package %s has %d files, at most %d are allowed: give a part of it a package of its own", dir, n, maxPackageFiles)
		}
	}
}

func TestFunctionsFitTheEye(t *testing.T) {
	list := readExceptions(t, "long_functions.txt")
	for _, path := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, filepath.Join("../..", path), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := files.Position(fn.End()).Line - files.Position(fn.Pos()).Line + 1; n > maxFunctionLines {
				list.now[filepath.Dir(path)+" "+functionName(fn)] = n
			}
		}
	}
	list.check(t, "lines", "split it by what it does")
}

func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	of := fn.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	switch x := of.(type) {
	case *ast.IndexExpr:
		of = x.X
	case *ast.IndexListExpr:
		of = x.X
	}
	return of.(*ast.Ident).Name + "." + fn.Name.Name
}

// TestLinesAreNarrow refuses comment lines above maxCommentColumns, and counts code lines above
// maxCodeColumns by file. Files that had wide code lines when the rule came are listed; a change
// narrows what it touches.
func TestLinesAreNarrow(t *testing.T) {
	code := readExceptions(t, "wide_lines.txt")
	for _, path := range goFiles(t) {
		f, err := os.Open(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			columns := utf8.RuneCountInString(lines.Text())
			switch comment := strings.HasPrefix(strings.TrimSpace(lines.Text()), "//"); {
			case comment && columns > maxCommentColumns:
				t.Errorf("%s:%d: this comment has [%d] columns: wrap it at %d", path, n, columns, maxCommentColumns)
			case !comment && columns > maxCodeColumns:
				code.now[path]++
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		_ = f.Close() // it was only read
	}
	code.check(t, "wide lines of code", fmt.Sprintf("wrap them at %d columns", maxCodeColumns))
}
