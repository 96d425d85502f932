package syntax

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	gotoken "go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

// source returns the text at a place.
func source(text string, at fault.Span) string {
	lines := strings.Split(text, "\n")[at.Line-1 : at.EndLine]
	last := len(lines) - 1
	lines[last] = string([]rune(lines[last])[:at.EndColumn])
	lines[0] = string([]rune(lines[0])[at.Column-1:])
	return strings.Join(lines, "\n")
}

func TestSpans(t *testing.T) {
	const text = "SELECT a + (b * 'é') AS x,\n  SUM(DISTINCT c) FILTER (WHERE d) OVER (ORDER BY e DESC) y\n" +
		"FROM s.t AS u (p) JOIN (SELECT 1) v ON u.a = v.b\n" +
		"WHERE NOT f IN (1, 2) ORDER BY g.h NULLS LAST"
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	Walk(s.Statement, func(n Node) bool {
		got = append(got, fmt.Sprintf("%s %s", strings.TrimPrefix(fmt.Sprintf("%T", n), "*syntax."), source(text, n.Span())))
		return true
	})
	for _, want := range []string{
		"Query " + text, "SelectItem a + (b * 'é') AS x", "Binary a + (b * 'é')", "Binary b * 'é'", "String 'é'",
		"SelectItem SUM(DISTINCT c) FILTER (WHERE d) OVER (ORDER BY e DESC) y", "Call SUM(DISTINCT c) FILTER (WHERE d) OVER (ORDER BY e DESC)",
		"Window (ORDER BY e DESC)", "OrderItem e DESC", "Join s.t AS u (p) JOIN (SELECT 1) v ON u.a = v.b", "Aliased s.t AS u (p)",
		"Table s.t", "Derived (SELECT 1)", "Binary u.a = v.b", "Name v.b", "Unary NOT f IN (1, 2)", "InList f IN (1, 2)",
		"OrderItem g.h NULLS LAST",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no node %q among\n%s", want, strings.Join(got, "\n"))
		}
	}
}

// Every node has a place, inside that of the node it belongs to.
func TestCorpusSpans(t *testing.T) {
	inside := func(a, b fault.Span) bool {
		start := a.Line > b.Line || a.Line == b.Line && a.Column >= b.Column
		end := a.EndLine < b.EndLine || a.EndLine == b.EndLine && a.EndColumn <= b.EndColumn
		return start && end
	}
	for _, r := range readCorpus(t) {
		s, err := Parse(r.SQL)
		if err != nil {
			continue
		}
		var check func(parent Node)
		check = func(parent Node) {
			Walk(parent, func(n Node) bool {
				if n == parent {
					return true
				}
				if symbol, ok := n.(*Symbol); ok && symbol.Word == "BOTH" {
					return false // may be implied
				}
				if n.Span().IsZero() || !inside(n.Span(), parent.Span()) {
					t.Errorf("%s: %T %s at %v is not inside %T at %v", r.SQL, n, Print(n), n.Span(), parent, parent.Span())
				}
				check(n)
				return false
			})
		}
		check(s.Statement)
	}
}

func TestWalkLeavesOut(t *testing.T) {
	s, err := Parse("SELECT a, (SELECT b FROM t) FROM u WHERE c IN (SELECT d FROM v)")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	Walk(s.Statement, func(n Node) bool {
		if name, ok := n.(*Name); ok {
			names = append(names, name.Parts[0].Name)
		}
		return n == Node(s.Statement) || !isQuery(n)
	})
	if got := strings.Join(names, " "); got != "a u c" {
		t.Errorf("got %s", got)
	}
}

func isQuery(n Node) bool {
	_, ok := n.(*Query)
	return ok
}

