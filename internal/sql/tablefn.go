package sql

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
	"github.com/hengedb/henge/internal/vector"
)

// tableFunction binds TABLE(fn(..)).
func (blk *block) tableFunction(x *syntax.TableFunction) (source, error) {
	if x.Call.Name == "APPEND" {
		return blk.appendTables(x)
	}
	build := externalSources[x.Call.Name]
	if build == nil {
		return source{}, blk.noTableFunction(x.Call)
	}
	args, err := blk.functionArgs(x.Call)
	if err != nil {
		return source{}, err
	}
	cols, err := declaredColumns(x.Columns)
	if err != nil {
		return source{}, err
	}
	ext := &plan.External{Out: cols}
	if err := build(args, ext); err != nil {
		return source{}, err
	}
	if err := args.unused(); err != nil {
		return source{}, err
	}
	if ctx := blk.b.ctx; ctx.Err() != nil { // the text of an inline source takes its time
		return source{}, context.Cause(ctx)
	}
	if len(ext.Out) == 0 {
		return source{}, refuse("%s requires either a [signature] value or an EXTEND clause", x.Call.Name)
	}
	seen := map[string]bool{}
	for i, c := range ext.Out {
		if c.Name == "" {
			return source{}, refuse("Column [%d] of %s has an empty name", i+1, x.Call.Name)
		}
		if seen[c.Name] {
			return source{}, refuse("Column [%s] of %s is declared twice", c.Name, x.Call.Name)
		}
		seen[c.Name] = true
	}
	var kind struct{ Type string }
	if err := json.Unmarshal(ext.Source, &kind); err != nil || kind.Type == "" {
		return source{}, refuse("Invalid value for the field [inputSource]. Reason: [it must be a JSON object with a member [type]]")
	}
	blk.b.resources[Resource{Name: "EXTERNAL", Type: "EXTERNAL"}] = true
	blk.b.externals = append(blk.b.externals, ext.Source)
	r := relationOf("", ext.Out, 0)
	r.at = x.At
	return source{node: ext, scope: &scope{relations: []relation{r}}}, nil
}

// noTableFunction is the error for a call of an unknown table function, with the types of its
// arguments.
func (blk *block) noTableFunction(call *syntax.Call) error {
	args := make([]expr.Expr, len(call.Args))
	for i, a := range call.Args {
		if n, ok := a.(*syntax.NamedArg); ok {
			a = n.X
		}
		var err error
		if args[i], err = (&block{b: blk.b, scope: &scope{}}).exprs(call.Name).bind(a); err != nil {
			return err
		}
	}
	return suggest(fault.Find(expr.NoMatch(call.Name, args, call.At)), call.Name, []string{"APPEND", "EXTERN", "HTTP", "INLINE", "LOCALFILES", "S3"})
}

// declaredColumns reads the columns of EXTEND.
func declaredColumns(defs []syntax.ColumnDef) ([]plan.Column, error) {
	var out []plan.Column
	for _, d := range defs {
		t, err := typeOf(d.Type)
		if err != nil {
			return nil, err
		}
		if t.Base == expr.Char {
			t = expr.Of(expr.Varchar)
		}
		if t.IsInteger() {
			t = expr.Of(expr.BigInt)
		}
		out = append(out, plan.Column{Name: d.Name.Name, Type: t})
	}
	return out, nil
}

// functionArgs are the arguments of a table function by name: strings, lists of strings and whole
// numbers.
type functionArgs struct {
	call   *syntax.Call
	values map[string]any
	used   map[string]bool
}

// externNames are the names of EXTERN's arguments by position; the other functions take named
// arguments only.
var externNames = []string{"inputSource", "inputFormat", "signature"}

