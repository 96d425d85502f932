package ingest

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
)

// Table is external data as a table: EXTERN in SQL, or the ioConfig of a native spec.
type Table struct {
	Source Source
	Format Format
	Fields []Field
}

// Options are the settings of a reader. The zero value reads with one decoder and the default
// limits, and fails at the first bad record.
type Options struct {
	// Access defines what sources may read; nil: everything.
	Access *Access
	// Decoders is the number of goroutines that decode one split; 0 or 1: the goroutine of the caller.
	Decoders int
	// ChunkBytes and MaxRecordBytes override the default sizes if positive.
	ChunkBytes     int
	MaxRecordBytes int
	// TempDir is the directory for copies of files that need random access and can't be read in place;
	// "": the system's temporary directory.
	TempDir string
	// MaxSpoolBytes limits the size of such a copy if positive.
	MaxSpoolBytes int64
	// Disk counts the bytes of such copies; nil: they are not counted.
	Disk *budget.Budget
	// Shape, if set, learns all fields of the records that are rows. It requires a single decoder.
	Shape *Shape
	// RemoveNullBytes removes U+0000 from strings. Without it, U+0000 fails the reader with a
	// NullByteError.
	RemoveNullBytes bool
	// KeepNullBytes keeps U+0000 in strings.
	KeepNullBytes bool
	// OnParseError is called with records that are not rows, in order, by the goroutine that calls
	// Next. If it returns an error, the reader fails. nil: the first such record fails the reader.
	OnParseError func(*ParseError) error
	// OnNotice is called with notices about an input that do not stop the reader. Any goroutine may
	// call it. nil: notices are dropped.
	OnNotice func(*Notice)
}

// Notice is information about an input that a user should know but that does not stop the reader: a
// skipped file of an archive, bytes that are not text.
type Notice struct {
	// Path is the name of the entity; "" for inline text.
	Path string
	// Text is the text of the notice.
	Text string
	// Count is the number of records or values that the notice concerns; 0: it concerns the whole
	// input.
	Count int64
}

// Error returns the text of the notice, with the name of the input.
func (n *Notice) Error() string { return "Input [" + record.ShownName(n.Path) + "]: " + n.Text }

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
	return max(record.MaxBytes, o.chunkBytes())
}

func (o *Options) maxSpoolBytes() int64 {
	if o.MaxSpoolBytes > 0 {
		return o.MaxSpoolBytes
	}
	return defaultMaxSpoolBytes
}

// NewTable returns a table after it has checked the columns.
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
