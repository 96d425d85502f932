package arrow

// The numbers of fields in this file are those of Message.fbs and Schema.fbs.

// The kinds of messages.
const (
	headSchema     = 1
	headDictionary = 2
	headBatch      = 3
)

// versionV5 is the version of the metadata that is written; versionV4 has the same layout but for
// unions.
const (
	versionV4 = 3
	versionV5 = 4
)

// message is metadata around what head writes.
func message(kind int64, bodyLength int64, head func(w *flatWriter) int) []byte {
	return flat(func(w *flatWriter) int {
		return w.table(number(2, versionV5), number(1, kind), refer(head), number(8, bodyLength))
	})
}

// EncodeSchema returns the metadata of the message that begins a stream.
func EncodeSchema(s *Schema) []byte {
	return message(headSchema, 0, func(w *flatWriter) int {
		return w.table(number(2, 0), fieldsSlot(s.Fields), metadataSlot(s.Metadata))
	})
}

func fieldsSlot(fields []Field) slot {
	return tables(len(fields), func(w *flatWriter, i int) int { return writeField(w, &fields[i]) })
}

func metadataSlot(pairs [][2]string) slot {
	if len(pairs) == 0 {
		return slot{}
	}
	return tables(len(pairs), func(w *flatWriter, i int) int { return w.table(text(pairs[i][0]), text(pairs[i][1])) })
}

func writeField(w *flatWriter, f *Field) int {
	encoding := slot{}
	if e := f.Dictionary; e != nil {
		encoding = refer(func(w *flatWriter) int {
			return w.table(number(8, e.ID), refer(func(w *flatWriter) int { return writeType(w, e.Index) }), flag(false))
		})
	}
	return w.table(text(f.Name), flag(f.Nullable), number(1, int64(f.Type.Kind)),
		refer(func(w *flatWriter) int { return writeType(w, f.Type) }), encoding, fieldsSlot(f.Type.Children), metadataSlot(f.Metadata))
}

// writeType writes the parameters of a type.
func writeType(w *flatWriter, t *Type) int {
	switch t.Kind {
	case Int:
		return w.table(number(4, int64(t.Bits)), flag(t.Signed))
	case Float:
		return w.table(number(2, int64(t.Bits/32))) // half 0, single 1, double 2
	case Decimal:
		return w.table(number(4, int64(t.Precision)), number(4, int64(t.Scale)), number(4, int64(t.Bits)))
	case Date:
		return w.table(number(2, int64(t.Bits/64))) // days 0, milliseconds 1
	case Time:
		return w.table(number(2, int64(t.Unit)), number(4, int64(t.Bits)))
	case Timestamp:
		zone := slot{}
		if t.Zone != "" {
			zone = text(t.Zone)
		}
		return w.table(number(2, int64(t.Unit)), zone)
	case Duration:
		return w.table(number(2, int64(t.Unit)))
	case FixedBinary, FixedList:
		return w.table(number(4, int64(t.Size)))
	case Union:
		return writeUnion(w, len(t.Children))
	}
	return w.table()
}

// batchTable writes a RecordBatch whose buffers follow one another.
func batchTable(w *flatWriter, rows int, nodes, buffers [][2]int64) int {
	return w.table(number(8, int64(rows)), structs(nodes), structs(buffers))
}

// head is the metadata of a message.
type head struct {
	kind       int
	bodyLength int64
	table      flatTable
}

// readHead reads the metadata of a message.
func readHead(metadata []byte) (*head, error) {
	r := &flatReader{b: metadata}
	root := r.root()
	h := &head{kind: int(root.number(1, 1, 0)), bodyLength: root.number(3, 8, 0)}
	version := root.number(0, 2, 0)
	var ok bool
	h.table, ok = root.table(2)
	switch {
	case r.bad || !ok:
		return nil, damaged("the metadata of a message can't be read")
	case version != versionV4 && version != versionV5:
		return nil, unsupported("version [%d] of the metadata, which should be V5 or V4", version+1)
	case h.bodyLength < 0 || h.bodyLength > MaxBody:
		return nil, damaged("the body of a message has [%d] bytes, more than [%d]", h.bodyLength, MaxBody)
	}
	return h, nil
}

// DecodeSchema reads the metadata of the message that begins a stream.
func DecodeSchema(metadata []byte) (*Schema, error) {
	h, err := readHead(metadata)
	if err != nil {
		return nil, err
	}
	return h.schema()
}

