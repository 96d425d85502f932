package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hengedb/henge/cmd/henge/termtext"
	"github.com/hengedb/henge/internal/fault"
)

// answerFormat is a form in which answers are printed.
type answerFormat struct {
	name string
	// asked is the format the server is asked for.
	asked string
	// print prints the body of an answer and returns the number of its rows.
	print func(w io.Writer, body io.Reader) (int64, error)
	// binary says that a terminal can't show it.
	binary bool
}

// answerFormats are those that --format and \f take.
var answerFormats = []answerFormat{
	{name: "table", asked: "arrayLines", print: printTable},
	{name: "vertical", asked: "arrayLines", print: printVertical},
	{name: "csv", asked: "arrayLines", print: printCSV},
	{name: "tsv", asked: "arrayLines", print: printTSV},
	{name: "json", asked: "objectLines", print: printJSON},
	{name: "ndjson", asked: "objectLines", print: copyLines},
	{name: "markdown", asked: "arrayLines", print: printMarkdown},
	{name: "parquet", asked: "arrow", print: printParquet, binary: true},
	{name: "arrow", asked: "arrow", print: copyArrow, binary: true},
}

// formatNames returns the names of the formats in their order.
func formatNames() []string {
	names := make([]string, len(answerFormats))
	for i, f := range answerFormats {
		names[i] = f.name
	}
	return names
}

// findFormat returns the format of a name.
func findFormat(name string) (answerFormat, error) {
	at := slices.IndexFunc(answerFormats, func(f answerFormat) bool { return f.name == name })
	if at < 0 {
		names := formatNames()
		hint := "use one of [" + strings.Join(names, ", ") + "]"
		if near := fault.Nearest(name, names); near != "" {
			hint = "did you mean [" + near + "]? Otherwise " + hint
		}
		return answerFormat{}, fault.InvalidInput("Format [%s] is unknown; %s", name, hint)
	}
	return answerFormats[at], nil
}

// eachRow reads lines of JSON arrays, the names of the columns first.
func eachRow(body io.Reader, row func([]json.RawMessage) error) error {
	dec := json.NewDecoder(bufio.NewReaderSize(body, 1<<16))
	dec.UseNumber()
	for {
		var values []json.RawMessage
		switch err := dec.Decode(&values); {
		case err == io.EOF:
			return nil
		case err != nil:
			return errCut
		}
		if err := row(values); err != nil {
			return err
		}
	}
}

// printRows prints a head, made of the names of the columns, and a line for each row. What came
// before an answer broke off is printed.
func printRows(w io.Writer, body io.Reader, head, line func(out *bufio.Writer, row int64, values []json.RawMessage)) (int64, error) {
	out := bufio.NewWriterSize(w, 1<<16)
	rows := int64(-1)
	err := eachRow(body, func(values []json.RawMessage) error {
		if rows++; rows == 0 {
			head(out, 0, values)
		} else {
			line(out, rows, values)
		}
		_, err := out.Write(nil) // the error that the writer keeps, if there is one
		return err
	})
	if failed := out.Flush(); err == nil {
		err = failed
	}
	return max(rows, 0), err
}

// printVertical prints a line for each value, which suits rows that are wider than the screen.
func printVertical(w io.Writer, body io.Reader) (int64, error) {
	var names []string
	width := 0
	head := func(_ *bufio.Writer, _ int64, values []json.RawMessage) {
		for _, v := range values {
			names = append(names, cell(v, true))
			width = max(width, termtext.Width(names[len(names)-1]))
		}
	}
	return printRows(w, body, head, func(out *bufio.Writer, row int64, values []json.RawMessage) {
		title := fmt.Sprintf("-[ row %d ]", row)
		fmt.Fprintln(out, title+strings.Repeat("-", max(0, width+3-len(title))))
		for i, v := range values {
			name := ""
			if i < len(names) {
				name = names[i]
			}
			fmt.Fprintln(out, name+strings.Repeat(" ", width-termtext.Width(name))+" | "+cell(v, true))
		}
	})
}

// printCSV prints fields with commas between them. NULL is nothing between two commas, and the
// empty text a pair of quotes, as PostgreSQL's COPY writes them.
func printCSV(w io.Writer, body io.Reader) (int64, error) {
	line := func(out *bufio.Writer, _ int64, values []json.RawMessage) {
		for i, v := range values {
			if i > 0 {
				_ = out.WriteByte(',') // bufio keeps the first error
			}
			if isNull(v) {
				continue
			}
			text := plainText(v)
			if text == "" || strings.ContainsAny(text, ",\"\r\n") {
				text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
			}
			_, _ = out.WriteString(text)
		}
		_ = out.WriteByte('\n')
	}
	return printRows(w, body, line, line)
}

// tsvText keeps a value in its field, with the escapes of PostgreSQL's COPY.
var tsvText = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// printTSV prints fields with tabs between them. NULL is \N, so that it is not the empty text.
func printTSV(w io.Writer, body io.Reader) (int64, error) {
	line := func(out *bufio.Writer, _ int64, values []json.RawMessage) {
		for i, v := range values {
			if i > 0 {
				_ = out.WriteByte('\t') // bufio keeps the first error
			}
			if isNull(v) {
				_, _ = out.WriteString(`\N`)
			} else {
				_, _ = tsvText.WriteString(out, plainText(v))
			}
		}
		_ = out.WriteByte('\n')
	}
	return printRows(w, body, line, line)
}

// markdownText keeps a value in its cell.
var markdownText = strings.NewReplacer("\\", `\\`, "|", `\|`, "\r", "", "\n", "<br>", "\t", " ", "<", "&lt;", "&", "&amp;")

// printMarkdown prints a table of GitHub's Markdown.
func printMarkdown(w io.Writer, body io.Reader) (int64, error) {
	line := func(out *bufio.Writer, _ int64, values []json.RawMessage) {
		for _, v := range values {
			text := "NULL"
			if !isNull(v) {
				text = termtext.Harmless(markdownText.Replace(plainText(v)))
			}
			_, _ = out.WriteString("| " + text + " ") // bufio keeps the first error
		}
		_, _ = out.WriteString("|\n")
	}
	return printRows(w, body, func(out *bufio.Writer, row int64, values []json.RawMessage) {
		line(out, row, values)
		_, _ = out.WriteString(strings.Repeat("| --- ", len(values)) + "|\n")
	}, line)
}

// printJSON prints one array of objects.
func printJSON(w io.Writer, body io.Reader) (int64, error) {
	list := &jsonList{w: w}
	rows, err := copyLines(list, body)
	if err != nil {
		return rows, err // the array stays open, so that nobody takes it for the whole
	}
	return rows, list.end()
}

// jsonList makes an array of the lines that are written to it, in pieces of any size.
type jsonList struct {
	w       io.Writer
	begun   bool
	between bool // the last byte was the end of a line
}

// Write implements io.Writer.
func (l *jsonList) Write(p []byte) (int, error) {
	var out []byte
	for _, b := range p {
		switch {
		case !l.begun:
			out = append(out, '[')
			l.begun = true
		case l.between:
			out = append(out, ",\n"...)
		}
		if l.between = b == '\n'; !l.between {
			out = append(out, b)
		}
	}
	_, err := l.w.Write(out)
	return len(p), err
}

func (l *jsonList) end() error {
	text := "]\n"
	if !l.begun {
		text = "[]\n"
	}
	_, err := io.WriteString(l.w, text)
	return err
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// plainText is a text without its quotes, and any other value as JSON has it.
func plainText(raw json.RawMessage) string {
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
