package result

import (
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Format is one of the result formats.
type Format uint8

// The result formats.
const (
	Object Format = iota
	Array
	ObjectLines
	ArrayLines
	CSV
	// Arrow is a stream of Apache Arrow IPC.
	Arrow
)

// ArrowMedia is the media type of Arrow streams.
const ArrowMedia = "application/vnd.apache.arrow.stream"

var formatNames = [...]string{"object", "array", "objectLines", "arrayLines", "csv", "arrow"}

// String returns the name requests use.
func (f Format) String() string { return formatNames[f] }

// ParseFormat parses a format name, ignoring case.
func ParseFormat(name string) (Format, error) {
	for i, n := range formatNames {
		if strings.EqualFold(n, name) {
			return Format(i), nil
		}
	}
	return 0, fault.InvalidInput("Result format [%s] is unknown; use one of [%s]", name, strings.Join(formatNames[:], ", "))
}

// ContentType returns the media type of the format in HTTP responses.
func (f Format) ContentType() string {
	switch f {
	case ObjectLines, ArrayLines:
		return "text/plain"
	case CSV:
		return "text/csv"
	case Arrow:
		return ArrowMedia
	}
	return "application/json"
}

func (f Format) objects() bool { return f == Object || f == ObjectLines }
