package main

import (
	"bufio"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/hengedb/henge/cmd/henge/termtext"
)

const (
	tableSample   = 1000 // rows that decide the widths
	maxCellLength = 60   // longer text is cut where it has columns beside it; csv and json show all
)

// table prints rows in aligned columns.
type table struct {
	w       *bufio.Writer
	held    [][]string
	numeric []bool
	widths  []int
	begun   bool
	rows    int64
}

func (t *table) add(row []json.RawMessage) {
	cells := make([]string, len(row))
	header := t.rows == 0 && len(t.held) == 0 && !t.begun
	for i, raw := range row {
		cells[i] = cell(raw, len(row) == 1)
		if !header {
			if len(raw) > 0 && (raw[0] == '"' || raw[0] == 't' || raw[0] == 'f' || raw[0] == '[' || raw[0] == '{') && i < len(t.numeric) {
				t.numeric[i] = false
			}
		}
	}
	if header {
		t.numeric = make([]bool, len(row))
		for i := range t.numeric {
			t.numeric[i] = true
		}
	} else {
		t.rows++
	}
	if t.begun {
		t.line(cells)
		return
	}
	t.held = append(t.held, cells)
	if len(t.held) > tableSample {
		t.begin()
	}
}

// nullText is what stands for NULL. A text that reads the same is shown in quotes.
const nullText = "NULL"

// cellText keeps a value in its line.
var cellText = strings.NewReplacer("\n", "⏎", "\r", "", "\t", " ")

// cell is the text of a JSON value in a grid, whole if it stands alone in its row, as a line of a
// plan does.
func cell(raw json.RawMessage, alone bool) string {
	text := plainText(raw)
	switch {
	case isNull(raw):
		return nullText
	case text == nullText:
		return `"` + nullText + `"`
	}
	text = termtext.Harmless(cellText.Replace(text))
	if !alone && utf8.RuneCountInString(text) > maxCellLength {
		text = string([]rune(text)[:maxCellLength-1]) + "…"
	}
	return text
}

func (t *table) begin() {
	t.begun = true
	if len(t.held) == 0 {
		return
	}
	t.widths = make([]int, len(t.held[0]))
	for _, row := range t.held {
		for i, c := range row {
			t.widths[i] = max(t.widths[i], termtext.Width(c))
		}
	}
	for n, row := range t.held {
		t.line(row)
		if n == 0 {
			for i, width := range t.widths {
				if i > 0 {
					_, _ = t.w.WriteString("-+-") // bufio keeps the first error for flush
				}
				_, _ = t.w.WriteString(strings.Repeat("-", width))
			}
			_ = t.w.WriteByte('\n')
		}
	}
	t.held = nil
}

func (t *table) line(cells []string) {
	for i, c := range cells {
		if i > 0 {
			_, _ = t.w.WriteString(" | ")
		}
		pad := ""
		if i < len(t.widths) {
			pad = strings.Repeat(" ", max(0, t.widths[i]-termtext.Width(c)))
		}
		switch {
		case i < len(t.numeric) && t.numeric[i]:
			_, _ = t.w.WriteString(pad + c)
		case i == len(cells)-1:
			_, _ = t.w.WriteString(c)
		default:
			_, _ = t.w.WriteString(c + pad)
		}
	}
	_ = t.w.WriteByte('\n')
}

func (t *table) flush() error {
	if !t.begun {
		t.begin()
	}
	return t.w.Flush()
}