func (blk *block) functionArgs(call *syntax.Call) (*functionArgs, error) {
	out := &functionArgs{call: call, values: map[string]any{}, used: map[string]bool{}}
	for i, a := range call.Args {
		name := ""
		if n, ok := a.(*syntax.NamedArg); ok {
			name, a = n.Name.Name, n.X
		} else if call.Name == "EXTERN" && i < len(externNames) {
			name = externNames[i]
		} else {
			return nil, fault.InvalidSQL(a.Span(), "Arguments of %s must be named, as in [name => value]", call.Name)
		}
		e, err := (&block{b: blk.b, scope: &scope{}}).exprs(call.Name).bind(a)
		if err != nil {
			return nil, err
		}
		if e, err = expr.Fold(e, &blk.b.env); err != nil {
			return nil, err
		}
		l, ok := e.(*expr.Literal)
		if !ok {
			return nil, fault.InvalidSQL(a.Span(), "Argument [%s] of %s must be a literal", name, call.Name)
		}
		if _, twice := out.values[name]; twice {
			return nil, fault.InvalidSQL(a.Span(), "Argument [%s] of %s is given twice", name, call.Name)
		}
		if l.Value != nil {
			out.values[name] = l.Value
		}
	}
	return out, nil
}

func (f *functionArgs) unused() error {
	for name := range f.values {
		if !f.used[name] {
			return fault.InvalidSQL(f.call.At, "Function %s has no argument [%s]", f.call.Name, name)
		}
	}
	return nil
}

func (f *functionArgs) wrong(name, want string) error {
	return fault.InvalidSQL(f.call.At, "Argument [%s] of %s must be %s", name, f.call.Name, want)
}

// text returns a string argument, "" if it is not given.
func (f *functionArgs) text(name string) (string, error) {
	f.used[name] = true
	switch v := f.values[name].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	return "", f.wrong(name, "a string")
}

// list returns a list of strings; a single string is a list of one.
func (f *functionArgs) list(name string) ([]string, error) {
	f.used[name] = true
	switch v := f.values[name].(type) {
	case nil:
		return nil, nil
	case string:
		return []string{v}, nil
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, f.wrong(name, "an array of strings")
			}
			out = append(out, s)
		}
		return out, nil
	}
	return nil, f.wrong(name, "an array of strings")
}

// externalSources make the input source and format of a table function.
var externalSources = map[string]func(*functionArgs, *plan.External) error{
	"EXTERN":     externFunction,
	"HTTP":       func(f *functionArgs, x *plan.External) error { return formatted(f, x, httpSource) },
	"INLINE":     func(f *functionArgs, x *plan.External) error { return formatted(f, x, inlineSource) },
	"LOCALFILES": func(f *functionArgs, x *plan.External) error { return formatted(f, x, localSource) },
	"S3":         func(f *functionArgs, x *plan.External) error { return formatted(f, x, s3Source) },
}

func externFunction(f *functionArgs, x *plan.External) error {
	for _, part := range []struct {
		name string
		to   *json.RawMessage
	}{{"inputSource", &x.Source}, {"inputFormat", &x.Format}} {
		text, err := f.text(part.name)
		if err != nil {
			return err
		}
		if text == "" {
			return refuse("EXTERN requires a value for the parameter [%s]", part.name)
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			return refuse("Invalid value for the field [%s]. Reason: [%s]", part.name, err)
		}
		*part.to = json.RawMessage(text)
	}
	text, err := f.text("signature")
	if err != nil || text == "" {
		return err
	}
	if len(x.Out) > 0 {
		return refuse("EXTERN requires either a [signature] value or an EXTEND clause, but not both")
	}
	var signature []struct{ Name, Type string }
	if err := json.Unmarshal([]byte(text), &signature); err != nil {
		return refuse("Invalid value for the field [signature]. Reason: [%s]", err)
	}
	for _, c := range signature {
		t, err := vector.ParseType(c.Type)
		if err != nil {
			return refuse("Invalid value for the field [signature]. Reason: [column [%s] has the unknown type [%s]]", c.Name, c.Type)
		}
		x.Out = append(x.Out, plan.Column{Name: c.Name, Type: expr.FromRuntime(t, false)})
	}
	return nil
}

