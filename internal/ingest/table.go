package ingest

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
)

// Table is external data seen as a table: EXTERN of SQL, ioConfig of a native spec.
type Table struct {
	Source Source
	Format Format
	Fields []Field
}

// Options say how to read. The zero value reads with one decoder, the default limits and without
// tolerance for bad records.
type Options struct {
	// Access says what sources may touch; nil: everything.
	Access *Access
	// Decoders is the number of goroutines that decode one split; 0 or 1: the caller's own.
	Decoders int
	// ChunkBytes and MaxRecordBytes replace the default sizes when positive.
	ChunkBytes     int
	MaxRecordBytes int
	// TempDir is where files that must be read at any place, and can't be where they lie, are copied;
	// "": the machine's folder for such.
	TempDir string
	// MaxSpoolBytes bounds such a copy when positive.
	MaxSpoolBytes int64
	// Disk counts the bytes of such copies; nil: nothing does.
	Disk *budget.Budget
	// Shape, when set, learns from the records that are rows, of all their fields. It is for one
	// decoder.
	Shape *Shape
	// RemoveNullBytes strips U+0000 from strings, which otherwise ends the reading with a
	// NullByteError.
	RemoveNullBytes bool
	// KeepNullBytes lets U+0000 be.
	KeepNullBytes bool
	// OnParseError is told of records that are no rows, in their order, from the goroutine that calls
	// Next. An error that it returns ends the reading. nil: the first such record ends it.
	OnParseError func(*ParseError) error
	// OnNotice is told of what a user should know of an input though it is read. It may be called by
	// any goroutine; nil: nobody asks.
	OnNotice func(*Notice)
}

// Notice is something of an input that a user should know, though it ends nothing: a file of an
// archive that was left out, bytes that are no text.
type Notice struct {
	// Path is the name of the entity; "" for inline text.
	Path string
	// Text says what it is.
	Text string
	// Count is how many records or values it was met in; 0: it is of the whole input.
	Count int64
}

// Error returns what the notice says, with the input.
func (n *Notice) Error() string { return "Input [" + shownName(n.Path) + "]: " + n.Text }

func (o *Options) chunkBytes() int {
	if o.ChunkBytes > 0 {
		return o.ChunkBytes
	}
	return defaultChunkBytes
}

func (o *Options) maxRecordBytes() int {
	if o.MaxRecordBytes > 0 {
		return max(o.MaxRecordBytes, o.chunkBytes())
	}
	return max(defaultMaxRecordBytes, o.chunkBytes())
}

func (o *Options) maxSpoolBytes() int64 {
	if o.MaxSpoolBytes > 0 {
		return o.MaxSpoolBytes
	}
	return defaultMaxSpoolBytes
}

// NewTable checks the columns.
func NewTable(source Source, format Format, fields []Field) (*Table, error) {
	if err := validateFields(fields); err != nil {
		return nil, err
	}
	return &Table{Source: source, Format: format, Fields: fields}, nil
}

// readHead reads up to n bytes of an entity as they are stored.
func readHead(ctx context.Context, e Entity, n int) ([]byte, error) {
	r, err := e.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	head := make([]byte, n)
	m, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return head[:m], nil
}

var byteOrderMark = []byte("\xEF\xBB\xBF")

func trimBOM(b []byte) []byte {
	if len(b) >= 3 && string(b[:3]) == string(byteOrderMark) {
		return b[3:]
	}
	return b
}

// refuseUTF16 tells text in UTF-16 from text in UTF-8, which all formats are.
func refuseUTF16(head []byte, name string) error {
	if len(head) >= 2 && (head[0] == 0xFF && head[1] == 0xFE || head[0] == 0xFE && head[1] == 0xFF) {
		return fault.InvalidInput("Input [%s] is encoded in UTF-16; convert it to UTF-8", name)
	}
	return nil
}
