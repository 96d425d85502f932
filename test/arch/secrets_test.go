package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/pending"
)

// plainTypes are types that show a secret when they are printed.
var plainTypes = []string{"string", "*string", "[]string", "[]byte", "map[string]string", "json.RawMessage", "any"}

// A secret in a field of a string type is printed by the first %+v, log line or JSON encoder that
// meets its struct. Fields whose names say secret have a type of package secret; the others are in
// testdata/plain_secrets.txt with the reason, and that list only shrinks.
func TestSecretsHaveTheirType(t *testing.T) {
	excused := pending.Read(t, "testdata/plain_secrets.txt")
	outcome := pending.Outcome{}
	for _, dir := range []string{"../../internal", "../../cmd", "../../bench"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(filepath.ToSlash(path), "/testkit/") {
				return err
			}
			for _, field := range plainSecrets(t, path, nil) {
				outcome[field] = "a secret is kept in secret.Text or secret.Password, which don't print it"
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range excused.Names() {
		if excused.Reason(name) == "" {
			t.Errorf("plain_secrets.txt gives no reason for [%s]", name)
		}
	}
	excused.Settle(t, outcome, true, *update)
	found := plainSecrets(t, "../../x/x.go", `package x
		type a struct { user, Password string; secret []byte; accessKey secret.Text; passwords int }
		func f() { var wire struct { Token *string; Credentials map[string]string } }`)
	if want := []string{"x.a.Password", "x.a.secret", "x.f.Token", "x.f.Credentials"}; !slices.Equal(found, want) {
		t.Errorf("the test itself finds %q", found)
	}
}

// plainSecrets returns the fields of structs in a file whose names say secret and whose types print
// them, as folder.type.field or folder.function.field.
func plainSecrets(t *testing.T, path string, src any) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")
	within := ""
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncDecl:
			within = x.Name.Name
		case *ast.TypeSpec:
			within = x.Name.Name
		case *ast.StructType:
			for _, field := range x.Fields.List {
				for _, name := range field.Names {
					if secret.IsName(name.Name) && slices.Contains(plainTypes, types.ExprString(field.Type)) {
						out = append(out, fmt.Sprintf("%s.%s.%s", folder, within, name.Name))
					}
				}
			}
		}
		return true
	})
	return out
}
