package export

import (
	"io"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

// Format is a format of files.
type Format struct {
	// Name is what it is called in statements and reports, and the suffix of its files.
	Name string
	rows result.Format // of all but parquet
}

// formats are those of results, Arrow among them, and Parquet. JSON is what everybody calls
// objectLines.
var formats = []Format{{"csv", result.CSV}, {"json", result.ObjectLines}, {"objectLines", result.ObjectLines}, {"arrayLines", result.ArrayLines},
	{"object", result.Object}, {"array", result.Array}, {"arrow", result.Arrow}, {parquetName, 0}}

const parquetName = "parquet"

// ParseFormat reads the name of a format in any case.
func ParseFormat(name string) (Format, error) {
	names := make([]string, len(formats))
	for i, f := range formats {
		if names[i] = f.Name; strings.EqualFold(f.Name, name) {
			return f, nil
		}
	}
	return Format{}, fault.InvalidInput("Export format [%s] is unknown; use one of [%s]", name, strings.Join(names, ", "))
}

// File writes the rows of one file. It is used by one goroutine.
type File interface {
	// Batch writes the rows of b, which has the columns of the file.
	Batch(b *vector.Batch) error
	// Close ends the file; a File that is not closed is a broken one.
	Close() error
}

// NewFile returns a File that writes to w. Times are written in zone, nil: UTC; in Parquet and
// Arrow they are instants.
func (f Format) NewFile(w io.Writer, columns []result.Column, zone *chrono.Zone) (File, error) {
	if f.Name == parquetName {
		return newParquet(w, columns)
	}
	return result.NewWriter(w, columns, result.Options{Format: f.rows, Header: f.rows == result.CSV, Zone: zone, File: true}), nil
}
