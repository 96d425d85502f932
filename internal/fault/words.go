package fault

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/url"
	"os"
	"reflect"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// Words returns the message of err without the wording of Go's libraries: encoding/json, strconv,
// net and similar packages name Go types and functions, which mean nothing to a user. Text that
// wraps an error of a library is kept.
//
// Messages need not call Words: constructors of this package apply it to errors among their
// arguments.
func Words(err error) string {
	text := err.Error()
	for err != nil {
		if said, ok := words(err); ok {
			return strings.Replace(text, err.Error(), said, 1)
		}
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			for _, each := range several.Unwrap() {
				text = strings.Replace(text, each.Error(), Words(each), 1)
			}
			return text
		}
		if errors.Unwrap(err) == nil {
			return strings.Replace(text, err.Error(), withoutPackage(err.Error()), 1)
		}
		err = errors.Unwrap(err)
	}
	return text
}

// fixed are errors of libraries that are the same each time.
var fixed = []struct {
	err  error
	said string
}{
	{io.ErrUnexpectedEOF, "the data ends too early"},
	{io.EOF, "the data ends too early"},
	{gzip.ErrHeader, "the data is not gzip"},
	{gzip.ErrChecksum, "the gzip data is damaged: its checksum does not match"},
	{zlib.ErrHeader, "the data is not zlib"},
	{zlib.ErrChecksum, "the zlib data is damaged: its checksum does not match"},
	{zlib.ErrDictionary, "the zlib data needs a dictionary"},
	{context.DeadlineExceeded, "the time for it ran out"},
	{context.Canceled, "it was canceled"},
	{os.ErrDeadlineExceeded, "no answer came in time"},
	{net.ErrClosed, "the connection is closed"},
	{mime.ErrInvalidMediaParameter, "a parameter of the media type is not valid"},
	{fs.ErrNotExist, "no such file or directory"},
	{fs.ErrPermission, "access is denied"},
	{fs.ErrExist, "it exists already"},
}

// words says what an error of a library itself says, not of one that it wraps.
func words(err error) (said string, ok bool) {
	switch e := err.(type) { //nolint:errorlint // each error of a chain is asked in its turn
	case *Error:
		return e.Message, true // the cause is for the log
	case *json.UnmarshalTypeError, *json.SyntaxError:
		return JSONProblem(err), true
	case *strconv.NumError:
		if errors.Is(e.Err, strconv.ErrRange) {
			return fmt.Sprintf("[%s] is out of range", e.Num), true
		}
		if e.Func == "ParseBool" {
			return fmt.Sprintf("[%s] is neither true nor false", e.Num), true
		}
		return fmt.Sprintf("[%s] is not a number", e.Num), true
	case *time.ParseError:
		return fmt.Sprintf("[%s] is not a time of the form [%s]", e.Value, e.Layout), true
	case *url.Error:
		if e.Op == "parse" {
			return fmt.Sprintf("[%s] is not a URL: %s", e.URL, Words(e.Err)), true
		}
		return fmt.Sprintf("[%s] can't be reached: %s", e.URL, Words(e.Err)), true
	case url.EscapeError:
		return fmt.Sprintf("[%s] is not a percent escape", string(e)), true
	case url.InvalidHostError:
		return fmt.Sprintf("character [%s] is not valid in the name of a host", string(e)), true
	case *net.DNSError:
		return dnsWords(e), true
	case *net.OpError:
		return netWords(e), true
	case *net.ParseError:
		return fmt.Sprintf("[%s] is not an address", e.Text), true
	case *net.AddrError:
		return fmt.Sprintf("[%s] is not an address with a port", e.Addr), true
	case *fs.PathError:
		return fmt.Sprintf("file [%s] can't be used: %s", e.Path, Words(e.Err)), true
	case *os.LinkError:
		return fmt.Sprintf("file [%s] can't become [%s]: %s", e.Old, e.New, Words(e.Err)), true
	case *os.SyscallError:
		return Words(e.Err), true
	case syscall.Errno:
		return errnoWords(e), true
	case flate.CorruptInputError:
		return fmt.Sprintf("the packed data is damaged at byte [%d]", int64(e)), true
	case base64.CorruptInputError:
		return fmt.Sprintf("the text is not base64 at byte [%d]", int64(e)), true
	case hex.InvalidByteError:
		return fmt.Sprintf("[%c] is not a hexadecimal digit", rune(e)), true
	case *csv.ParseError:
		return fmt.Sprintf("line [%d], column [%d] is not CSV", e.Line, e.Column), true
	case *syntax.Error:
		return fmt.Sprintf("%s in [%s]", e.Code, e.Expr), true
	}
	return sentinelWords(err)
}

// packages begin the texts of errors of libraries, before a colon.
var packages = []string{
	"asn1", "avro", "bufio", "bytes", "crypto/tls", "csv", "flate", "gzip", "hex",
	"http", "http2", "json", "mime", "multipart", "net", "net/http",
	"ocf", "pem", "proto", "regexp", "s2", "snappy", "strconv", "strings", "tar", "tls", "url", "x509", "xml", "zip", "zlib", "zstd",
}

// withoutPackage returns the text of an error without the name of the package that it is of.
func withoutPackage(text string) string {
	for {
		name, rest, ok := strings.Cut(text, ": ")
		if !ok || !slices.Contains(packages, name) {
			return text
		}
		text = rest
	}
}

