package dispatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/exec"
)

var someProfile = []*exec.NodeProfile{
	{Rows: 3, Batches: 1, Bytes: 24, Time: 5 * time.Microsecond, Workers: 2, Memory: 100, Spilled: 7, CPU: 3 * time.Microsecond},
	nil,
	{Rows: 20, Workers: 1, Scan: &exec.ScanProfile{Segments: 4, Scanned: 3, Pruned: 1, Rows: 300}},
}

// profiled is the stream of a server that says what its operators did.
func profiled(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewStreamWriter(&out, Version, 0, nil)
	for _, err := range []error{w.Rows(numbers(0, 20)), w.Profile(someProfile), w.End(nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// did reads a stream to its end.
func did(b []byte) ([]*exec.NodeProfile, error) {
	r := NewStreamReader(bytes.NewReader(b), Version)
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return r.Did(), nil
		} else if err != nil {
			return nil, err
		}
	}
}

func TestStreamsSayWhatOperatorsDid(t *testing.T) {
	whole := profiled(t)
	got, err := did(whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(someProfile, got); diff != "" {
		t.Error(diff)
	}
	for n := range whole {
		if _, err := did(whole[:n]); err == nil {
			t.Fatalf("the first [%d] of [%d] bytes are whole", n, len(whole))
		}
	}
	// A server that does not know the wish, and so tells nothing.
	if got, err := did(stream(t, 0, nil)); err != nil || got != nil {
		t.Errorf("%v, %v of a server that does not tell", got, err)
	}
}

// Who comes later may say more; who was there before passes over it.
func TestWhatIsNotKnownIsPassedOver(t *testing.T) {
	got, err := decodeProfile([]byte(`[{"rows": 5, "more": {"a": 1}, "scan": {"segments": 2, "cached": 1}}, null]`))
	if err != nil || len(got) != 2 || got[0].Rows != 5 || got[0].Scan.Segments != 2 || got[1] != nil {
		t.Errorf("%v, %v", got, err)
	}
	b, err := (&Request{QueryID: "q", Profile: true, Segments: []SentSegment{{ID: "s"}}}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	header := b[requestHead : len(b)-4]
	var members map[string]any
	if err := json.Unmarshal(header, &members); err != nil {
		t.Fatal(err)
	}
	if members["profile"] != true {
		t.Errorf("the header is %s", header)
	}
	unknown := bytes.Replace(header, []byte(`"profile"`), []byte(`"unheard"`), 1)
	b = append(b[:requestHead:requestHead], unknown...)
	sum := crc32.Checksum(b, castagnoli)
	b = append(b, byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24))
	if r, err := ReadRequest(bytes.NewReader(b), 0); err != nil || r.QueryID != "q" || r.Profile {
		t.Errorf("%+v, %v of a request with an unknown member", r, err)
	}
}
