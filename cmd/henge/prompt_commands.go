package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/cmd/henge/script"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/querycontext"
)

// promptCommand is a command of the prompt: its name with the backslash, what it takes and does.
type promptCommand struct {
	name, takes, does string
	run               func(p *prompt, ctx context.Context, args string) error
}

// promptCommands returns the commands as \? lists them.
func promptCommands() []promptCommand {
	return []promptCommand{
		{`\d`, "[NAME]", "tables, views and lookups; with a name, its columns", (*prompt).describe},
		{`\dt`, "[PATTERN]", `datasources; with a pattern (web*, sys.*), tables of any schema`, (*prompt).listTables},
		{`\df`, "[PATTERN]", "functions with their signatures", (*prompt).listFunctions},
		{`\l`, "", "schemas", (*prompt).listSchemas},
		{`\conninfo`, "", "the server, its version and your user", (*prompt).connection},
		{`\login`, "", "log in at the server's OpenID Connect provider", (*prompt).logIn},
		{`\f`, "FORMAT", "output format: " + strings.Join(formatNames(), ", "), (*prompt).setFormat},
		{`\x`, "[on|off]", "vertical output, one line per value", (*prompt).setVertical},
		{`\timing`, "[on|off]", "how long each statement took", (*prompt).setTiming},
		{`\t`, "", `the same as \timing`, (*prompt).setTiming},
		{`\set`, "[KEY VALUE]", "set a context parameter for later statements; alone: list them", (*prompt).set},
		{`\unset`, "KEY", "remove a context parameter", (*prompt).unset},
		{`\watch`, "[SECONDS [TIMES]]", "repeat the last query until Ctrl-C", (*prompt).watch},
		{`\copy`, "TABLE FROM|TO FILE", "load a local file into a table, or write a table or a (query) to one", (*prompt).copyFile},
		{`\bar`, "[COLUMN]", "draw the last result as bars, of its last numeric or a named column", (*prompt).drawBars},
		{`\spark`, "[COLUMN]", "draw the last result as lines, one per numeric column", (*prompt).drawSparks},
		{`\pager`, "[on|off]", "show long results in a pager", (*prompt).setPager},
		{`\i`, "FILE", "run a file of statements and commands", (*prompt).include},
		{`\o`, "[FILE]", "write results to a file; alone: to the screen again", (*prompt).redirect},
		{`\e`, "", "edit the statement in $EDITOR; it runs if it ends with a semicolon", (*prompt).edit},
		{`\?`, "", "this list", (*prompt).help},
		{`\q`, "", "quit (also Ctrl-D)", func(*prompt, context.Context, string) error { return errLeave }},
	}
}

// command carries out a line that begins with a backslash.
func (p *prompt) command(ctx context.Context, line string) error {
	line = strings.TrimSpace(strings.TrimSuffix(line, ";"))
	name, args, _ := strings.Cut(line, " ")
	var names []string
	for _, c := range promptCommands() {
		if c.name == name {
			args = strings.TrimSpace(args)
			if c.takes == "" && args != "" {
				return fault.InvalidInput(`Command [%s] has no arguments, but [%s] was given`, name, args)
			}
			return c.run(p, ctx, args)
		}
		names = append(names, c.name)
	}
	if near := fault.Nearest(name, names); near != "" {
		return fault.InvalidInput(`Command [%s] is unknown; did you mean [%s]? \? lists all`, name, near)
	}
	return fault.InvalidInput(`Command [%s] is unknown; \? lists all`, name)
}

func (p *prompt) help(context.Context, string) error {
	for _, c := range promptCommands() {
		fmt.Fprintf(p.out, "  %-26s %s\n", strings.TrimSpace(c.name+" "+c.takes), c.does)
	}
	fmt.Fprintln(p.out, "Statements end with a semicolon and can span several lines.\n"+
		"Tab completes; Ctrl-R searches the history; Ctrl-C cancels.")
	return nil
}

// literal writes a text as a literal of SQL.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// like makes a condition of a pattern in which * is any text. A pattern without a star is looked
// for anywhere.
func like(column, pattern string) string {
	pattern = strings.NewReplacer(`!`, `!!`, `%`, `!%`, `_`, `!_`).Replace(pattern)
	if !strings.Contains(pattern, "*") {
		pattern = "*" + pattern + "*"
	}
	return "LOWER(" + column + ") LIKE " + literal(strings.ToLower(strings.ReplaceAll(pattern, "*", "%"))) + " ESCAPE '!'"
}

