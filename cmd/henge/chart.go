package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/cmd/henge/script"
	"github.com/hengedb/henge/cmd/henge/termtext"
	"github.com/hengedb/henge/internal/fault"
)

const (
	// chartRows is how many rows a chart may have: it is drawn when all are known.
	chartRows = 100_000
	// chartWidth is how many characters bars and sparklines have at most.
	chartWidth = 60
)

// numbers are the rows of an answer that is drawn.
type numbers struct {
	names []string
	cells [][]string
	value [][]float64 // NaN: no number
	drawn []bool      // columns of numbers
}

// readNumbers reads an answer that is drawn.
func readNumbers(body io.Reader) (n *numbers, rows int64, err error) {
	n = &numbers{}
	head := true
	err = eachRow(body, func(values []json.RawMessage) error {
		texts, parsed := make([]string, len(values)), make([]float64, len(values))
		for i, v := range values {
			texts[i], parsed[i] = cell(v, false), math.NaN()
			if x, err := strconv.ParseFloat(string(v), 64); err == nil {
				parsed[i] = x
			} else if !head && !isNull(v) && i < len(n.drawn) {
				n.drawn[i] = false
			}
		}
		if head {
			head, n.names, n.drawn = false, texts, slices.Repeat([]bool{true}, len(values))
			return nil
		}
		if rows++; rows > chartRows {
			return fault.InvalidInput("A chart has at most %s rows; use GROUP BY or LIMIT", grouped(chartRows))
		}
		n.cells, n.value = append(n.cells, texts), append(n.value, parsed)
		return nil
	})
	return n, rows, err
}

// measure returns the column that is drawn: the one of a name, else the last of numbers.
func (n *numbers) measure(column string) (int, error) {
	for i, name := range slices.Backward(n.names) {
		if column == "" && n.drawn[i] || column != "" && name == column {
			if !n.drawn[i] {
				return 0, fault.InvalidInput("Column [%s] is not numeric", column)
			}
			return i, nil
		}
	}
	if column == "" {
		return 0, fault.InvalidInput("The result has no numeric column to draw")
	}
	return 0, fault.InvalidInput("The result has no column [%s]; its columns are [%s]", column, strings.Join(n.names, ", "))
}

// printBars draws a bar for each row. Its label is what the row has beside the number.
func printBars(column string) func(w io.Writer, body io.Reader) (int64, error) {
	return func(w io.Writer, body io.Reader) (int64, error) {
		n, rows, err := readNumbers(body)
		if err != nil || rows == 0 {
			return rows, err
		}
		at, err := n.measure(column)
		if err != nil {
			return 0, err
		}
		least, most := 0.0, 0.0
		labels := make([]string, rows)
		labelWidth, valueWidth := 0, termtext.Width(n.names[at])
		for i, cells := range n.cells {
			var parts []string
			for k, text := range cells {
				if k != at && (!n.drawn[k] || len(cells) == 2) {
					parts = append(parts, text)
				}
			}
			labels[i] = strings.Join(parts, " ")
			labelWidth, valueWidth = max(labelWidth, termtext.Width(labels[i])), max(valueWidth, termtext.Width(cells[at]))
			if x := n.value[i][at]; !math.IsNaN(x) && !math.IsInf(x, 0) {
				least, most = min(least, x), max(most, x)
			}
		}
		out := bufio.NewWriterSize(w, 1<<16)
		for i, cells := range n.cells {
			label := labels[i] + strings.Repeat(" ", labelWidth-termtext.Width(labels[i]))
			value := strings.Repeat(" ", valueWidth-termtext.Width(cells[at])) + cells[at]
			fmt.Fprintln(out, strings.TrimRight(label+" | "+value+" | "+bar(n.value[i][at], least, most), " ")) // bufio keeps the first error
		}
		return rows, out.Flush()
	}
}