// sentinelWords is words of errors that are values.
func sentinelWords(err error) (string, bool) {
	if !reflect.TypeOf(err).Comparable() {
		return "", false
	}
	for _, f := range fixed {
		if err == f.err { //nolint:errorlint // what it wraps is asked in its turn
			return f.said, true
		}
	}
	if errors.Is(err, hex.ErrLength) && err.Error() == hex.ErrLength.Error() {
		return "the text has an odd number of hexadecimal digits", true
	}
	if text := err.Error(); strings.HasPrefix(text, "ParseAddr(") || strings.HasPrefix(text, "netip.ParsePrefix(") {
		_, after, _ := strings.Cut(text, "(")
		quoted, _ := strconv.QuotedPrefix(after)
		if name, err := strconv.Unquote(quoted); err == nil {
			return fmt.Sprintf("[%s] is not an address", name), true
		}
	}
	return "", false
}

func dnsWords(e *net.DNSError) string {
	switch {
	case e.IsNotFound:
		return fmt.Sprintf("there is no host [%s]", e.Name)
	case e.IsTimeout:
		return fmt.Sprintf("no name server says in time where host [%s] is", e.Name)
	}
	return fmt.Sprintf("no name server says where host [%s] is", e.Name)
}

// netWords says what failed between two processes, with the address of the other one.
func netWords(e *net.OpError) string {
	if dns, ok := errors.AsType[*net.DNSError](e.Err); ok {
		return dnsWords(dns)
	}
	why := Words(e.Err)
	if e.Timeout() {
		why = "no answer came in time"
	}
	if e.Addr == nil {
		return why
	}
	return fmt.Sprintf("%s ([%s])", why, e.Addr)
}

func errnoWords(e syscall.Errno) string {
	switch e {
	case syscall.ECONNREFUSED:
		return "the connection is refused"
	case syscall.ECONNRESET, syscall.EPIPE:
		return "the other side broke the connection off"
	case syscall.ENOENT:
		return "no such file or directory"
	case syscall.EACCES, syscall.EPERM:
		return "access is denied"
	case syscall.ENOSPC, syscall.EDQUOT:
		return "the disk is full"
	case syscall.EMFILE, syscall.ENFILE:
		return "too many files are open"
	case syscall.EISDIR:
		return "it is a folder"
	case syscall.ENOTDIR:
		return "a part of the path is not a folder"
	case syscall.EADDRINUSE:
		return "the port is in use by another program"
	case syscall.EADDRNOTAVAIL:
		return "this machine does not have the address"
	case syscall.ENETUNREACH, syscall.EHOSTUNREACH:
		return "there is no way to the host"
	}
	return e.Error()
}

// jsonExpected are what stands behind a character in errors of encoding/json, with what is
// expected in its place.
var jsonExpected = []struct{ words, said string }{
	{"looking for beginning of value", "a value is expected"},
	{"looking for beginning of object key string", "the name of a member is expected, in double quotes"},
	{"after object key:value pair", "a comma or the end of the object is expected"},
	{"after object key", "a colon is expected"},
	{"after array element", "a comma or the end of the array is expected"},
	{"after top-level value", "nothing more is expected"},
	{"in string literal", "a character of a text is expected; control characters are written as escapes, a line end as \\n"},
	{"in string escape code", `one of " \ / b f n r t u is expected behind a backslash`},
	{"in \\u hexadecimal character escape", "a hexadecimal digit is expected"},
	{"in literal true", "true is expected"},
	{"in literal false", "false is expected"},
	{"in literal null", "null is expected"},
	{"after decimal point in numeric literal", "a digit is expected"},
	{"in exponent of numeric literal", "a digit is expected"},
	{"in numeric literal", "a digit is expected"},
}

// brokenJSON says what is wrong with a text that is not JSON, without its position.
func brokenJSON(e *json.SyntaxError) string {
	text := e.Error()
	if rest, ok := strings.CutPrefix(text, "invalid character "); ok {
		for _, x := range jsonExpected {
			char, found := strings.CutSuffix(rest, " "+x.words)
			if !found {
				char, _, found = strings.Cut(rest, " "+x.words+" (expecting")
			}
			if found {
				return x.said + ", not " + shownChar(char)
			}
		}
		return "character " + shownChar(rest) + " does not belong there"
	}
	switch text {
	case "unexpected end of JSON input":
		return "it ends too early"
	case "exceeded max depth":
		return "it nests too deep"
	}
	return text
}

// shownChar shows a character that encoding/json has quoted as Go does.
func shownChar(quoted string) string {
	if char, err := strconv.Unquote(quoted); err == nil && strconv.CanBackquote(char) && char != "\t" {
		return "[" + char + "]"
	}
	return "[" + strings.Trim(quoted, "'") + "]"
}

// JSONPosition returns the line and column, from 1, of a syntax error of encoding/json in a text.
// Columns count characters.
func JSONPosition(text []byte, e *json.SyntaxError) (line, column int) {
	if e.Error() == "unexpected end of JSON input" {
		return Position(text, len(text))
	}
	return Position(text, int(e.Offset)-1)
}

// Position returns the line and column, from 1, of the character that begins at byte at of a text.
func Position(text []byte, at int) (line, column int) {
	before := text[:min(max(at, 0), len(text))]
	line = 1 + strings.Count(string(before), "\n")
	last := string(before[strings.LastIndexByte(string(before), '\n')+1:])
	return line, 1 + len([]rune(last))
}

// BrokenJSON explains why a text is not JSON, with line and column. It formats other errors like
// Words.
func BrokenJSON(text []byte, err error) string {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		line, column := JSONPosition(text, e)
		said := brokenJSON(e)
		if at := int(e.Offset) - 1; at >= 0 && at < len(text) && text[at] >= utf8.RuneSelf { // encoding/json shows one byte of it
			char, _ := utf8.DecodeRune(text[at:])
			said = said[:strings.LastIndexByte(said, '[')] + "[" + string(char) + "]"
		}
		return fmt.Sprintf("%s (line [%d], column [%d])", said, line, column)
	}
	return Words(err)
}
