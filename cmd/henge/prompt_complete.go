package main

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/sql/syntax"
)

const (
	catalogAge     = 30 * time.Second // how old names may be
	catalogTimeout = 2 * time.Second  // how long Tab waits for them
)

// catalog knows the names a server has. It asks when it is used first, and again when what it knows
// is old.
type catalog struct {
	client *client
	clock  clock.Clock
	read   time.Time
	// tables has for each schema its tables, columns for each table what it has in any schema.
	tables    map[string][]string
	columns   map[string][]string
	functions []string
}

// refresh asks the server. Without an answer the names of before stay.
func (c *catalog) refresh() {
	if now := c.clock.Now(); c.client == nil || !c.read.IsZero() && now.Sub(c.read) < catalogAge {
		return
	} else {
		c.read = now
	}
	ctx, cancel := context.WithTimeout(context.Background(), catalogTimeout)
	defer cancel()
	columns, err := c.client.texts(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS "+
		"ORDER BY 1, 2, ORDINAL_POSITION LIMIT 100000")
	if err != nil {
		return
	}
	c.learn(columns)
	functions, err := c.client.texts(ctx, "SELECT DISTINCT ROUTINE_NAME FROM INFORMATION_SCHEMA.ROUTINES")
	if err != nil {
		return
	}
	c.functions = nil
	for _, f := range functions {
		c.functions = append(c.functions, f[0])
	}
}

// learn takes rows of a schema, a table and a column.
func (c *catalog) learn(rows [][]string) {
	c.tables, c.columns = map[string][]string{}, map[string][]string{}
	for _, r := range rows {
		if list := c.tables[r[0]]; len(list) == 0 || list[len(list)-1] != r[1] {
			c.tables[r[0]] = append(list, r[1])
		}
		if !slices.Contains(c.columns[r[1]], r[2]) {
			c.columns[r[1]] = append(c.columns[r[1]], r[2])
		}
	}
}

// sqlWords are the words of statements that are completed.
var sqlWords = strings.Fields(`ALL AND AS ASC BETWEEN BY CASE CAST CLUSTERED CROSS CURRENT_TIMESTAMP DATE DAY DESC DISTINCT
	ELSE END EXISTS EXPLAIN EXTEND EXTERN FALSE FILTER FROM FULL GROUP GROUPING HAVING HOUR IN INNER INSERT INTERVAL INTO
	IS JOIN LEFT LIKE LIMIT MONTH NOT NULL OFFSET ON OR ORDER OUTER OVER OVERWRITE
	PARTITION PARTITIONED PLAN REPLACE RIGHT SELECT SET SETS TABLE THEN TIMESTAMP TRUE UNION UNNEST USING VALUES WHEN WHERE WITH YEAR`)

// completer completes names at the cursor.
type completer struct {
	names *catalog
	// before returns the lines of the statement that stand before the present one.
	before func() string
}

// Do implements readline.AutoCompleter.
func (c *completer) Do(line []rune, pos int) (suffixes [][]rune, length int) {
	text := string(line[:pos])
	word, list := c.candidates(text, string(line[pos:]))
	for _, candidate := range list {
		if rest, ok := continued(word, candidate); ok {
			suffixes = append(suffixes, []rune(rest))
		}
	}
	return suffixes, len([]rune(word))
}

// candidate is a name that may stand at the cursor. Words are found, and go on, in the case that
// was typed; names have a case.
type candidate struct {
	text string
	word bool
}

// continued returns what of a candidate is not typed yet.
func continued(typed string, c candidate) (string, bool) {
	if len(c.text) <= len(typed) && c.text != typed {
		return "", false
	}
	switch {
	case strings.HasPrefix(c.text, typed):
		return c.text[len(typed):], true
	case c.word && strings.EqualFold(c.text[:len(typed)], typed):
		if rest := c.text[len(typed):]; typed == strings.ToUpper(typed) {
			return rest, true
		}
		return strings.ToLower(c.text[len(typed):]), true
	}
	return "", false
}

