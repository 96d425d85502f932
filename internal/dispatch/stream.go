package dispatch

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/vector"
)

const (
	streamMagic = "HGFR"
	streamHead  = 8

	blockRows    = 'R'
	blockSegment = 'S'
	blockProfile = 'P'
	blockEnd     = 'E'
	blockFault   = 'F'

	writeBuffer = 64 << 10
	readBuffer  = 64 << 10
)

// StreamWriter writes the response to a request.
type StreamWriter struct {
	w      *bufio.Writer
	frames *vector.FrameWriter
	skip   int64
	rows   int64
	begun  bool
	flush  func() // of what lies below

	version byte
}

// NewStreamWriter returns a writer that skips the first skip rows. flush, if not nil, flushes w.
// version is the version of the request.
func NewStreamWriter(w io.Writer, version byte, skip int64, flush func()) *StreamWriter {
	s := &StreamWriter{version: version, w: bufio.NewWriterSize(w, writeBuffer), skip: skip, flush: flush}
	s.frames = vector.NewFrameWriter(blockWriter{s.w})
	return s
}

// blockWriter puts the byte of a block in front of each frame, which FrameWriter writes in one
// piece.
type blockWriter struct{ w *bufio.Writer }

func (b blockWriter) Write(p []byte) (int, error) {
	if err := b.w.WriteByte(blockRows); err != nil {
		return 0, err
	}
	return b.w.Write(p)
}

// Begin tells the reader that the server has started to work.
func (s *StreamWriter) Begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	if _, err := s.w.Write(append([]byte(streamMagic), s.version, 0, 0, 0)); err != nil {
		return err
	}
	return s.send()
}

func (s *StreamWriter) send() error {
	if err := s.w.Flush(); err != nil {
		return err
	}
	if s.flush != nil {
		s.flush()
	}
	return nil
}

// Rows writes the rows of a batch after the skipped ones.
func (s *StreamWriter) Rows(b *vector.Batch) error {
	if err := s.Begin(); err != nil {
		return err
	}
	n := int64(b.Rows())
	if s.skip >= n {
		s.skip -= n
		return nil
	}
	if s.skip > 0 {
		b = b.Slice(int(s.skip), int(n))
		n, s.skip = n-s.skip, 0
	}
	s.rows += n
	return s.frames.Write(b)
}

// Segment starts the complete result of segment i of the request, which continues until the next
// Segment. It is used only if the request has BySegment.
func (s *StreamWriter) Segment(i int) error {
	if err := s.Begin(); err != nil {
		return err
	}
	block := binary.LittleEndian.AppendUint32([]byte{blockSegment}, uint32(i))
	_, err := s.w.Write(binary.LittleEndian.AppendUint32(block, crc32.Checksum(block, castagnoli)))
	return err
}

// Profile writes the counters of the operators after all rows. It is used only if the request has
// Profile.
func (s *StreamWriter) Profile(did *exec.PartProfile) error {
	if err := s.Begin(); err != nil {
		return err
	}
	text, err := encodeProfile(did, s.version)
	if err != nil {
		return err
	}
	_, err = s.w.Write(textBlock(blockProfile, text))
	return err
}

// textBlock returns a block of text: its length, the text, and a checksum.
func textBlock(kind byte, text []byte) []byte {
	block := append(binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(text))), text...)
	return binary.LittleEndian.AppendUint32(block, crc32.Checksum(block, castagnoli))
}

// End ends the response, with a failure if err is not nil.
func (s *StreamWriter) End(failed error) error {
	if err := s.Begin(); err != nil {
		return err
	}
	var block []byte
	if failed == nil {
		block = binary.LittleEndian.AppendUint64([]byte{blockEnd}, uint64(s.rows))
		block = binary.LittleEndian.AppendUint32(block, crc32.Checksum(block, castagnoli))
	} else {
		text, err := encodeFault(failed)
		if err != nil {
			return err
		}
		block = textBlock(blockFault, text)
	}
	if _, err := s.w.Write(block); err != nil {
		return err
	}
	return s.send()
}

// StreamReader reads a response. A response without an end or a fault is an error that errors.As
// recognises as a failure of the server.
type StreamReader struct {
	r      *bufio.Reader
	frames *vector.FrameReader
	rows   int64
	begun  bool
	did    *exec.PartProfile
	// batches is how many came, and starts where those of single segments begin.
	batches      int
	starts       []segmentStart
	segmentBegun []bool // of the segments of the request whether theirs have begun

	version byte
}

