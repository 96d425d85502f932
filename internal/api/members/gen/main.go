// Command gen writes vocabulary.json of package members: the names that members of request bodies
// can have. It collects the JSON tags and similar strings from the packages that read the bodies.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// readers are the packages that read the bodies of a family, below internal.
var readers = map[string][]string{
	"sql": {"api/sql", "api/statements"},
	"spec": {
		"ingest", "tasktype", "native", "api/sampler", "api/tasks", "task", "lookup", "chrono", "timeline", "deepstore", "segment",
		"supervisor", "api/supervisors", "stream", "duty/compact",
	},
	"native":   {"native", "api/nativequery", "lookup", "chrono"},
	"settings": {"duty", "api/coordinator", "api/data", "api/tasks", "task", "lookup", "api/lookups", "ingest/spec", "chrono", "cluster"},
}

var name = regexp.MustCompile(`^[a-z][A-Za-z0-9]{2,59}$`)

func main() {
	file := "vocabulary.json"
	if len(os.Args) > 1 {
		file = os.Args[1]
	}
	if err := write(file, "../.."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write writes the vocabulary of the packages below a folder.
func write(file, internal string) error {
	out := map[string][]string{}
	for family, packages := range readers {
		names := map[string]bool{}
		for _, p := range packages {
			if err := collect(filepath.Join(internal, p), names); err != nil {
				return err
			}
		}
		for n := range names {
			out[family] = append(out[family], n)
		}
		slices.Sort(out[family])
	}
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func collect(dir string, names map[string]bool) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field:
				if n.Tag != nil {
					tag, _ := strconv.Unquote(n.Tag.Value) // the parser has read it
					wire, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
					add(names, wire)
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					text, _ := strconv.Unquote(n.Value) // likewise
					add(names, text)
				}
			}
			return true
		})
		return nil
	})
}

func add(names map[string]bool, text string) {
	if name.MatchString(text) {
		names[text] = true
	}
}