func TestRewrite(t *testing.T) {
	toOne := func(e Expr) Expr {
		if _, ok := e.(*Param); ok {
			return &Number{Text: "1"}
		}
		return e
	}
	for _, c := range []struct{ in, want string }{
		{"? + a", "1 + a"},
		{"f(?, a) FILTER (WHERE ?) OVER (PARTITION BY ? ORDER BY ? ROWS ? PRECEDING)",
			"F(1, a) FILTER (WHERE 1) OVER (PARTITION BY 1 ORDER BY 1 ROWS 1 PRECEDING)"},
		{"CASE ? WHEN ? THEN ? ELSE ? END", "CASE 1 WHEN 1 THEN 1 ELSE 1 END"},
		{"? AND ? AND NOT ? IS NULL", "1 AND 1 AND NOT 1 IS NULL"},
		{"a BETWEEN ? AND ?", "a BETWEEN 1 AND 1"},
		{"? IN (a, ?)", "1 IN (a, 1)"},
		{"? IN (SELECT ?)", "1 IN (SELECT ?)"},
		{"? LIKE ? ESCAPE ?", "1 LIKE 1 ESCAPE 1"},
		{"a = ANY (?, 2)", "a = ANY (1, 2)"},
		{"CAST(? AS BIGINT)", "CAST(1 AS BIGINT)"},
		{"ARRAY[?][?]", "ARRAY[1][1]"},
		{"ROW(?, a)", "ROW(1, a)"},
		{"f(a => ?).b", "F(a => 1).b"},
		{"JSON_VALUE(a, ? DEFAULT ? ON EMPTY)", "JSON_VALUE(a, 1 DEFAULT 1 ON EMPTY)"},
		{"LISTAGG(a ORDER BY ?) WITHIN GROUP (ORDER BY b, ?)", "LISTAGG(a ORDER BY 1) WITHIN GROUP (ORDER BY b, 1)"},
	} {
		e, err := ParseExpr(c.in)
		if err != nil {
			t.Fatal(err)
		}
		before := Print(e)
		if got := Print(Rewrite(e, toOne)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
		if after := Print(e); after != before {
			t.Errorf("%s: Rewrite changed its argument to %s", c.in, after)
		}
		if same := Rewrite(e, func(e Expr) Expr { return e }); same != e {
			t.Errorf("%s: Rewrite that changes nothing copied the tree", c.in)
		}
	}
	if Rewrite(nil, toOne) != nil {
		t.Error("Rewrite of nothing is something")
	}
}

// Every switch over a sum type has a case for each of its nodes.
func TestSwitchesAreComplete(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	members := map[string][]string{} // marker method -> node types
	functions := map[string]map[string]bool{}
	for _, name := range files {
		file, err := goparser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			receiver := ""
			if f.Recv != nil {
				of := f.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				if id, ok := of.(*ast.Ident); ok {
					receiver = id.Name
				}
			}
			switch f.Name.Name {
			case "statement", "body", "groupItem", "tableExpr", "expr":
				if len(f.Body.List) == 0 {
					members[f.Name.Name] = append(members[f.Name.Name], receiver)
				}
			}
			cases := map[string]bool{}
			ast.Inspect(f, func(n ast.Node) bool {
				if clause, ok := n.(*ast.CaseClause); ok {
					for _, e := range clause.List {
						if star, ok := e.(*ast.StarExpr); ok {
							cases[fmt.Sprint(star.X)] = true
						}
					}
				}
				return true
			})
			functions[receiver+"."+f.Name.Name] = cases
		}
	}
	for function, marker := range map[string]string{
		"walker.statementParts": "statement", "walker.bodyParts": "body", "walker.groupParts": "groupItem", "walker.tableParts": "tableExpr",
		"walker.exprParts": "expr", "rewriter.parts": "expr", "printer.statement": "statement", "printer.body": "body",
		"printer.groupItem": "groupItem", "printer.table": "tableExpr", "printer.expr": "expr",
	} {
		if len(members[marker]) == 0 {
			t.Fatalf("no node has the method %s", marker)
		}
		for _, node := range members[marker] {
			if !functions[function][node] {
				t.Errorf("%s has no case for %s", function, node)
			}
		}
	}
	// Both functions take the structs of no sum type.
	for node := range functions["walker.otherParts"] {
		if !functions["printer.other"][node] {
			t.Errorf("printer.other has no case for %s", node)
		}
	}
}