// quotedIfNeeded writes a name as SQL wants it.
func quotedIfNeeded(name string) string {
	plain := name != "" && !unicode.IsDigit([]rune(name)[0]) && !syntax.IsReserved(name)
	for _, r := range name {
		plain = plain && (r == '_' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)))
	}
	if plain {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// candidates returns the word before the cursor and what may take its place.
func (c *completer) candidates(text, after string) (word string, list []candidate) {
	if command := strings.TrimLeft(text, " "); strings.HasPrefix(command, `\`) && c.before() == "" {
		return c.ofCommand(command)
	}
	whole := c.before() + text
	start, quoted, inText := wordAt(text)
	if inText {
		return "", nil
	}
	word = text[start:]
	c.names.refresh()
	head := strings.TrimRight(whole[:len(whole)-len(word)], " \t\n")
	if qualifier, found := strings.CutSuffix(head, "."); found {
		return word, c.qualified(qualifier, whole+after, quoted)
	}
	last := strings.ToUpper(head[strings.LastIndexAny(head, " \t\n(,")+1:])
	if slices.Contains([]string{"FROM", "JOIN", "INTO"}, last) {
		return word, c.ofTables(quoted)
	}
	for _, name := range c.columnsOf(whole + after) {
		list = append(list, c.name(name, quoted))
	}
	if quoted || word == "" {
		return word, unique(list)
	}
	for _, f := range c.names.functions {
		list = append(list, candidate{f + "(", true})
	}
	for _, w := range sqlWords {
		list = append(list, candidate{w + " ", true})
	}
	return word, unique(append(list, c.ofTables(false)...))
}

// ofCommand completes commands of the prompt and what they take.
func (c *completer) ofCommand(text string) (word string, list []candidate) {
	command, args, typed := strings.Cut(text, " ")
	if !typed {
		for _, known := range promptCommands() {
			list = append(list, candidate{known.name, true})
		}
		return command, list
	}
	var names []string
	switch command {
	case `\d`, `\dt`:
		c.names.refresh()
		list = c.ofTables(strings.HasPrefix(args, `"`))
	case `\df`:
		c.names.refresh()
		names = c.names.functions
	case `\f`:
		names = formatNames()
	case `\set`, `\unset`:
		names = querycontext.Names()
	}
	for _, name := range names {
		list = append(list, candidate{name, true})
	}
	return args, list
}

// qualified completes what stands behind a dot: tables of a schema, or columns.
func (c *completer) qualified(qualifier, statement string, quoted bool) (list []candidate) {
	qualifier = strings.Trim(qualifier[strings.LastIndexAny(qualifier, " \t\n(,=<>+-*/")+1:], `"`)
	if tables, found := c.names.tables[qualifier]; found {
		for _, t := range tables {
			list = append(list, c.name(t, quoted))
		}
		return list
	}
	columns, found := c.names.columns[qualifier]
	if !found {
		columns = c.columnsOf(statement)
	}
	for _, name := range columns {
		list = append(list, c.name(name, quoted))
	}
	return unique(list)
}

func (c *completer) name(name string, quoted bool) candidate {
	if quoted {
		return candidate{`"` + strings.ReplaceAll(name, `"`, `""`) + `"`, false}
	}
	return candidate{quotedIfNeeded(name), false}
}

// ofTables returns the datasources by their name and the schemas.
func (c *completer) ofTables(quoted bool) (list []candidate) {
	for schema, tables := range c.names.tables {
		if schema != "INFORMATION_SCHEMA" && schema != "sys" {
			for _, t := range tables {
				list = append(list, c.name(t, quoted))
			}
		}
		if !quoted {
			list = append(list, candidate{schema + ".", false})
		}
	}
	slices.SortFunc(list, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
	return list
}

// columnsOf returns the columns of the tables that a statement names, and without one those of all
// datasources.
func (c *completer) columnsOf(statement string) (columns []string) {
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(statement, func(r rune) bool { return strings.ContainsRune(" \t\n(),;.\"", r) }) {
		words[w] = true
	}
	for table, names := range c.names.columns {
		if words[table] {
			columns = append(columns, names...)
		}
	}
	if columns == nil {
		for schema, tables := range c.names.tables {
			if schema == "INFORMATION_SCHEMA" || schema == "sys" {
				continue
			}
			for _, t := range tables {
				columns = append(columns, c.names.columns[t]...)
			}
		}
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// unique leaves the first of candidates that read the same.
func unique(list []candidate) []candidate {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(c candidate) bool {
		before := seen[c.text]
		seen[c.text] = true
		return before
	})
}

// wordAt returns where the word at the end of a text begins, whether it is a quoted name, and
// whether the end is in a text.
func wordAt(text string) (start int, quoted, inText bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText:
			inText = c != '\''
		case quoted:
			quoted = c != '"'
		case c == '\'':
			inText = true
		case c == '"':
			quoted, start = true, i
		}
	}
	if quoted || inText {
		return start, quoted, inText
	}
	start = len(text)
	for start > 0 && inWord(text[start-1]) {
		start--
	}
	return start, false, false
}

// inWord reports whether a byte is one of a name without quotes.
func inWord(b byte) bool {
	return b == '_' || b >= 0x80 || unicode.IsLetter(rune(b)) || unicode.IsDigit(rune(b))
}
