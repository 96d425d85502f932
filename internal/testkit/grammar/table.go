package grammar

import (
	"fmt"
	"strings"
)

// Table counts statements by cells.
type Table struct {
	cells map[[2]string]int
}

// Count adds a statement that was executed and compared.
func (t *Table) Count(row, column string) {
	if t.cells == nil {
		t.cells = map[[2]string]int{}
	}
	t.cells[[2]string{row, column}]++
}

// Has reports whether a statement of a cell was counted.
func (t *Table) Has(row, column string) bool { return t.cells[[2]string{row, column}] > 0 }

// AnyType is the column of productions that say nothing of types.
const AnyType = "any"

// Makes reports whether a production makes sense for a type.
func (p *Production) Makes(t *Type) bool { return p.Classes&t.Class != 0 }

// Key names a production in tables.
func (p *Production) Key() string { return p.Group + ": " + p.Name }

// Empty lists the cells that make sense and that nothing was counted in.
func (t *Table) Empty() (cells []string) {
	for _, p := range Productions {
		if p.Classes == 0 && !t.Has(p.Key(), AnyType) {
			cells = append(cells, p.Key())
		}
		for _, of := range Types {
			if p.Makes(of) && !t.Has(p.Key(), of.Name) {
				cells = append(cells, p.Key()+" / "+of.Name)
			}
		}
	}
	return cells
}

// Markdown prints the table of productions and types: x where a statement was counted, - where
// the production makes no sense for the type.
func (t *Table) Markdown() string {
	columns := make([]string, len(Types))
	for i, of := range Types {
		columns[i] = of.Name
	}
	var rows []string
	group := ""
	cells := map[string][]string{}
	for _, p := range Productions {
		if p.Group != group {
			group = p.Group
			rows = append(rows, "**"+group+"**")
		}
		rows = append(rows, p.Name)
		for _, of := range Types {
			mark := "-"
			switch {
			case p.Classes == 0:
				mark = "any"
			case p.Makes(of) && t.Has(p.Key(), of.Name):
				mark = "x"
			case p.Makes(of):
				mark = "empty"
			}
			cells[group+p.Name] = append(cells[group+p.Name], mark)
		}
	}
	var b strings.Builder
	head(&b, "Production", columns)
	group = ""
	for _, r := range rows {
		if strings.HasPrefix(r, "**") {
			group = strings.Trim(r, "*")
			fmt.Fprintf(&b, "| %s |%s\n", r, strings.Repeat(" |", len(columns)))
			continue
		}
		fmt.Fprintf(&b, "| %s | %s |\n", cellText(r), strings.Join(cells[group+r], " | "))
	}
	return b.String()
}

// Grid prints a table of any rows and columns: x where a statement was counted, - elsewhere.
func (t *Table) Grid(corner string, rows, columns []string) string {
	var b strings.Builder
	head(&b, corner, columns)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |", cellText(r))
		for _, c := range columns {
			mark := "-"
			if t.Has(r, c) {
				mark = "x"
			}
			fmt.Fprintf(&b, " %s |", mark)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func head(b *strings.Builder, corner string, columns []string) {
	fmt.Fprintf(b, "| %s | %s |\n|---|%s\n", corner, strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
}

func cellText(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
