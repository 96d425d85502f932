package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hengedb/henge/internal/fault"
)

// ORC is files of Apache ORC, version 1 of the format as all writers write it. Columns are read on
// their own, those not wanted not at all; stripes are what a large file is split into.
type ORC struct {
	flat *flattening
	// BinaryAsString takes columns of bytes for text.
	BinaryAsString bool
}

func parseORC(text json.RawMessage) (Format, error) {
	var w columnarWire
	if err := decodeWire("inputFormat", text, &w); err != nil {
		return nil, err
	}
	flat, err := parseFlattening("orc", w.FlattenSpec)
	if err != nil {
		return nil, err
	}
	return &ORC{flat: flat, BinaryAsString: w.BinaryAsString}, nil
}

// Type returns "orc".
func (f *ORC) Type() string { return "orc" }

// MarshalJSON returns the wire form.
func (f *ORC) MarshalJSON() ([]byte, error) {
	return marshalPlain(columnarWire{"orc", f.flat.wire, f.BinaryAsString})
}

func (f *ORC) flattening() *flattening { return f.flat }

// orcFile is an open file with the stripes of a split.
type orcFile struct {
	f       *ORC
	file    randomFile
	name    string
	tail    orcTail
	stripes []orcStripe
}

const (
	// maxORCFooter bounds the metadata at the end of a file or stripe, not packed.
	maxORCFooter = 64 << 20
	// maxORCPostscript is what a byte says at most.
	maxORCPostscript = 255
)

func (f *ORC) openFile(ctx context.Context, in *input) (*orcFile, error) {
	file, err := in.random(ctx)
	if err != nil {
		return nil, err
	}
	o := &orcFile{f: f, file: file, name: in.name()}
	if err := o.readTail(); err != nil {
		return nil, errors.Join(o.damaged(err), file.Close())
	}
	for _, s := range o.tail.stripes {
		if at := int64(s.offset); at >= in.split.Offset && (in.split.End < 0 || at < in.split.End) {
			o.stripes = append(o.stripes, s)
		}
	}
	return o, nil
}

func (o *orcFile) readTail() error {
	size := o.file.Size()
	end := make([]byte, min(size, maxORCPostscript+1))
	if _, err := io.ReadFull(io.NewSectionReader(o.file, size-int64(len(end)), int64(len(end))), end); err != nil {
		return unexpected(err)
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
		return errORCMetadata
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
		if whole := uint64(at); s.offset > whole || s.index > whole || s.data > whole || s.footer > whole || s.offset+s.index+s.data+s.footer > whole {
			return errORCMetadata
		}
		if s.rows > 1<<40 {
			return errORCMetadata
		}
	}
	return o.tail.checkTypes()
}

// metadata reads packed metadata.
func (o *orcFile) metadata(at, length int64) ([]byte, error) {
	unpack, err := newORCUnpacker(&o.tail)
	if err != nil {
		return nil, err
	}
	defer unpack.close()
	b := &orcBytes{src: io.NewSectionReader(o.file, at, length), unpack: unpack}
	var out bytes.Buffer
	for {
		if err := b.more(); errors.Is(err, io.ErrUnexpectedEOF) { // where it ends
			return out.Bytes(), nil
		} else if err != nil {
			return nil, err
		}
		if out.Write(b.rest); out.Len() > maxORCFooter {
			return nil, errors.New("its metadata is larger than metadata may be")
		}
	}
}

// stripe opens a stripe for one goroutine.
func (o *orcFile) stripe(s orcStripe) (*orcReader, error) {
	text, err := o.metadata(int64(s.offset+s.index+s.data), int64(s.footer))
	if err != nil {
		return nil, err
	}
	footer, err := parseORCStripe(text)
	if err != nil {
		return nil, err
	}
	left := s.index + s.data
	for _, stream := range footer.streams {
		if stream.length > left {
			return nil, errORCMetadata
		}
		left -= stream.length
	}
	unpack, err := newORCUnpacker(&o.tail)
	return &orcReader{tail: &o.tail, stripe: s, footer: footer, file: o.file, unpack: unpack, binaryAsString: o.f.BinaryAsString}, err
}

