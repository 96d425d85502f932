package v9

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// smoosh is the table of the parts of a segment. Parts are read when they are asked for, and kept
// by nobody here.
type smoosh struct {
	files fs.FS
	parts map[string]place
}

type place struct {
	file     string
	from, to int64
}

// openSmoosh reads meta.smoosh: a first line "v1,maximal file size,number of files", then one
// "name,file,from,to" for each part.
func openSmoosh(files fs.FS) (*smoosh, error) {
	const meta = "meta.smoosh"
	text, err := readWhole(files, meta)
	if err != nil {
		return nil, err
	}
	head, rest, _ := strings.Cut(string(text), "\n")
	fields := strings.Split(strings.TrimSpace(head), ",")
	if len(fields) != 3 {
		return nil, corrupt(meta, "its first line does not have three fields")
	}
	if fields[0] != "v1" {
		return nil, unknown(meta, "it has version [%.20q]", fields[0])
	}
	n, err := strconv.Atoi(fields[2])
	if err != nil || n < 0 {
		return nil, corrupt(meta, "its first line has no number of files")
	}
	sizes := map[int]int64{}
	s := &smoosh{files: files, parts: map[string]place{}}
	for line := range strings.SplitSeq(rest, "\n") {
		if line == "" {
			continue
		}
		name, numbers, ok := cutNumbers(line)
		if !ok || numbers[0] >= int64(n) || numbers[1] > numbers[2] {
			return nil, corrupt(meta, "the place of a part can't be read")
		}
		number := int(numbers[0])
		file := fmt.Sprintf("%05d.smoosh", number)
		if _, known := sizes[number]; !known {
			info, err := fs.Stat(files, file)
			if err != nil {
				return nil, corrupt(meta, "its file [%s] is not there", file)
			}
			sizes[number] = info.Size()
		}
		if numbers[2] > sizes[number] {
			return nil, corrupt(meta, "a part ends behind the end of file [%s]", file)
		}
		if _, twice := s.parts[name]; twice {
			return nil, corrupt(meta, "it has two parts of one name")
		}
		s.parts[name] = place{file, numbers[1], numbers[2]}
	}
	return s, nil
}

// cutNumbers takes the three numbers from the end of a line; a name may have commas.
func cutNumbers(line string) (name string, numbers [3]int64, ok bool) {
	for i := 2; i >= 0; i-- {
		at := strings.LastIndexByte(line, ',')
		if at < 0 {
			return "", numbers, false
		}
		n, err := strconv.ParseInt(line[at+1:], 10, 64)
		if err != nil || n < 0 {
			return "", numbers, false
		}
		numbers[i], line = n, line[:at]
	}
	return line, numbers, true
}

// readWhole reads a small file.
func readWhole(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, corrupt(name, "it is not there")
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxMetaBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading [%s] of a segment: %w", name, err)
	}
	if len(text) > maxMetaBytes {
		return nil, corrupt(name, "it has more than [%d] bytes", maxMetaBytes)
	}
	return text, nil
}

// has reports whether there is a part.
func (s *smoosh) has(name string) bool { _, ok := s.parts[name]; return ok }

// open reads a part.
func (s *smoosh) open(name string) (*cursor, error) {
	p, ok := s.parts[name]
	if !ok {
		return nil, corrupt(name, "it is not there")
	}
	f, err := s.files.Open(p.file)
	if err != nil {
		return nil, fmt.Errorf("reading [%s] of a segment: %w", p.file, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	b := make([]byte, p.to-p.from)
	if r, ok := f.(io.ReaderAt); ok {
		_, err = r.ReadAt(b, p.from)
		if errors.Is(err, io.EOF) {
			err = nil // a part at the end of the file; its length was checked
		}
	} else if _, err = io.CopyN(io.Discard, f, p.from); err == nil {
		_, err = io.ReadFull(f, b)
	}
	if err != nil {
		return nil, fmt.Errorf("reading [%s] of a segment: %w", p.file, err)
	}
	return &cursor{part: name, b: b}, nil
}

// trimZero drops what some writers leave behind the JSON of a part.
func trimZero(b []byte) []byte { return bytes.TrimRight(b, "\x00") }