// formatted makes source and format of a function whose format is an argument.
func formatted(f *functionArgs, x *plan.External, build func(*functionArgs) (map[string]any, error)) error {
	object, err := build(f)
	if err != nil {
		return err
	}
	format, err := f.text("format")
	if err != nil {
		return err
	}
	if format == "" {
		return f.wrong("format", "given")
	}
	spec := map[string]any{"type": strings.ToLower(format)}
	switch spec["type"] {
	case "csv", "tsv":
		columns := make([]string, len(x.Out))
		for i, c := range x.Out {
			columns[i] = c.Name
		}
		spec["columns"] = columns
		for _, name := range []string{"listDelimiter", "delimiter"} {
			text, err := f.text(name)
			if err != nil {
				return err
			}
			if text != "" {
				spec[name] = text
			}
		}
		f.used["skipHeaderRows"] = true
		switch v := f.values["skipHeaderRows"].(type) {
		case nil:
		case int64:
			spec["skipHeaderRows"] = v
		default:
			return f.wrong("skipHeaderRows", "a whole number")
		}
	}
	if x.Source, err = json.Marshal(object); err != nil {
		return err
	}
	x.Format, err = json.Marshal(spec)
	return err
}

func httpSource(f *functionArgs) (map[string]any, error) {
	out := map[string]any{"type": "http"}
	uris, err := f.list("uris")
	if err != nil {
		return nil, err
	}
	if len(uris) == 0 {
		return nil, f.wrong("uris", "given")
	}
	out["uris"] = uris
	texts := map[string]string{}
	for _, name := range []string{"userName", "password", "passwordEnvVar", "headers"} {
		if texts[name], err = f.text(name); err != nil {
			return nil, err
		}
	}
	if texts["userName"] != "" {
		out["httpAuthenticationUsername"] = texts["userName"]
	}
	if texts["password"] != "" && texts["passwordEnvVar"] != "" {
		return nil, fault.InvalidSQL(f.call.At, "Only one of [password] and [passwordEnvVar] may be given")
	}
	if texts["password"] != "" {
		out["httpAuthenticationPassword"] = map[string]string{"type": "default", "password": texts["password"]}
	}
	if texts["passwordEnvVar"] != "" {
		out["httpAuthenticationPassword"] = map[string]string{"type": "environment", "variable": texts["passwordEnvVar"]}
	}
	if texts["headers"] != "" {
		var headers map[string]string
		if err := json.Unmarshal([]byte(texts["headers"]), &headers); err != nil {
			return nil, f.wrong("headers", "a JSON object of strings")
		}
		out["requestHeaders"] = headers
	}
	return out, nil
}

func inlineSource(f *functionArgs) (map[string]any, error) {
	data, err := f.list("data")
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, f.wrong("data", "given")
	}
	return map[string]any{"type": "inline", "data": strings.Join(data, "\n")}, nil
}

func localSource(f *functionArgs) (map[string]any, error) {
	out := map[string]any{"type": "local"}
	dir, err := f.text("baseDir")
	if err != nil {
		return nil, err
	}
	filter, err := f.text("filter")
	if err != nil {
		return nil, err
	}
	files, err := f.list("files")
	if err != nil {
		return nil, err
	}
	switch {
	case dir == "" && len(files) == 0:
		return nil, fault.InvalidSQL(f.call.At, "LOCALFILES needs [baseDir] with [filter], or [files]")
	case len(files) > 0 && filter != "":
		return nil, fault.InvalidSQL(f.call.At, "LOCALFILES takes [baseDir] with [filter], or [files], but not both")
	case len(files) > 0 && dir != "":
		for i, name := range files {
			files[i] = strings.TrimSuffix(dir, "/") + "/" + name
		}
		out["files"] = files
	case len(files) > 0:
		out["files"] = files
	default:
		if filter == "" {
			filter = "*"
		}
		out["baseDir"], out["filter"] = dir, filter
	}
	return out, nil
}

