package ingest

import (
	"context"
	"encoding/binary"
	"io"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/unpack"
)

// refuseArchive refuses zip archives of which only a part would be loaded: those of several files,
// and workbooks.
func refuseArchive(ctx context.Context, name string, e Entity) error {
	if !strings.HasPrefix(string(firstBytes(ctx, e)), "PK\x03\x04") {
		return nil
	}
	files, err := zipNames(ctx, e)
	if err != nil || len(files) < 2 {
		return nil // what is wrong with it is said when it is read
	}
	for _, f := range files {
		if strings.HasPrefix(f, "xl/") || f == "[Content_Types].xml" || f == "mimetype" {
			return fault.InvalidInput("File [%s] is an Office document; save its table as CSV", record.Printable(name))
		}
	}
	return fault.InvalidInput("Archive [%s] has [%d] files, of which only the first would be loaded: [%s] [%s]. Extract it and load its files",
		record.Printable(name), len(files), record.Printable(files[0]), record.Printable(files[1]))
}

func firstBytes(ctx context.Context, e Entity) []byte {
	head, err := readHead(ctx, e, unpack.MagicBytes)
	if err != nil {
		return nil // so it will be when the entity is read
	}
	return head
}

// zipNames lists the files of a zip archive by its directory, which is at its end (APPNOTE 6.3.10,
// sections 4.3.12 and 4.3.16). It reads entities that can be read from any place.
func zipNames(ctx context.Context, e Entity) ([]string, error) {
	if !e.Seekable() || e.Size() < 22 {
		return nil, nil
	}
	from := max(e.Size()-65_557, 0)
	tail, err := readFrom(ctx, e, from, e.Size()-from)
	if err != nil {
		return nil, err
	}
	at := strings.LastIndex(string(tail), "PK\x05\x06")
	if at < 0 || at+22 > len(tail) {
		return nil, nil
	}
	size, offset := binary.LittleEndian.Uint32(tail[at+12:]), binary.LittleEndian.Uint32(tail[at+16:])
	if int64(offset)+int64(size) > e.Size() || size > maxZipDirectory {
		return nil, nil
	}
	directory, err := readFrom(ctx, e, int64(offset), int64(size))
	if err != nil {
		return nil, err
	}
	var names []string
	for len(directory) >= 46 && string(directory[:4]) == "PK\x01\x02" {
		u16 := func(at int) int { return int(binary.LittleEndian.Uint16(directory[at:])) }
		end := 46 + u16(28)
		if end > len(directory) {
			break
		}
		if n := string(directory[46:end]); !strings.HasSuffix(n, "/") {
			names = append(names, n)
		}
		directory = directory[min(end+u16(30)+u16(32), len(directory)):]
	}
	return names, nil
}

const maxZipDirectory = 64 << 20

func readFrom(ctx context.Context, e Entity, offset, n int64) ([]byte, error) {
	r, err := e.Open(ctx, offset)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out := make([]byte, n)
	_, err = io.ReadFull(r, out)
	return out, err
}
