package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/unpack"
)

// inputKind is the type id of the format that an input is of; kindDelimited stands for csv and tsv.
type inputKind string

const (
	kindJSON      inputKind = "json"
	kindDelimited inputKind = "csv"
	kindParquet   inputKind = "parquet"
	kindORC       inputKind = "orc"
	kindAvro      inputKind = "avro_ocf"
	kindArrow     inputKind = "arrow"
)

func (k inputKind) words() string {
	switch k {
	case kindJSON:
		return "JSON"
	case kindParquet:
		return "Parquet"
	case kindORC:
		return "ORC"
	case kindAvro:
		return "Avro"
	case kindArrow:
		return "Arrow"
	}
	return "delimited text"
}

// foreignKinds are files that are often met and can't be loaded, by what they have at a place.
var foreignKinds = []struct {
	at    int
	magic string
	words string
}{
	{257, "ustar", "a tar archive; extract it and load its files"},
	{0, "\x7fELF", "a program (ELF)"},
	{0, "MZ\x90\x00", "a program of Windows"},
	{0, "\xcf\xfa\xed\xfe", "a program (Mach-O)"},
	{0, "\xca\xfe\xba\xbe", "a Java class"},
	{0, "ARROW1\x00\x00", "an Arrow (Feather) file; write it as Parquet"},
	{0, "FEA1", "a Feather file; write it as Parquet"},
	{0, "\x89HDF\r\n\x1a\n", "an HDF5 file; write its tables as Parquet or CSV"},
	{0, "SQLite format 3\x00", "a database of SQLite; henge reads its tables with the input source [sql]"},
	{0, "%PDF-", "a PDF document"},
	{0, "\x89PNG\r\n\x1a\n", "an image (PNG)"},
	{0, "\xff\xd8\xff", "an image (JPEG)"},
	{0, "GIF8", "an image (GIF)"},
	{0, "7z\xbc\xaf\x27\x1c", "a 7-Zip archive; extract it and load its files"},
	{0, "Rar!\x1a\x07", "a RAR archive; extract it and load its files"},
	{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document (Excel, Word); save the table as CSV"},
	{0, "\x80\x02", "a pickle of Python; write it as Parquet or CSV"},
	{0, "\x80\x03", "a pickle of Python; write it as Parquet or CSV"},
	{0, "\x80\x04", "a pickle of Python; write it as Parquet or CSV"},
	{0, "\x80\x05", "a pickle of Python; write it as Parquet or CSV"},
	{0, "\x1e{", "a sequence of JSON texts (RFC 7464); take out the record separators, for example with tr -d '\\036'"},
	{0, "<?xml", "XML"},
	{0, "<!DOCTYPE", "HTML"},
	{0, "<!doctype", "HTML"},
	{0, "<html", "HTML"},
}

// kindOf tells what an entity holds by its content, and returns the start of its text.
func kindOf(ctx context.Context, name string, e Entity) (inputKind, []byte, error) {
	if err := refuseArchive(ctx, name, e); err != nil {
		return "", nil, err
	}
	head, _, err := unpackedHead(ctx, name, e)
	if err != nil {
		return "", nil, err
	}
	name = record.Printable(name)
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return kindParquet, nil, nil
	case bytes.HasPrefix(head, []byte("PARE")):
		return "", nil, fault.InvalidInput("File [%s] is an encrypted Parquet file, which can't be read", name)
	case bytes.HasPrefix(head, []byte("ORC")) && (len(head) < 4 || head[3] < ' '):
		return kindORC, nil, nil
	case bytes.HasPrefix(head, []byte("Obj\x01")):
		return kindAvro, nil, nil
	case isArrowStream(head):
		return kindArrow, nil, nil
	}
	if err := refuseUTF16(head, name); err != nil {
		return "", nil, err
	}
	for _, f := range foreignKinds {
		if len(head) > f.at && bytes.HasPrefix(head[f.at:], []byte(f.magic)) {
			return "", nil, fault.InvalidInput("File [%s] is %s", name, f.words)
		}
	}
	text := trimBOM(head)
	unifyLines(text) // also within quotes, which does not matter to what is decided by it
	if len(bytes.TrimSpace(text)) == 0 {
		return "", nil, fault.InvalidInput("File [%s] is empty", name)
	}
	if at := bytes.IndexByte(text, 0); at >= 0 {
		if utf16 := strings.Count(string(text[:min(len(text), 200)]), "\x00"); utf16*3 > min(len(text), 200) {
			return "", nil, fault.InvalidInput("File [%s] is not UTF-8 text: it seems to be UTF-16 or UTF-32; convert it to UTF-8", name)
		}
		return "", nil, fault.InvalidInput("File [%s] is not text: it has a zero byte at byte [%d]. Known are JSON, CSV, TSV, Parquet, "+
			"ORC, Avro "+
			"and Arrow, also compressed", name, at+1)
	}
	if controls(text) {
		return "", nil, fault.InvalidInput("File [%s] is not text. Known are JSON, CSV, TSV, Parquet, ORC, Avro and Arrow, also compressed", name)
	}
	if isJSON(text) {
		return kindJSON, text, nil
	}
	return kindDelimited, text, nil
}

// isArrowStream reports whether bytes begin as a stream of Arrow IPC does: with the mark of a
// message and the length of its metadata, which is a multiple of 8.
func isArrowStream(head []byte) bool {
	if len(head) < 16 || binary.LittleEndian.Uint32(head) != 0xffffffff {
		return false
	}
	n := binary.LittleEndian.Uint32(head[4:])
	return n > 0 && n%8 == 0 && n < 64<<20
}

// IsPlainText reports whether the bytes are text, and not a compressed format.
func IsPlainText(b []byte) bool {
	return unpack.Of(b) == nil && bytes.IndexByte(b, 0) < 0 && !controls(b)
}

// controls reports whether text has so many control characters that it is none.
func controls(text []byte) bool {
	text = text[:min(len(text), 4096)]
	n := 0
	for _, c := range text {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\v' && c != 1 && c != 0x1b {
			n++
		}
	}
	return n*20 > len(text) || n > 0 && !utf8.Valid(text[:max(len(text)-utf8.UTFMax, 0)])
}

// isJSON reports whether text is objects: whether one of its first lines, or values, is one.
func isJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	if text[0] != '{' && text[0] != '[' {
		return false
	}
	if text[0] == '[' {
		if rest := bytes.TrimLeft(text[1:], " \t\r\n"); len(rest) == 0 || rest[0] == '{' || rest[0] == ']' {
			return true
		}
	}
	first := text
	var parser fastjson.Parser
	for tries := 0; tries < 20 && len(text) > 0; tries++ {
		if end := valueEnd(text); end > 0 {
			if _, err := parser.ParseBytes(text[:end]); err == nil {
				return true
			}
		}
		line := bytes.IndexByte(text, '\n')
		if line < 0 {
			break
		}
		text = bytes.TrimLeft(text[line:], " \t\r\n")
	}
	// An object that is longer than what is looked at, or is broken: a name follows its bracket.
	for _, text := range [][]byte{first, text} {
		if len(text) > 0 && text[0] == '{' {
			rest := bytes.TrimLeft(text[1:], " \t\r\n")
			return len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'' || rest[0] == '}')
		}
	}
	return false
}