func s3Source(f *functionArgs) (map[string]any, error) {
	out := map[string]any{"type": "s3"}
	lists, texts := map[string][]string{}, map[string]string{}
	var err error
	for _, name := range []string{"uris", "prefixes", "paths"} {
		if lists[name], err = f.list(name); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"bucket", "objectGlob", "accessKeyId", "secretAccessKey", "assumeRoleArn"} {
		if texts[name], err = f.text(name); err != nil {
			return nil, err
		}
	}
	switch {
	case len(lists["uris"]) > 0:
		out["uris"] = lists["uris"]
	case len(lists["prefixes"]) > 0:
		out["prefixes"] = lists["prefixes"]
	case texts["bucket"] != "" && len(lists["paths"]) > 0:
		objects := make([]map[string]string, len(lists["paths"]))
		for i, p := range lists["paths"] {
			objects[i] = map[string]string{"bucket": texts["bucket"], "path": p}
		}
		out["objects"] = objects
	default:
		return nil, fault.InvalidSQL(f.call.At, "S3 needs [uris], [prefixes], or [bucket] with [paths]")
	}
	if texts["objectGlob"] != "" {
		out["objectGlob"] = texts["objectGlob"]
	}
	properties := map[string]any{}
	for _, name := range []string{"accessKeyId", "secretAccessKey"} {
		if texts[name] != "" {
			properties[name] = map[string]string{"type": "default", "password": texts[name]}
		}
	}
	if texts["assumeRoleArn"] != "" {
		properties["assumeRoleArn"] = texts["assumeRoleArn"]
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	return out, nil
}

// tableName returns the text of a literal or a parameter.
func (b *binder) tableName(e syntax.Expr) (string, bool) {
	switch e := e.(type) {
	case *syntax.String:
		return e.Value, true
	case *syntax.Param:
		name, ok := b.params[e.Index].Value.(string)
		return name, ok
	}
	return "", false
}

// appendTables binds TABLE(APPEND('a', 'b')): the rows of tables under the union of their columns,
// by name.
func (blk *block) appendTables(x *syntax.TableFunction) (source, error) {
	if len(x.Call.Args) == 0 {
		return source{}, fault.InvalidSQL(x.Call.At, "APPEND needs at least one table")
	}
	var nodes []plan.Node
	var cols []plan.Column
	index := map[string]int{}
	for i, a := range x.Call.Args {
		if err := blk.b.spend(expressionsPerQuery, a); err != nil {
			return source{}, err
		}
		name, ok := blk.b.tableName(a)
		if !ok {
			return source{}, fault.InvalidSQL(a.Span(), "All arguments to APPEND should be literal strings. Argument #%d is not string", i+1)
		}
		n, known, err := blk.b.tableNode(SchemaData, name)
		if err != nil {
			return source{}, err
		}
		if n == nil {
			return source{}, suggest(fault.InvalidSQL(a.Span(), "Table [%s] not found", name), name, known())
		}
		nodes = append(nodes, n)
		for _, c := range n.Columns() {
			i, seen := index[c.Name]
			if !seen {
				index[c.Name] = len(cols)
				cols = append(cols, c)
				continue
			}
			t, ok := expr.LeastRestrictive(cols[i].Type, c.Type)
			if !ok {
				return source{}, fault.InvalidSQL(a.Span(), "Can't create TABLE(APPEND()). Conflicting types for column [%s]: - existing type [%s] "+
					"- new type [%s] from table [%s]", c.Name, cols[i].Type, c.Type, name)
			}
			cols[i].Type = t
		}
	}
	for i, n := range nodes {
		p := &plan.Project{Input: n}
		for _, c := range cols {
			var e expr.Expr = &expr.Literal{T: c.Type.OrNull(true)}
			for j, have := range n.Columns() {
				if have.Name == c.Name {
					var err error
					if e, err = expr.NewCast(&expr.Column{Index: j, Name: have.Name, T: have.Type}, c.Type, x.At); err != nil {
						return source{}, err
					}
				}
			}
			p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, c.Name)
		}
		nodes[i] = p
	}
	n := nodes[0]
	if len(nodes) > 1 {
		n = &plan.Union{Ins: nodes, Out: cols}
	}
	r := relationOf("", cols, 0)
	r.at = x.At
	return source{node: n, scope: &scope{relations: []relation{r}}}, nil
}