// show prints the answer of a query about the catalog, or says what there is none of.
func (p *prompt) show(ctx context.Context, query string, none error) error {
	var held bytes.Buffer
	quiet := *p.session
	quiet.out, quiet.context = &held, nil
	rows, err := quiet.read(ctx, "/service/v2/sql", query)
	switch {
	case err != nil:
		return err
	case rows == 0:
		return none
	}
	if p.pages == nil || !isTerminal(p.out) {
		_, err = held.WriteTo(p.out)
		return err
	}
	shown := p.pages()
	if _, err = held.WriteTo(shown); errors.Is(err, errLeft) {
		err = nil
	}
	return errors.Join(err, shown.Close())
}

func (p *prompt) describe(ctx context.Context, name string) error {
	if name == "" {
		return p.show(ctx, `SELECT TABLE_SCHEMA AS "schema", TABLE_NAME AS "name", TABLE_TYPE AS "type" FROM INFORMATION_SCHEMA.TABLES `+
			`WHERE TABLE_SCHEMA NOT IN ('INFORMATION_SCHEMA', 'sys') ORDER BY 1, 2`,
			fault.NotFound(`There are no tables yet; henge ingest FILE --into NAME creates one, and \dt sys.* lists the system tables`))
	}
	schema, table := splitName(name)
	where := "TABLE_NAME = " + literal(table)
	if schema != "" {
		where += " AND TABLE_SCHEMA = " + literal(schema)
	}
	tables, err := p.client.texts(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME FROM INFORMATION_SCHEMA.TABLES")
	if err != nil {
		return err
	}
	var names []string
	for _, t := range tables {
		if names = append(names, t[1]); schema != "" {
			names[len(names)-1] = t[0] + "." + t[1]
		}
	}
	none := fault.NotFound(`Table [%s] does not exist; \d lists all`, name)
	if near := fault.Nearest(strings.ReplaceAll(name, `"`, ""), names); near != "" {
		none = fault.NotFound(`Table [%s] does not exist; did you mean [%s]?`, name, near)
	}
	return p.show(ctx, `SELECT COLUMN_NAME AS "column", DATA_TYPE AS "type", IS_NULLABLE AS "nullable" FROM INFORMATION_SCHEMA.COLUMNS WHERE `+
		where+" ORDER BY TABLE_SCHEMA, ORDINAL_POSITION", none)
}

// splitName reads a name of a table, which may have a schema before it and quotes.
func splitName(name string) (schema, table string) {
	var parts []string
	var part strings.Builder
	quoted := false
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '"' && quoted && i+1 < len(name) && name[i+1] == '"':
			part.WriteByte(c)
			i++
		case c == '"':
			quoted = !quoted
		case c == '.' && !quoted && len(parts) == 0:
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(c)
		}
	}
	if len(parts) == 1 {
		schema = parts[0]
	}
	return schema, part.String()
}

func (p *prompt) listTables(ctx context.Context, pattern string) error {
	where := "TABLE_TYPE = 'TABLE'"
	none := fault.NotFound("There are no datasources yet; henge ingest FILE --into NAME creates one")
	if pattern != "" {
		schema, table := splitName(pattern)
		where = like("TABLE_NAME", table)
		if schema != "" {
			where += " AND LOWER(TABLE_SCHEMA) LIKE " + literal(strings.ToLower(strings.ReplaceAll(schema, "*", "%")))
		}
		none = fault.NotFound("No table matches [%s]", pattern)
	}
	return p.show(ctx, `SELECT TABLE_SCHEMA AS "schema", TABLE_NAME AS "name", TABLE_TYPE AS "type" FROM INFORMATION_SCHEMA.TABLES WHERE `+
		where+" ORDER BY 1, 2", none)
}

func (p *prompt) listFunctions(ctx context.Context, pattern string) error {
	where := "ROUTINE_NAME <> ''"
	if pattern != "" {
		where = like("ROUTINE_NAME", pattern)
	}
	// One column, so that a table shows it whole.
	return p.show(ctx, `SELECT REPLACE(REPLACE(SIGNATURES, '''', ''), U&'\000A', '; ') || `+
		`CASE WHEN IS_AGGREGATOR = 'YES' THEN '  aggregate' ELSE '' END AS "function" `+
		`FROM INFORMATION_SCHEMA.ROUTINES WHERE `+where+" ORDER BY ROUTINE_NAME",
		fault.NotFound("No function matches [%s]", pattern))
}

