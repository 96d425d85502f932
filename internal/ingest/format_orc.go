package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hengedb/henge/internal/ingest/orc"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/vector"
)

// ORC is the format of Apache ORC files, version 1 of the format, which all writers use. Only the
// wanted columns are read. Large files are split by stripes.
type ORC struct {
	flat *flattening
	// BinaryAsString reads binary columns as strings.
	BinaryAsString bool
	// exact gives decimals with all their digits, for a survey that counts those that DOUBLE rounds.
	exact bool
}

func parseORC(text json.RawMessage) (Format, error) {
	var w columnarWire
	if err := wire.Decode("inputFormat", text, &w); err != nil {
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

// MarshalJSON returns the JSON form.
func (f *ORC) MarshalJSON() ([]byte, error) {
	return jsontext.Marshal(columnarWire{"orc", f.flat.wire, f.BinaryAsString})
}

func (f *ORC) flattening() *flattening { return f.flat }

// orcSplit is an open file with the stripes of a split.
type orcSplit struct {
	*orc.File
	src     randomFile
	stripes []orc.Stripe
}

func (f *ORC) openFile(ctx context.Context, in *input) (*orcSplit, error) {
	src, err := in.random(ctx)
	if err != nil {
		return nil, err
	}
	o := &orcSplit{src: src}
	if o.File, err = orc.Open(src, in.name(), orc.Options{BinaryAsString: f.BinaryAsString, Exact: f.exact}); err != nil {
		return nil, errors.Join(err, src.Close())
	}
	for _, s := range o.Stripes() {
		if at := int64(s.Offset); at >= in.split.Offset && (in.split.End < 0 || at < in.split.End) {
			o.stripes = append(o.stripes, s)
		}
	}
	return o, nil
}

// cuts reports whether the file has several stripes.
func (f *ORC) cuts(ctx context.Context, in *input) (bool, error) {
	o, err := f.openFile(ctx, in)
	if err != nil {
		return false, err
	}
	return len(o.stripes) > 1, o.src.Close()
}

func (f *ORC) openColumns(ctx context.Context, in *input, fields []Field) (producer, error) {
	o, err := f.openFile(ctx, in)
	if err != nil {
		return nil, err
	}
	return startColumnParts(ctx, len(o.stripes), in.opts.Decoders, func(i int, send func(decoded) bool) error {
		if err := o.columns(o.stripes[i], fields, in.opts, send); err != nil {
			return o.Damaged(err)
		}
		return nil
	}, o.src.Close), nil
}

// columns gives the batches of a stripe to send.
func (o *orcSplit) columns(s orc.Stripe, fields []Field, opts *Options, send func(decoded) bool) error {
	r, err := o.Open(s)
	if err != nil {
		return err
	}
	defer r.Close()
	root := o.Types()[0]
	stripe := &part{
		rows: int64(s.Rows),
		column: func(i int, f Field, sink *sink, flaws *partFlaws) (partColumn, error) {
			for at, name := range root.Names {
				if name != f.Name {
					continue
				}
				c, err := r.Column(root.Subtypes[at])
				if err != nil {
					return nil, err
				}
				if direct := directORC(c, i, sink); direct != nil {
					return direct, nil
				}
				return newValueColumn(func() (any, error) { r.Begin(); return c.Next() }, nil, i, sink, flaws), nil
			}
			return nil, nil
		},
		records: func() (objectReader, error) { return &orcObjects{orcSplit: o, stripes: []orc.Stripe{s}}, nil },
	}
	return stripe.read(fields, opts, send)
}

func (f *ORC) openObjects(ctx context.Context, in *input) (objectReader, error) {
	o, err := f.openFile(ctx, in)
	if err != nil {
		return nil, err
	}
	return &orcObjects{orcSplit: o, stripes: o.stripes, whole: true}, nil
}

// orcObjects reads rows as objects.
type orcObjects struct {
	*orcSplit
	whole   bool // the file is closed with it
	stripes []orc.Stripe
	at      *orc.Reader // the stripe that is read
	root    *orc.Column
	left    uint64
}

func (r *orcObjects) next(context.Context) (Record, error) {
	for r.left == 0 {
		r.closeStripe()
		if len(r.stripes) == 0 {
			return Record{}, io.EOF
		}
		var err error
		if r.at, err = r.Open(r.stripes[0]); err == nil {
			r.root, err = r.at.Column(0)
		}
		if err != nil {
			return Record{}, r.Damaged(err)
		}
		if r.left = r.stripes[0].Rows; len(r.Types()) == 1 {
			r.left = 0 // rows of nothing
		}
		r.stripes = r.stripes[1:]
	}
	r.left--
	r.at.Begin()
	v, err := r.root.Next()
	if err != nil {
		return Record{}, r.Damaged(err)
	}
	o, ok := v.(*record.Object)
	if !ok {
		return Record{}, r.Damaged(fmt.Errorf("a row is not a record"))
	}
	return Record{Object: o}, nil
}

func (r *orcObjects) closeStripe() {
	if r.at != nil {
		r.at.Close()
	}
	r.at = nil
}

func (r *orcObjects) close() error {
	r.closeStripe()
	if !r.whole {
		return nil
	}
	return r.src.Close()
}

// orcDirect reads a column into one of its own type, value by value without boxes.
type orcDirect struct {
	from  *orc.Column
	s     *sink
	field int
	to    *column
}

// directORC returns c as a column of field i, or nil where its values need conversion.
func directORC(c *orc.Column, i int, s *sink) partColumn {
	to := s.columns[i]
	value := to
	if to.typ.Kind == vector.KindList { // of one element
		value = to.child
	}
	if to.when != nil || !(c.Text != nil && value.typ.Kind == vector.KindString || c.Long != nil && value.typ.Kind == vector.KindLong ||
		c.Double != nil && value.typ.Kind == vector.KindDouble) {
		return nil
	}
	return &orcDirect{c, s, i, to}
}

func (d *orcDirect) read(n int) (*vector.Vector, error) {
	d.to.reserve(n)
	value := d.to
	if d.to.child != nil {
		value = d.to.child
	}
	for range n {
		there, err := d.from.Present()
		if err != nil {
			return nil, err
		}
		if !there {
			d.to.null()
			continue
		}
		switch {
		case d.from.Text != nil:
			text, err := d.from.Text()
			if err != nil {
				return nil, err
			}
			d.s.str(d.field, value, d.s.malformed.Text(d.s.fields[d.field].Name, text))
		case d.from.Long != nil:
			x, err := d.from.Long()
			if err != nil {
				return nil, err
			}
			value.long(x)
		default:
			x, err := d.from.Double()
			if err != nil {
				return nil, err
			}
			value.double(x)
		}
		if value != d.to {
			d.to.endList()
		}
	}
	return d.to.build(), nil
}

func (*orcDirect) close() error { return nil }