// eighths are bars of a part of a character.
var eighths = []rune(" ▏▎▍▌▋▊▉█")

// bar draws a number on a scale; numbers below zero go to the left of a line.
func bar(x, least, most float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) || most == least {
		return ""
	}
	scale := chartWidth / (most - least)
	zero := int(math.Round(-least * scale))
	if x < 0 {
		from := int(math.Round((x - least) * scale))
		return strings.Repeat(" ", from) + strings.Repeat("█", max(0, zero-from)) + "│"
	}
	whole := int(x * scale * 8)
	text := strings.Repeat("█", whole/8)
	if rest := whole % 8; rest > 0 {
		text += string(eighths[rest])
	}
	if least < 0 {
		return strings.Repeat(" ", zero) + "│" + text
	}
	return text
}

// printSparks draws a line for each column of numbers, or for one, over the rows in their order.
func printSparks(column string) func(w io.Writer, body io.Reader) (int64, error) {
	return func(w io.Writer, body io.Reader) (int64, error) {
		n, rows, err := readNumbers(body)
		if err != nil || rows == 0 {
			return rows, err
		}
		if _, err := n.measure(column); err != nil {
			return 0, err
		}
		width := 0
		for i, name := range n.names {
			if n.drawn[i] {
				width = max(width, termtext.Width(name))
			}
		}
		for i, name := range n.names {
			if !n.drawn[i] || column != "" && name != column {
				continue
			}
			values := make([]float64, rows)
			for row := range values {
				values[row] = n.value[row][i]
			}
			line, least, most := spark(values)
			name += strings.Repeat(" ", width-termtext.Width(name))
			if _, err := fmt.Fprintf(w, "%s | %s | %g to %g\n", name, line, least, most); err != nil {
				return rows, err
			}
		}
		return rows, nil
	}
}

var sparks = []rune("▁▂▃▄▅▆▇█")

// spark draws numbers as one line, of which each character is the mean of some. Where there is none
// is a gap.
func spark(values []float64) (line string, least, most float64) {
	n := min(len(values), chartWidth)
	means := make([]float64, n)
	least, most = math.Inf(1), math.Inf(-1)
	for i := range means {
		sum, count := 0.0, 0.0
		for _, x := range values[i*len(values)/n : (i+1)*len(values)/n] {
			if !math.IsNaN(x) && !math.IsInf(x, 0) {
				sum, count = sum+x, count+1
				least, most = min(least, x), max(most, x)
			}
		}
		means[i] = sum / count // NaN: none
	}
	var b strings.Builder
	for _, mean := range means {
		switch {
		case math.IsNaN(mean):
			b.WriteByte(' ')
		case most == least:
			b.WriteRune(sparks[len(sparks)/2])
		default:
			b.WriteRune(sparks[min(len(sparks)-1, int((mean-least)/(most-least)*float64(len(sparks))))])
		}
	}
	return b.String(), least, most
}

// drawBars runs the last statement and draws its answer.
func (p *prompt) drawBars(ctx context.Context, column string) error {
	return p.draw(ctx, printBars(columnName(column)))
}

func (p *prompt) drawSparks(ctx context.Context, column string) error {
	return p.draw(ctx, printSparks(columnName(column)))
}

// columnName reads a name that may have quotes.
func columnName(text string) string {
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
		return strings.ReplaceAll(text[1:len(text)-1], `""`, `"`)
	}
	return text
}

func (p *prompt) draw(ctx context.Context, print func(io.Writer, io.Reader) (int64, error)) error {
	switch write, _ := script.IsWrite(p.last.text); {
	case p.last.text == "":
		return fault.InvalidInput("There is no statement to draw; run one first")
	case write:
		return fault.InvalidInput("The last statement writes; only results of queries can be drawn")
	}
	_, err := p.readAs(ctx, answerFormat{name: "chart", asked: "arrayLines", print: print}, "/service/v2/sql", p.last.text)
	return err
}
