package orc

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
)

const (
	// maxFooter bounds the metadata at the end of a file or stripe, not packed.
	maxFooter = 64 << 20
	// maxPostscript is what a byte says at most.
	maxPostscript = 255
)

// Options are the settings for reading the values of a file.
type Options struct {
	// BinaryAsString reads binary columns as strings.
	BinaryAsString bool
	// Exact returns decimals with all their digits, for a survey that counts the decimals that DOUBLE
	// would round.
	Exact bool
}

// Source is the bytes of a file. Several goroutines read it.
type Source interface {
	io.ReaderAt
	Size() int64
}

// File is an open file. It is safe for use by many goroutines, each with its own Readers.
type File struct {
	src     Source
	name    string
	options Options
	tail    tail
}

// Open reads the footer of a file; its name is for errors. The caller closes the source.
func Open(src Source, name string, options Options) (*File, error) {
	o := &File{src: src, name: name, options: options}
	if err := o.readTail(); err != nil {
		return nil, o.Damaged(err)
	}
	return o, nil
}

// Stripes returns the stripes of the file.
func (o *File) Stripes() []Stripe { return o.tail.stripes }

// Types returns the types of the file. The first is the type of the rows, a struct.
func (o *File) Types() []Type { return o.tail.types }

// Damaged returns the fault of a file that can't be read, or the error of the source if the source
// failed.
func (o *File) Damaged(err error) error {
	if fault.Find(err) != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	name := o.name
	if name == "" {
		name = "inline"
	}
	return fault.InvalidInput("Input [%s] is damaged or no ORC file: [%v]", name, err)
}

func (o *File) readTail() error {
	size := o.src.Size()
	end := make([]byte, min(size, maxPostscript+1))
	if _, err := io.ReadFull(io.NewSectionReader(o.src, size-int64(len(end)), int64(len(end))), end); err != nil {
		return record.Unexpected(err)
	}
	if len(end) < 4 || int(end[len(end)-1]) >= len(end) {
		return io.ErrUnexpectedEOF
	}
	script := end[len(end)-1-int(end[len(end)-1]) : len(end)-1]
	if err := o.tail.parsePostscript(script); err != nil {
		return err
	}
	at := size - 1 - int64(len(script))
	if o.tail.footer > uint64(at) {
		return errMetadata
	}
	footer, err := o.metadata(at-int64(o.tail.footer), int64(o.tail.footer))
	if err != nil {
		return err
	}
	if err := o.tail.parseFooter(footer); err != nil {
		return err
	}
	if o.tail.encrypted {
		return fault.Unsupported("Input [%s] is encrypted, which is not supported in ORC files", o.name)
	}
	for _, s := range o.tail.stripes {
		// Each of them may be as large as a number gets, so that sums would not tell.
		if whole := uint64(at); s.Offset > whole || s.index > whole || s.data > whole || s.footer > whole || s.Offset+s.index+s.data+s.footer > whole {
			return errMetadata
		}
		if s.Rows > 1<<40 {
			return errMetadata
		}
	}
	return o.tail.checkTypes()
}

// metadata reads packed metadata.
func (o *File) metadata(at, length int64) ([]byte, error) {
	unpack, err := newUnpacker(&o.tail)
	if err != nil {
		return nil, err
	}
	defer unpack.close()
	b := &stored{src: io.NewSectionReader(o.src, at, length), unpack: unpack}
	var out bytes.Buffer
	for {
		if err := b.more(); errors.Is(err, io.ErrUnexpectedEOF) { // where it ends
			return out.Bytes(), nil
		} else if err != nil {
			return nil, err
		}
		if out.Write(b.rest); out.Len() > maxFooter {
			return nil, errors.New("its metadata is larger than metadata may be")
		}
	}
}

// Open opens a stripe for one goroutine.
func (o *File) Open(s Stripe) (*Reader, error) {
	text, err := o.metadata(int64(s.Offset+s.index+s.data), int64(s.footer))
	if err != nil {
		return nil, err
	}
	footer, err := parseStripe(text)
	if err != nil {
		return nil, err
	}
	left := s.index + s.data
	for _, stream := range footer.streams {
		if stream.length > left {
			return nil, errMetadata
		}
		left -= stream.length
	}
	unpack, err := newUnpacker(&o.tail)
	if err != nil {
		return nil, err
	}
	return &Reader{tail: &o.tail, stripe: s, footer: footer, file: o.src, unpack: unpack, options: o.options}, nil
}