func (p *prompt) listSchemas(ctx context.Context, _ string) error {
	return p.show(ctx, `SELECT SCHEMA_NAME AS "schema" FROM INFORMATION_SCHEMA.SCHEMATA ORDER BY 1`, fault.NotFound("There are no schemas"))
}

func (p *prompt) connection(ctx context.Context, _ string) error {
	version, err := p.version(ctx)
	if err != nil {
		return err
	}
	if p.client.local {
		fmt.Fprintf(p.out, "There is no server: henge %s reads files in this process.\n", version)
		return nil
	}
	who := "not logged in"
	switch {
	case p.client.user != "":
		who = "user " + p.client.user
	case os.Getenv(keyVariable) != "":
		who = "the holder of the API key in $" + keyVariable
	}
	fmt.Fprintf(p.out, "Server %s, henge %s. You are %s.\n", p.client.base, version, who)
	return nil
}

func (p *prompt) logIn(ctx context.Context, _ string) error {
	if p.client.local {
		return fault.InvalidInput("There is no server to log in to")
	}
	return p.client.logInByDevice(ctx, p.err)
}

func (p *prompt) setFormat(_ context.Context, name string) error {
	format, err := findFormat(name)
	if err != nil {
		return err
	}
	p.format = format.name
	return nil
}

// onOff reads the argument of a switch; without one the switch turns.
func onOff(name, args string, now bool) (bool, error) {
	switch args {
	case "":
		return !now, nil
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return now, fault.InvalidInput("The argument of command [%s] must be on or off, but is [%s]", name, args)
}

func (p *prompt) setVertical(_ context.Context, args string) error {
	now := p.format == "vertical"
	on, err := onOff(`\x`, args, now)
	switch {
	case err != nil:
		return err
	case on && !now:
		p.before, p.format = p.format, "vertical"
	case !on && now:
		p.format = cmp.Or(p.before, "table")
	}
	fmt.Fprintf(p.err, "The output format is %s.\n", p.format)
	return nil
}

func (p *prompt) setPager(_ context.Context, args string) error {
	on, err := onOff(`\pager`, args, !p.unpaged)
	if err != nil {
		return err
	}
	p.unpaged = !on
	fmt.Fprintf(p.err, "The pager is %s.\n", map[bool]string{true: "on", false: "off"}[on])
	return nil
}

func (p *prompt) setTiming(_ context.Context, args string) error {
	on, err := onOff(`\timing`, args, p.timing)
	if err != nil {
		return err
	}
	p.timing = on
	fmt.Fprintf(p.err, "Timing is %s.\n", map[bool]string{true: "on", false: "off"}[on])
	return nil
}

func (p *prompt) set(_ context.Context, args string) error {
	key, text, given := strings.Cut(args, " ")
	if key == "" {
		keys := make([]string, 0, len(p.context))
		for k := range p.context {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			value, err := json.Marshal(p.context[k])
			if err != nil {
				return fmt.Errorf("showing parameter [%s]: %w", k, err)
			}
			fmt.Fprintf(p.out, "%s = %s\n", k, value)
		}
		return nil
	}
	if !given {
		return fault.InvalidInput(`Parameter [%s] needs a value: \set %s VALUE; \unset %s removes it`, key, key, key)
	}
	text = strings.TrimSpace(text)
	var value any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&value) != nil || dec.More() {
		value = strings.Trim(text, "'")
	}
	if err := querycontext.Check(querycontext.SQL|querycontext.Statement|querycontext.CheckedBySQL, map[string]any{key: value}); err != nil {
		return err
	}
	if names := querycontext.Names(); !slices.Contains(names, key) {
		near := ""
		if near = fault.Nearest(key, names); near != "" {
			near = "; did you mean [" + near + "]?"
		}
		fmt.Fprintf(p.err, "Parameter [%s] is unknown, and the server will ignore it%s\n", key, near)
	}
	if p.context == nil {
		p.context = map[string]any{}
	}
	p.context[key] = value
	return nil
}

