package ingest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/unpack"
)

// textInput reads the chunks of a split of a text format.
type textInput struct {
	format textFormat
	in     *input
	src    io.ReadCloser
	cut    *chunker

	first    *chunk // what is left of the first chunk after its header
	header   []string
	start    int64                 // offset of the first record of a split that is not the first
	baseLine func() (int64, error) // lines of the file before the split; nil: none
	// raw says that bytes which are no UTF-8 stay as they are.
	raw bool
}

func (t *textInput) open(ctx context.Context) error {
	split, opts := t.in.split, t.in.opts
	var err error
	if split.Offset > 0 {
		t.src, err = split.Entity.Open(ctx, split.Offset) // splits are plain text
	} else {
		t.src, err = t.in.stream(ctx)
	}
	if err != nil {
		return err
	}
	end, stream := split.End, io.Reader(t.src)
	if split.exact && end >= 0 {
		end, stream = -1, io.LimitReader(t.src, split.End-split.Offset)
	}
	text := bufio.NewReaderSize(stream, 64<<10)
	var head []byte
	if split.Offset == 0 {
		if head, err = text.Peek(4096); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := refuseUTF16(head, split.Entity.Name()); err != nil {
			return err
		}
		if bytes.HasPrefix(head, byteOrderMark) {
			if _, err := text.Discard(len(byteOrderMark)); err != nil {
				return err
			}
			head = head[len(byteOrderMark):]
		}
	}
	size := opts.chunkBytes()
	if _, packed := t.src.(*unpack.Unpacker); !packed && split.Entity.Size() > 0 { // small files need small buffers
		size = int(min(int64(size), max(split.Entity.Size()+1, smallChunk)))
	}
	t.cut = &chunker{r: text, cut: t.format.begin(head), size: size, max: opts.maxRecordBytes(), text: !t.raw,
		end: end, offset: split.Offset, free: make(chan []byte, chunksInFlight*max(opts.Decoders, 1))}
	if split.Offset == 0 {
		return t.takeHeader()
	}
	if !split.exact {
		if err := t.cut.skipToBoundary(); err != nil {
			return err
		}
	}
	t.start = t.cut.offset
	t.baseLine = sync.OnceValues(func() (int64, error) { return t.linesBefore(ctx) })
	return t.headerOfFile(ctx)
}

// takeHeader reads the rows before the data.
func (t *textInput) takeHeader() error {
	h := t.format.head()
	for {
		c, err := t.cut.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var complete bool
		if t.header, complete = h.take(&c); complete {
			t.first = &c
			return t.checkHeader()
		}
	}
}

// headerOfFile reads the header for a split that begins later.
func (t *textInput) headerOfFile(ctx context.Context) error {
	text, err := readHead(ctx, t.in.split.Entity, defaultChunkBytes)
	if err != nil {
		return err
	}
	text = record.ValidText(trimBOM(text))
	t.cut.cut.unify(text)
	h := t.format.head()
	t.header, _ = h.take(&chunk{data: text})
	return t.checkHeader()
}

func (t *textInput) checkHeader() error {
	if twice := Duplicates(t.header); twice != "" {
		return fault.InvalidInput("%s in the header of input [%s]", twice, record.ShownName(t.in.name()))
	}
	return nil
}

// linesBefore counts the lines of the file before the split: asked only when a record there does
// not parse.
func (t *textInput) linesBefore(ctx context.Context) (int64, error) {
	src, err := t.in.split.Entity.Open(ctx, 0)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	// A split begins behind the end of a line, so that a carriage return at the end of what is counted
	// ends a line by itself.
	lines, held, buf := int64(0), 0, make([]byte, 256<<10)
	for left := t.start; left > 0; {
		n, err := src.Read(buf[held:min(left+int64(held), int64(len(buf)))])
		left -= int64(n)
		text := buf[:held+n]
		if held = 0; left > 0 && err == nil && len(text) > 0 && text[len(text)-1] == '\r' {
			held, text = 1, text[:len(text)-1]
		}
		t.cut.cut.unify(text)
		lines += int64(bytes.Count(text, newline))
		if err != nil {
			break
		}
		buf[0] = '\r' // where it is held
	}
	return lines, ctx.Err()
}

// nextChunk returns the next chunk of the split.
func (t *textInput) nextChunk() (chunk, error) {
	if t.first != nil {
		c := *t.first
		t.first = nil
		return c, nil
	}
	return t.cut.next()
}

// tellMalformed tells of what was no UTF-8 in what was read so far.
func (t *textInput) tellMalformed() {
	if t.cut == nil || t.in.opts.OnNotice == nil {
		return
	}
	count := t.cut.malformed.n.Swap(0)
	if count == 0 {
		return
	}
	line := t.cut.malformed.line.Load()
	if t.baseLine != nil {
		if before, err := t.baseLine(); err == nil {
			line += before
		}
	}
	t.in.opts.OnNotice(&Notice{Path: t.in.name(), Count: count,
		Text: fmt.Sprintf("[%d] byte sequences are not UTF-8 and were replaced by U+FFFD, the first on line [%d]", count, line)})
}

func (t *textInput) close() error {
	if t.src == nil {
		return nil
	}
	err := t.src.Close()
	t.src = nil
	return err
}
