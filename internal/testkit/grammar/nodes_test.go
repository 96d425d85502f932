package grammar_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/sql/syntax"
	"github.com/hengedb/henge/internal/testkit/grammar"
	"github.com/hengedb/henge/internal/testkit/oracle"
)

// untried are parts of syntax trees that no random statement has, with the reason.
var untried = map[string]string{
	"Script.Params": "a parameter means what its literal means: test/sql/parameters", "Param": "see Script.Params", "Param.Index": "see Script.Params",
	"Insert": "writes: test/api", "Insert.Replace": "writes", "Insert.Target": "writes", "Insert.Export": "writes", "Insert.Columns": "writes",
	"Insert.Overwrite": "writes", "Insert.Query": "writes", "Insert.PartitionedBy": "writes", "Insert.ClusteredBy": "writes",
	"Export": "writes", "Export.Destination": "writes", "Export.Format": "writes", "Overwrite": "writes", "Overwrite.Where": "writes",
	"PartitionedBy": "writes", "PartitionedBy.Granularity": "writes",
	"Explain": "gives no rows of data: internal/sql/testdata", "Explain.Analyze": "see Explain", "Explain.Detail": "see Explain",
	"Explain.Format": "see Explain", "Explain.Statement": "see Explain", "Explain.User": "gives no rows of data: test/security",
	"ExplainExcludingAttributes": "see Explain", "ExplainIncludingAttributes": "see Explain", "ExplainIncludingAllAttributes": "see " +
		"Explain",
	"ExplainFormatXML": "see Explain", "ExplainFormatJSON": "see Explain", "ExplainFormatDot": "see Explain",
	"Bytes": "the binder refuses binary strings", "Bytes.Hex": "see Bytes", "Default": "the binder refuses DEFAULT",
	"Time": "the binder refuses TIME literals", "Field": "no type has fields", "Field.X": "see Field", "Field.Name": "see Field",
	"TypeName.Zone": "the binder refuses time zones in types", "WithZone": "see TypeName.Zone", "WithLocalZone": "see TypeName.Zone",
	"TypeName.Fields": "no type has fields", "Call.Qualifier": "no function has one",
	"IsJSON": "the binder refuses IS JSON", "IsJSONObject": "see IsJSON", "IsJSONArray": "see IsJSON", "IsJSONScalar": "see IsJSON",
	"Contains": "the binder refuses operators of periods but OVERLAPS", "Equals": "see Contains", "Precedes": "see Contains",
	"Succeeds": "see Contains", "ImmediatelyPrecedes": "see Contains", "ImmediatelySucceeds": "see Contains",
	"ExplainDefault": "see Explain", "ExplainFormatDefault": "see Explain",
	"JSONBehavior.Value": "the binder refuses behaviors but NULL", "JSONError": "see JSONBehavior.Value", "JSONDefault": "see " +
		"JSONBehavior.Value",
	"JSONTrue": "see JSONBehavior.Value", "JSONFalse": "see JSONBehavior.Value", "JSONUnknown": "see JSONBehavior.Value",
	"JSONEmptyArray": "read and ignored", "JSONEmptyObject": "see JSONEmptyArray",
	"JSONWithWrapper": "see JSONEmptyArray", "JSONWithConditionalWrapper": "see JSONEmptyArray", "JSONAbsentOnNull": "see JSONEmptyArray",
	"TableFunction.Lateral": "a table function reads no columns", "Table.File": "a file of the client: cmd/henge, internal/role/local",
}

// TestNodes checks that the random statements, together, have every kind of node of syntax trees,
// every member of each, and every value of
// their enumerations. What the parser learns later has no production yet, and fails here.
func TestNodes(t *testing.T) {
	seen := seenNodes{parts: map[string]bool{}}
	m := grammar.New(1)
	if _, err := m.Rows(20, 1); err != nil {
		t.Fatal(err)
	}
	parse := func(statements ...string) {
		for _, s := range statements {
			script, err := syntax.Parse(s)
			if err != nil {
				t.Fatalf("%s: %v", s, err)
			}
			seen.value(reflect.ValueOf(script))
		}
	}
	for range 3 {
		for _, p := range grammar.Productions {
			for _, of := range grammar.Types {
				if p.Classes == 0 || p.Makes(of) {
					parse(m.Make(p, of).Statements...)
				}
			}
		}
		for _, f := range grammar.Frames {
			for _, c := range grammar.FrameColumns {
				parse(m.Frame(f, c)...)
			}
		}
	}
	g := oracle.NewGenerator(1)
	for range 2000 {
		sql, _ := g.Query()
		parse(sql)
	}
	all := declaredNodes(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case !seen.parts[name] && untried[name] == "":
			t.Errorf("no random statement has %s: add a production to internal/testkit/grammar, or the reason to untried", name)
		case seen.parts[name] && untried[name] != "":
			t.Errorf("random statements have %s: take it off untried", name)
		}
	}
	for name := range untried {
		if !all[name] {
			t.Errorf("untried has %s, which package syntax has not", name)
		}
	}
}