func (p *prompt) unset(_ context.Context, key string) error {
	if _, set := p.context[key]; !set {
		return fault.InvalidInput(`Parameter [%s] is not set; \set lists the parameters that are set`, key)
	}
	delete(p.context, key)
	return nil
}

// watch runs the last statement again and again.
func (p *prompt) watch(ctx context.Context, args string) error {
	words := strings.Fields(args)
	seconds, times := 2.0, 0
	var err error
	if len(words) > 0 {
		if seconds, err = strconv.ParseFloat(words[0], 64); err != nil || !(seconds >= 0.1 && seconds <= 86400) {
			return fault.InvalidInput(`The seconds of command [\watch] must be from 0.1 to 86400, but are [%s]`, words[0])
		}
	}
	if len(words) > 1 {
		if times, err = strconv.Atoi(words[1]); err != nil || times < 1 || len(words) > 2 {
			return fault.InvalidInput(`The number of times of command [\watch] must be a positive integer, but is [%s]`,
				strings.Join(words[1:], " "))
		}
	}
	switch write, _ := script.IsWrite(p.last.text); {
	case p.last.text == "":
		return fault.InvalidInput(`There is no statement to watch; run one first`)
	case write:
		return fault.InvalidInput(`The last statement writes; only queries can be watched`)
	}
	before := p.pages
	p.pages = nil
	defer func() { p.pages = before }()
	for n := 1; ; n++ {
		fmt.Fprintf(p.err, "%s, every %gs\n", p.clock.Now().Format(time.DateTime), seconds)
		if err := p.execute(ctx, p.last); err != nil {
			return err
		}
		if n == times {
			return nil
		}
		if p.clock.Sleep(ctx, time.Duration(seconds*float64(time.Second))) != nil {
			return errReported // Ctrl-C is how this ends
		}
	}
}

// maxFiles is how many files may run each other, so that one that runs itself comes to an end.
const maxFiles = 16

func (p *prompt) include(ctx context.Context, file string) error {
	if file == "" {
		return fault.InvalidInput(`Command [\i] needs a file`)
	}
	if p.files == maxFiles {
		return fault.InvalidInput("File [%s] is the last of [%d] nested files; does one include itself?", file, maxFiles)
	}
	file = strings.Trim(file, "'")
	text, err := readAll(nil, file)
	if err != nil {
		return err
	}
	p.files++
	defer func() { p.files-- }()
	return p.script(ctx, file, text)
}

func (p *prompt) redirect(_ context.Context, name string) error {
	if p.file == nil {
		p.screen = p.out
	}
	if err := p.closeFile(); err != nil || name == "" {
		return err
	}
	file, err := os.Create(strings.Trim(name, "'"))
	if err != nil {
		return fault.InvalidInput("File [%s] can't be written: %v", name, reasonOf(err))
	}
	p.file, p.out = file, file
	return nil
}

// edit lets the user change the last statement in an editor.
func (p *prompt) edit(ctx context.Context, _ string) error {
	if p.line == nil {
		return fault.InvalidInput(`Command [\e] works only in the prompt`)
	}
	file, err := os.CreateTemp("", "henge-*.sql")
	if err != nil {
		return fmt.Errorf("creating a file for the editor: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is in the folder for such files
	text := p.last.text
	if text != "" {
		text += ";\n"
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing the file for the editor: %w", err)
	}
	editor := strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi"))
	if len(editor) == 0 {
		editor = []string{"vi"}
	}
	cmd := exec.Command(editor[0], append(editor[1:], file.Name())...) //nolint:gosec // the user's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fault.InvalidInput("Editor [%s] failed: %v; $EDITOR names another", editor[0], err)
	}
	text, err = readAll(nil, file.Name())
	if err != nil {
		return err
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	fmt.Fprintln(p.screen, text)
	p.begun = place{}
	p.pending.WriteString(text + "\n")
	if !script.Ended(text) {
		return nil
	}
	return p.flush(ctx)
}

// texts runs a query whose columns are texts and returns its rows.
func (c *client) texts(ctx context.Context, query string) (rows [][]string, err error) {
	err = c.call(ctx, http.MethodPost, "/service/v2/sql", map[string]any{"query": query, "resultFormat": "array"}, &rows)
	return rows, err
}
