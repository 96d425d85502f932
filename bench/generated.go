package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// generatedInput is files of JSON lines that exist only while they are read. A row follows from its
// number and all rows are equally long, so that a file has a size and can be read from any place.
// Each file has the rows of one day, up to an hour late.
type generatedInput struct {
	files int64
	rows  int64 // of each file
}

const (
	generatedStart = int64(1700006400000)
	generatedDay   = int64(24 * 3600 * 1000)
	generatedLate  = uint64(3600 * 1000)
)

// generatedSums are what a query of all rows must answer.
type generatedSums struct{ rows, millis, bytes, sessions int64 }

// sums counts what the rows have.
func (g generatedInput) sums() generatedSums {
	s := generatedSums{rows: g.files * g.rows}
	for n := range s.rows {
		h := mix(uint64(n))
		s.millis += millisOf(h)
		s.bytes += bytesOf(h)
		if sessionOf(n) == n {
			s.sessions++
		}
	}
	return s
}

func millisOf(h uint64) int64 { return 100 + int64(h%900) }
func bytesOf(h uint64) int64  { return 1_000_000_000 + int64(h>>16%9_000_000_000) }

// sessionOf is the row whose session a row has: one of 16 repeats that of eight rows before it.
func sessionOf(n int64) int64 {
	if n%16 == 15 {
		return n - 8
	}
	return n
}

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// row appends row n.
func (g generatedInput) row(dst []byte, n int64) []byte {
	h := mix(uint64(n))
	day, within := n/g.rows, n%g.rows
	at := generatedStart + day*generatedDay + within*(generatedDay-int64(generatedLate))/g.rows + int64(h%generatedLate)
	dst = strconv.AppendInt(append(dst, `{"t":`...), at, 10)
	dst = digits(append(dst, `,"region":"region-`...), h>>8%25, 2)
	dst = digits(append(dst, `","country":"country-`...), h>>12%250, 3)
	dst = digits(append(dst, `","campaign":"campaign-`...), (h>>20%5000)*(h>>40%5000)/5000, 4)
	dst = append(dst, `","session":"`...)
	dst = hex.AppendEncode(dst, bigEndian(mix(uint64(sessionOf(n))^1<<60)))
	dst = digits(append(dst, `","url":"https://shop.example.com/products/item/`...), (h>>24%100_000)*(h>>44%100_000)/100_000, 6)
	dst = strconv.AppendInt(append(dst, `","ms":`...), millisOf(h), 10)
	dst = strconv.AppendInt(append(dst, `,"bytes":`...), bytesOf(h), 10)
	dst = digits(append(dst, `,"f":1.`...), h>>32%1_000_000, 6)
	return append(dst, "}\n"...)
}

// digits appends the last n digits of v.
func digits(dst []byte, v uint64, n int) []byte {
	dst = append(dst, "0000000000"[:n]...)
	for i := len(dst) - 1; n > 0; i, n, v = i-1, n-1, v/10 {
		dst[i] = byte('0' + v%10)
	}
	return dst
}

func bigEndian(v uint64) []byte {
	return []byte{byte(v >> 56), byte(v >> 48), byte(v >> 40), byte(v >> 32), byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
}

// width is the length of every row.
func (g generatedInput) width() int64 { return int64(len(g.row(nil, 0))) }

// ServeHTTP answers /0.json, /1.json and so on.
func (g generatedInput) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(req.URL.Path, "/"), ".json"), 10, 64)
	if err != nil || n < 0 || n >= g.files {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("ETag", strconv.Quote(fmt.Sprint(n, g.rows)))
	http.ServeContent(w, req, "", time.Time{}, &generatedFile{input: g, first: n * g.rows, width: g.width()})
}

// generatedFile reads one file.
type generatedFile struct {
	input         generatedInput
	first         int64 // row
	width, offset int64
	buffer        []byte
}

func (f *generatedFile) size() int64 { return f.input.rows * f.width }

func (f *generatedFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.size()
	}
	f.offset = offset
	return offset, nil
}

func (f *generatedFile) Read(p []byte) (int, error) {
	if f.offset >= f.size() {
		return 0, io.EOF
	}
	f.buffer = f.buffer[:0]
	skipped := f.offset % f.width
	for n := f.offset / f.width; n < f.input.rows && int64(len(f.buffer)) < int64(len(p))+skipped; n++ {
		f.buffer = f.input.row(f.buffer, f.first+n)
	}
	n := copy(p, f.buffer[skipped:])
	f.offset += int64(n)
	return n, nil
}