// enumerations are the types of package syntax whose values are counted, with the names of the
// values.
var enumerations = map[reflect.Type][]string{}

type seenNodes struct{ parts map[string]bool }

// value walks a tree by reflection and notes types, members that are set, and values of
// enumerations.
func (s seenNodes) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			s.value(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			s.value(v.Index(i))
		}
	case reflect.Struct:
		name := v.Type().Name()
		s.parts[name] = true
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Anonymous || f.Type.Name() == "Span" || f.Type.Name() == "Pos" {
				continue
			}
			if !v.Field(i).IsZero() {
				s.parts[name+"."+f.Name] = true
			}
			if names := enumerations[f.Type]; names != nil {
				s.parts[names[v.Field(i).Uint()]] = true
			}
			s.value(v.Field(i))
		}
	}
}

// declaredNodes reads the types, members and values of enumerations from the source of package
// syntax.
func declaredNodes(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	files, err := filepath.Glob("../../sql/syntax/node*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources of package syntax: %v", err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			if decl.Tok == token.CONST {
				for _, name := range constants(decl) {
					all[name] = true
				}
				continue
			}
			for _, spec := range decl.Specs {
				of, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				body, ok := of.Type.(*ast.StructType)
				if !ok || of.Name.Name == "Pos" {
					continue
				}
				all[of.Name.Name] = true
				for _, f := range body.Fields.List {
					for _, n := range f.Names {
						if id, ok := f.Type.(*ast.Ident); !ok || id.Name != "Pos" {
							all[of.Name.Name+"."+n.Name] = true
						}
					}
				}
			}
		}
	}
	return all
}

// constants are the names of an enumeration, in the order of their values.
func constants(decl *ast.GenDecl) (names []string) {
	for _, spec := range decl.Specs {
		for _, n := range spec.(*ast.ValueSpec).Names {
			names = append(names, n.Name)
		}
	}
	return names
}

// init finds the enumerations: for each type of a member one value is enough, since the names
// come from the source in the order of values.
func init() {
	file := func(sample any, names string) {
		enumerations[reflect.TypeOf(sample)] = strings.Fields(names)
	}
	file(syntax.NullsDefault, "NullsDefault NullsFirst NullsLast")
	file(syntax.Union, "Union Intersect Except")
	file(syntax.Integer, "Integer Decimal Approx")
	file(syntax.Date, "Date Time Timestamp")
	file(syntax.Neg,
		"Neg Plus Not Add Sub Mul Div Mod Equal NotEqual Less LessEqual Greater GreaterEqual IsDistinct IsNotDistinct Overlaps "+
			"Contains Equals Precedes Succeeds ImmediatelyPrecedes ImmediatelySucceeds And Or Concat")
	file(syntax.IsNull, "IsNull IsTrue IsFalse IsUnknown IsJSON IsJSONObject IsJSONArray IsJSONScalar")
	file(syntax.LikePlain, "LikePlain LikeIgnoreCase LikeSimilar")
	file(syntax.NoZone, "NoZone WithZone WithLocalZone")
	file(syntax.NullTreatmentDefault, "NullTreatmentDefault RespectNulls IgnoreNulls")
	file(syntax.JSONError, "JSONError JSONNullValue JSONEmptyArray JSONEmptyObject JSONTrue JSONFalse JSONUnknown JSONDefault")
	file(syntax.JSONWrapperDefault, "JSONWrapperDefault JSONWithoutWrapper JSONWithWrapper JSONWithConditionalWrapper")
	file(syntax.JSONNullDefault, "JSONNullDefault JSONNullOnNull JSONAbsentOnNull")
	file(syntax.FrameRows, "FrameRows FrameRange FrameGroups")
	file(syntax.UnboundedPreceding, "UnboundedPreceding OffsetPreceding CurrentRow OffsetFollowing UnboundedFollowing")
	file(syntax.ExcludeDefault, "ExcludeDefault ExcludeNoOthers ExcludeCurrentRow ExcludeGroup ExcludeTies")
	file(syntax.InnerJoin, "InnerJoin LeftJoin RightJoin FullJoin CrossJoin CommaJoin")
	file(syntax.ExplainDefault, "ExplainDefault ExplainExcludingAttributes ExplainIncludingAttributes ExplainIncludingAllAttributes")
	file(syntax.ExplainFormatDefault, "ExplainFormatDefault ExplainFormatXML ExplainFormatJSON ExplainFormatDot")
}
