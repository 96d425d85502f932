package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// table is generated data: its rows, in order of time, are the same every time.
type table struct {
	name    string
	rows    int
	columns []column // without the time, which is the column "t" of the files, in milliseconds, and __time in the engines
	nulls   bool     // columns may have NULLs
	// partitionedBy is the time chunk of Henge's segments.
	partitionedBy string
	write         func(to io.Writer, format fileFormat) error
	// given is the path of a file that is there already; "": write makes them.
	given string
	// shuffled says that the files have the rows in random order.
	shuffled bool
	// time says where given files have the time; nil: in the column "t".
	time *timeOf
}

// timeOf is the time of rows, in the words of each engine. column is what it is computed from, in
// Henge of a type; "": nothing.
type timeOf struct{ column, hengeType, henge, duck string }

type column struct{ name, sqlType string }

// path is where the file of a format is in dir.
func (t *table) path(dir string, format fileFormat) string {
	name := t.name
	if t.shuffled {
		name += "-shuffled"
	}
	return filepath.Join(dir, name+"."+string(format))
}

// file returns the table as a file of a format in dir, written on first use.
func (t *table) file(dir string, format fileFormat) (string, error) {
	if t.given != "" {
		return t.given, nil
	}
	path := t.path(dir, format)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if t.shuffled {
		inOrder := *t
		inOrder.shuffled = false
		from, err := inOrder.file(dir, format)
		if err != nil {
			return "", err
		}
		return path, shuffleLines(from, path, format == csv)
	}
	f, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("making the data file of [%s]: %w", t.name, err)
	}
	defer f.Close()
	if err := t.write(f, format); err != nil {
		return "", fmt.Errorf("writing the data file of [%s]: %w", t.name, err)
	}
	return path, f.Sync()
}