// segmentStart says that the batches from one on are those of a segment of the request.
type segmentStart struct{ segment, batch int }

// NewStreamReader returns a reader from r of the response to a request with a version.
func NewStreamReader(r io.Reader, version byte) *StreamReader {
	in := bufio.NewReaderSize(r, readBuffer)
	return &StreamReader{version: version, r: in, frames: vector.NewFrameReader(in)}
}

// Begin waits until the server has started to work.
func (s *StreamReader) Begin() error {
	if s.begun {
		return nil
	}
	head := make([]byte, streamHead)
	if _, err := io.ReadFull(s.r, head); err != nil {
		return cut(err)
	}
	if string(head[:4]) != streamMagic || head[4] != s.version {
		return &broken{corrupt("it is not a stream of the requested version")}
	}
	s.begun = true
	return nil
}

// cut is the failure of a stream that ended early.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = corrupt("it is cut short")
	}
	return &broken{err}
}

// BySegment permits boundaries of so many segments in the stream.
func (s *StreamReader) BySegment(segments int) { s.segmentBegun = make([]bool, segments) }

// Did returns what the operators did, once Next has returned io.EOF; nil: the server did not say.
// Those of versions before 3 do not say what others did whose shares they have merged.
func (s *StreamReader) Did() *exec.PartProfile { return s.did }

// Next returns the next rows, or io.EOF after the last; the response is then complete.
func (s *StreamReader) Next() (*vector.Batch, error) {
	if err := s.Begin(); err != nil {
		return nil, err
	}
	kind, err := s.r.ReadByte()
	for err == nil && kind == blockSegment {
		if err := s.start(); err != nil {
			return nil, err
		}
		kind, err = s.r.ReadByte()
	}
	if err == nil && kind == blockProfile {
		if err := s.profile(); err != nil {
			return nil, err
		}
		kind, err = s.r.ReadByte()
	}
	if err != nil {
		return nil, cut(err)
	}
	switch kind {
	case blockRows:
		b, err := s.frames.Next()
		if err != nil {
			return nil, cut(err)
		}
		s.rows += int64(b.N)
		s.batches++
		return b, nil
	case blockEnd:
		rows, err := s.block(kind, 8)
		if err != nil {
			return nil, err
		}
		if int64(binary.LittleEndian.Uint64(rows)) != s.rows {
			return nil, &broken{corrupt("rows are missing")}
		}
		return nil, io.EOF
	case blockFault:
		text, err := s.text(kind, maxFaultBytes)
		if err != nil {
			return nil, err
		}
		return nil, decodeFault(text)
	}
	return nil, &broken{corrupt("a block is unknown")}
}

// start reads which segment begins. All rows are those of one, or none are said to be.
func (s *StreamReader) start() error {
	number, err := s.block(blockSegment, 4)
	if err != nil {
		return err
	}
	i := binary.LittleEndian.Uint32(number)
	if uint64(i) >= uint64(len(s.segmentBegun)) || s.segmentBegun[i] || len(s.starts) == 0 && s.batches > 0 {
		return &broken{corrupt("a segment begins at an invalid position")}
	}
	s.segmentBegun[i] = true
	s.starts = append(s.starts, segmentStart{int(i), s.batches})
	return nil
}

func (s *StreamReader) profile() error {
	text, err := s.text(blockProfile, maxProfileBytes)
	if err != nil {
		return err
	}
	s.did, err = decodeProfile(text, s.version)
	return err
}

// text reads a length, so much text, and the checksum.
func (s *StreamReader) text(kind byte, most uint32) ([]byte, error) {
	size, err := s.r.Peek(4)
	if err != nil {
		return nil, cut(err)
	}
	n := binary.LittleEndian.Uint32(size)
	if n > most {
		return nil, &broken{corrupt("a block claims to be larger than such blocks are")}
	}
	text, err := s.block(kind, 4+int(n))
	if err != nil {
		return nil, err
	}
	return text[4:], nil
}

// block reads n bytes and the checksum of them and their kind.
func (s *StreamReader) block(kind byte, n int) ([]byte, error) {
	b := make([]byte, 1+n+4)
	b[0] = kind
	if _, err := io.ReadFull(s.r, b[1:]); err != nil {
		return nil, cut(err)
	}
	if crc32.Checksum(b[:1+n], castagnoli) != binary.LittleEndian.Uint32(b[1+n:]) {
		return nil, &broken{corrupt("a checksum is wrong")}
	}
	return b[1 : 1+n], nil
}
