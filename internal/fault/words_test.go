package fault

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWordsAreNotThoseOfGo: what libraries say reaches users in the words of the field, whatever is
// wrapped around it.
func TestWordsAreNotThoseOfGo(t *testing.T) {
	of := func(_ any, err error) error { return err }
	var into any
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1},
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		err  error
		want string
	}{
		{json.Unmarshal([]byte(`{type:1}`), &into), "the name of a member is expected, in double quotes, not [t], at byte [2]"},
		{json.Unmarshal([]byte(`{"a":1`), &into), "it ends too early, at byte [6]"},
		{json.Unmarshal([]byte(`{"a":tru}`), &into), "true is expected, not [}], at byte [9]"},
		{json.Unmarshal([]byte("{\"a\":\"\n\"}"), &into),
			`a character of a text is expected; control characters are written as escapes, a line end as \n, not [\n], at byte [7]`},
		{json.Unmarshal([]byte(`[1 2]`), &into), "a comma or the end of the array is expected, not [2], at byte [4]"},
		{json.Unmarshal([]byte(`1 2`), &into), "nothing more is expected, not [2], at byte [3]"},
		{fmt.Errorf("part [3]: %w", of(strconv.ParseInt("abc", 10, 64))), "part [3]: [abc] is not a number"},
		{of(strconv.ParseInt("99999999999999999999", 10, 64)), "[99999999999999999999] is out of range"},
		{of(strconv.ParseBool("maybe")), "[maybe] is neither true nor false"},
		{of(gzip.NewReader(strings.NewReader("no gzip data"))), "the data is not gzip"},
		{of(gzip.NewReader(bytes.NewReader([]byte{0x1f}))), "the data ends too early"},
		{fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), "reading: the data ends too early"},
		{of(time.Parse("2006-01-02", "x")), "[x] is not a time of the form [2006-01-02]"},
		{of(url.QueryUnescape("%zz")), "[%zz] is not a percent escape"},
		{of(url.Parse(strings.Replace("http://a_b/", "_", " ", 1))),
			"[http://a b/] is not a URL: character [ ] is not valid in the name of a host"},
		{&url.Error{Op: "Get", URL: "http://x/", Err: refused}, "[http://x/] can't be reached: the connection is refused ([127.0.0.1:1])"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "nosuch.invalid", IsNotFound: true}}, "there is no host [nosuch.invalid]"},
		{of(netip.ParseAddr("x")), "[x] is not an address"},
		{&os.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, "file [/x] can't be used: access is denied"},
		{of(base64.StdEncoding.DecodeString("!")), "the text is not base64 at byte [0]"},
		{errors.New("http: server closed"), "server closed"},
		{errors.Join(errors.New("json: bad"), io.EOF), "bad\nthe data ends too early"},
		{InvalidInput("It is wrong").WithCause(errors.New("private")), "It is wrong"},
		{errors.New("the sky: it is falling"), "the sky: it is falling"},
	} {
		if got := Words(c.err); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
		if f := InvalidInput("It can't be read: %v", c.err); f.Message != "It can't be read: "+c.want {
			t.Errorf("%v: message is [%s]", c.err, f.Message)
		}
	}
}

// TestBrokenJSONHasItsPlace: lines and columns are those of the character that is wrong.
func TestBrokenJSONHasItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\": x}": "a value is expected, not [x] (line [2], column [8])",
		"{\"größe\": é}": "a value is expected, not [é] (line [1], column [11])",
		"{\"a\":\n[1,\n": "it ends too early (line [3], column [1])",
		"":               "it ends too early (line [1], column [1])",
		`{"a":"\q"}`:     `one of " \ / b f n r t u is expected behind a backslash, not [q] (line [1], column [8])`,
		`{"a":01}`:       "a comma or the end of the object is expected, not [1] (line [1], column [7])",
		`{"a" 1}`:        "a colon is expected, not [1] (line [1], column [6])",
		`{"a":1.}`:       "a digit is expected, not [}] (line [1], column [8])",
		`{'a':1}`:        "the name of a member is expected, in double quotes, not ['] (line [1], column [2])",
		"{\"a\":\"\u0000\"}": `a character of a text is expected; ` +
			`control characters are written as escapes, a line end as \n, not [\x00] (line [1], column [7])`,
	} {
		var into any
		if got := BrokenJSON([]byte(text), json.Unmarshal([]byte(text), &into)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