// damaged is the fault of a file that can't be read, unless the source itself failed.
func (o *orcFile) damaged(err error) error {
	if fault.Find(err) != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	name := o.name
	if name == "" {
		name = "inline"
	}
	return fault.InvalidInput("Input [%s] is damaged or no ORC file: [%v]", name, err)
}

// cuts reports whether the file has several stripes.
func (f *ORC) cuts(ctx context.Context, in *input) (bool, error) {
	o, err := f.openFile(ctx, in)
	if err != nil {
		return false, err
	}
	return len(o.stripes) > 1, o.file.Close()
}

func (f *ORC) openColumns(ctx context.Context, in *input, fields []Field) (producer, error) {
	o, err := f.openFile(ctx, in)
	if err != nil {
		return nil, err
	}
	return startColumnParts(ctx, len(o.stripes), in.opts.Decoders, func(i int, send func(decoded) bool) error {
		if err := o.columns(o.stripes[i], fields, in.opts, send); err != nil {
			return o.damaged(err)
		}
		return nil
	}, o.file.Close), nil
}

// columns gives the batches of a stripe to send.
func (o *orcFile) columns(s orcStripe, fields []Field, opts *Options, send func(decoded) bool) error {
	r, err := o.stripe(s)
	if err != nil {
		return err
	}
	defer r.unpack.close()
	root := o.tail.types[0]
	stripe := &part{
		rows: int64(s.rows),
		column: func(i int, f Field, sink *sink, flaws *partFlaws) (partColumn, error) {
			for at, name := range root.names {
				if name != f.Name {
					continue
				}
				c, err := r.column(root.subtypes[at])
				if err != nil {
					return nil, err
				}
				if direct := c.direct(i, sink); direct != nil {
					return direct, nil
				}
				return newValueColumn(func() (any, error) { r.values = 0; return c.next() }, nil, i, sink, flaws), nil
			}
			return nil, nil
		},
		records: func() (objectReader, error) { return &orcObjects{orcFile: o, stripes: []orcStripe{s}}, nil },
	}
	return stripe.read(fields, opts, send)
}

func (f *ORC) openObjects(ctx context.Context, in *input) (objectReader, error) {
	o, err := f.openFile(ctx, in)
	if err != nil {
		return nil, err
	}
	return &orcObjects{orcFile: o, stripes: o.stripes, whole: true}, nil
}

// orcObjects reads rows as objects.
type orcObjects struct {
	*orcFile
	whole   bool // the file is closed with it
	stripes []orcStripe
	at      *orcReader // the stripe that is read
	root    *orcColumn
	left    uint64
}

func (r *orcObjects) next(context.Context) (Record, error) {
	for r.left == 0 {
		r.closeStripe()
		if len(r.stripes) == 0 {
			return Record{}, io.EOF
		}
		var err error
		if r.at, err = r.stripe(r.stripes[0]); err == nil {
			r.root, err = r.at.column(0)
		}
		if err != nil {
			return Record{}, r.damaged(err)
		}
		if r.left = r.stripes[0].rows; len(r.tail.types) == 1 {
			r.left = 0 // rows of nothing
		}
		r.stripes = r.stripes[1:]
	}
	r.left--
	r.at.values = 0
	v, err := r.root.next()
	if err != nil {
		return Record{}, r.damaged(err)
	}
	o, ok := v.(*Object)
	if !ok {
		return Record{}, r.damaged(fmt.Errorf("a row is no record"))
	}
	return Record{Object: o}, nil
}

func (r *orcObjects) closeStripe() {
	if r.at != nil && r.at.unpack != nil {
		r.at.unpack.close()
	}
	r.at = nil
}

func (r *orcObjects) close() error {
	r.closeStripe()
	if !r.whole {
		return nil
	}
	return r.file.Close()
}