func (h *head) schema() (*Schema, error) {
	if h.kind != headSchema {
		return nil, damaged("the stream begins with a message of kind [%d], not with its schema", h.kind)
	}
	r := h.table.r
	if h.table.number(0, 2, 0) != 0 {
		return nil, unsupported("big-endian numbers")
	}
	d := &schemaReader{r: r}
	s := &Schema{Fields: d.fields(h.table, 1, 0), Metadata: d.metadata(h.table, 2)}
	if d.err == nil && r.bad {
		d.err = damaged("the schema can't be read")
	}
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

// schemaReader reads fields; err is the first problem.
type schemaReader struct {
	r    *flatReader
	seen int
	err  error
}

func (d *schemaReader) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *schemaReader) metadata(t flatTable, field int) [][2]string {
	at, n := t.vector(field, 4)
	var out [][2]string
	for i := range n {
		if d.r.bad {
			break
		}
		if d.seen++; d.seen > maxFields {
			d.fail(damaged("the schema has more than [%d] fields", maxFields))
			break
		}
		pair := d.r.tableAt(d.r.follow(at + 4*i))
		out = append(out, [2]string{pair.text(0), pair.text(1)})
	}
	return out
}

func (d *schemaReader) fields(t flatTable, field, depth int) []Field {
	at, n := t.vector(field, 4)
	if n > 0 && depth > maxDepth {
		d.fail(unsupported("fields nested deeper than [%d]", maxDepth))
		return nil
	}
	var out []Field
	for i := range n {
		if d.r.bad || d.err != nil {
			break
		}
		if d.seen++; d.seen > maxFields {
			d.fail(damaged("the schema has more than [%d] fields", maxFields))
			break
		}
		out = append(out, d.field(d.r.tableAt(d.r.follow(at+4*i)), depth))
	}
	return out
}

func (d *schemaReader) field(t flatTable, depth int) Field {
	f := Field{Name: t.text(0), Nullable: t.number(1, 1, 0) != 0, Metadata: d.metadata(t, 6)}
	parameters, _ := t.table(3)
	f.Type = d.typeOf(f.Name, Kind(t.number(2, 1, 0)), parameters)
	f.Type.Children = d.fields(t, 5, depth+1)
	d.shape(f.Name, f.Type)
	if e, ok := t.table(4); ok {
		index := Int32
		if given, ok := e.table(1); ok {
			index = d.typeOf(f.Name, Int, given)
		}
		f.Dictionary = &Encoding{ID: e.number(0, 8, 0), Index: index}
	}
	return f
}

// typeOf reads a type without its children.
func (d *schemaReader) typeOf(name string, kind Kind, p flatTable) *Type {
	t := &Type{Kind: kind}
	ok := true
	switch kind {
	case Null, Binary, Utf8, Bool, List, Struct, Map, LargeBinary, LargeUtf8, LargeList, BinaryView, Utf8View:
	case Int:
		t.Bits, t.Signed = int(p.number(0, 4, 0)), p.number(1, 1, 0) != 0
		ok = t.Bits == 8 || t.Bits == 16 || t.Bits == 32 || t.Bits == 64
	case Float:
		precision := p.number(0, 2, 0)
		if ok = precision >= 0 && precision <= 2; ok {
			t.Bits = 16 << precision
		}
	case Decimal:
		t.Precision, t.Scale, t.Bits = int(p.number(0, 4, 0)), int(p.number(1, 4, 0)), int(p.number(2, 4, 128))
		ok = t.Bits == 32 || t.Bits == 64 || t.Bits == 128 || t.Bits == 256
		ok = ok && t.Precision > 0 && t.Precision <= 76 && t.Scale >= -76 && t.Scale <= 76
	case Date:
		unit := p.number(0, 2, 1)
		t.Bits, ok = 32+32*int(unit&1), unit == 0 || unit == 1
	case Time:
		unit := p.number(0, 2, 1)
		t.Unit, t.Bits = Unit(unit&3), int(p.number(1, 4, 32))
		ok = unit >= 0 && unit <= 3 && (t.Bits == 32 && t.Unit <= Milli || t.Bits == 64 && t.Unit >= Micro)
	case Timestamp:
		unit := p.number(0, 2, 0)
		t.Unit, t.Zone, ok = Unit(unit&3), p.text(1), unit >= 0 && unit <= 3
	case Duration:
		unit := p.number(0, 2, 1)
		t.Unit, ok = Unit(unit&3), unit >= 0 && unit <= 3
	case FixedBinary, FixedList:
		t.Size = int(p.number(0, 4, 0))
		ok = t.Size >= 0
	default:
		d.fail(unsupported("column [%.100s] of type [%s]", name, kind))
	}
	if !ok {
		d.fail(damaged("the type of column [%.100s] can't be", name))
	}
	return t
}

// shape checks the children of a type.
func (d *schemaReader) shape(name string, t *Type) {
	ok := true
	switch t.Kind {
	case List, LargeList, FixedList:
		ok = len(t.Children) == 1
	case Map:
		ok = len(t.Children) == 1 && t.Children[0].Type.Kind == Struct && len(t.Children[0].Type.Children) == 2 &&
			t.Children[0].Dictionary == nil
	case Struct:
	default:
		ok = len(t.Children) == 0
	}
	if !ok {
		d.fail(damaged("the type of column [%.100s] has [%d] parts", name, len(t.Children)))
	}
}
