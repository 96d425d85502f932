// Package redact removes values of rows and statements from messages and log lines, so that users
// can share an error report.
package redact

import (
	"encoding/json"
	"slices"
	"strings"
)

// leftOut replaces what is left out.
const leftOut = "..."

// Message leaves out the values of a message, which are in brackets and quotes and may be from
// rows, and all lines but the first. A quote between letters is an apostrophe. A value that is not
// closed ends with the text.
func Message(text string) string {
	text, more, _ := strings.Cut(strings.TrimRight(text, "\n"), "\n")
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		out.WriteByte(c)
		end := -1
		switch {
		case strings.IndexByte("[{", c) >= 0:
			end = closing(text, i)
		case c == '"' || c == '`', c == '\'' && !(i > 0 && isLetter(text[i-1])):
			if n := strings.IndexByte(text[i+1:], c); n >= 0 {
				end = i + 1 + n
			}
		default:
			continue
		}
		out.WriteString(leftOut)
		if end < 0 {
			return out.String()
		}
		out.WriteByte(text[end])
		i = end
	}
	if more != "" {
		out.WriteString(" " + leftOut)
	}
	return out.String()
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }

// closing returns where the bracket at a place is closed, -1: nowhere.
func closing(text string, at int) int {
	depth := 0
	for i := at; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// plainKeys are the attributes of the log that have no values of rows.
var plainKeys = []string{
	"category", "datasource", "datasources", "dataDirectory", "directory", "duration", "interval", "kind", "level", "memory",
	"memoryLimit", "method",
	"ms", "msg", "number", "process", "queries", "queryId", "role", "roles", "route", "rows", "run", "sequence", "server", "service",
	"settingsFiles", "status", "task", "taskId", "threads", "time", "took", "traceId", "type", "version", "waitsAtMost",
	"worker",
}

// LogLine leaves out the statement of a log line in text or JSON, and the values of its attributes
// that may be from rows.
func LogLine(line string) string {
	if strings.HasPrefix(line, "{") {
		return jsonLine(line)
	}
	var out []string
	for rest := line; rest != ""; {
		var key, value string
		if key, value, rest = nextAttribute(rest); key == "" {
			return Message(line) // not a record: a line of a panic, or of another program
		}
		out = append(out, key+"="+keptValue(key, value))
	}
	return strings.Join(out, " ")
}

func keptValue(key, value string) string {
	switch {
	case slices.Contains(plainKeys, key):
		return value
	case key == "statement" || key == "payload":
		return leftOut
	}
	if strings.HasPrefix(value, `"`) {
		var text string
		if json.Unmarshal([]byte(value), &text) != nil {
			return leftOut
		}
		kept, _ := json.Marshal(Message(text)) // it is a text
		return string(kept)
	}
	return Message(value)
}

// nextAttribute takes a key and its value from the begin of a line of a log in text. key "": there
// is none.
func nextAttribute(line string) (key, value, rest string) {
	key, after, found := strings.Cut(strings.TrimLeft(line, " "), "=")
	if !found || key == "" || strings.ContainsAny(key, " \"'") {
		return "", "", ""
	}
	if !strings.HasPrefix(after, `"`) {
		value, rest, _ = strings.Cut(after, " ")
		return key, value, rest
	}
	for i := 1; i < len(after); i++ {
		switch after[i] {
		case '\\':
			i++
		case '"':
			return key, after[:i+1], strings.TrimLeft(after[i+1:], " ")
		}
	}
	return "", "", ""
}

// jsonLine is LogLine of a log in JSON.
func jsonLine(line string) string {
	var record map[string]json.RawMessage
	if json.Unmarshal([]byte(line), &record) != nil {
		return Message(line)
	}
	for key, value := range record {
		var text string
		switch {
		case slices.Contains(plainKeys, key):
			continue
		case key != "statement" && key != "payload" && json.Unmarshal(value, &text) == nil:
			text = Message(text)
		default:
			text = leftOut
		}
		record[key], _ = json.Marshal(text) // it is a text
	}
	out, _ := json.Marshal(record) // of what was read
	return string(out)
}
