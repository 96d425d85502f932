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

var someProfile = exec.PartProfile{
	Did: []*exec.NodeProfile{
		{Rows: 3, Batches: 1, Bytes: 24, Time: 5 * time.Microsecond, Workers: 2, Memory: 100, Spilled: 7, CPU: 3 * time.Microsecond},
		nil,
		{Rows: 20, Workers: 1, Scan: &exec.ScanProfile{Segments: 4, Scanned: 3, Pruned: 1, Rows: 300}},
	},
	Others: []exec.PartProfile{
		{Server: "a", Did: []*exec.NodeProfile{{Rows: 1}, nil, {Rows: 2}}},
		{Server: "b", Did: []*exec.NodeProfile{{Rows: 4}, nil, nil}, Silent: 2, Others: []exec.PartProfile{{Server: "c", Did: []*exec.NodeProfile{nil, nil, nil}}}},
	},
	Silent: 1,
}

// profiled is the stream of a server that says what its operators did.
func profiled(t testing.TB, version byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewStreamWriter(&out, version, 0, nil)
	for _, err := range []error{w.Rows(numbers(0, 20)), w.Profile(&someProfile), w.End(nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// did reads a stream to its end.
func did(b []byte, version byte) (*StreamReader, error) {
	r := NewStreamReader(bytes.NewReader(b), version)
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return r, nil
		} else if err != nil {
			return nil, err
		}
	}
}

func TestStreamsSayWhatOperatorsDid(t *testing.T) {
	for version, want := range map[byte]exec.PartProfile{Version: someProfile, versionReport - 1: {Did: someProfile.Did}} {
		whole := profiled(t, version)
		r, err := did(whole, version)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, r.Did()); diff != "" {
			t.Errorf("version %d: %s", version, diff)
		}
		for n := range whole {
			if _, err := did(whole[:n], version); err == nil {
				t.Fatalf("the first [%d] of [%d] bytes are whole", n, len(whole))
			}
		}
	}
	// A server that does not know the wish, and so tells nothing.
	if r, err := did(stream(t, 0, nil), Version); err != nil || r.Did() != nil {
		t.Errorf("%v, %v of a server that does not tell", r.Did(), err)
	}
}

// Of those whose shares a server merges it is silent where its version does not tell of them.
func TestServersOfTheVersionBeforeAreSilentOfOthers(t *testing.T) {
	top := tree(sharesOf(5, false), 1, New(Options{}).merges)
	for version, silent := range map[byte]int{Version: someProfile.Silent, versionReport - 1: 4} {
		r, err := did(profiled(t, version), version)
		if err != nil {
			t.Fatal(err)
		}
		if part := r.part(&top[0]); part.Server != top[0].server.Name || part.Silent != silent || len(part.Did) != 3 {
			t.Errorf("version %d: %+v", version, part)
		}
	}
}

func TestProfilesThatCanNotBeMeantAreRefused(t *testing.T) {
	deep := `{"operators": [], "server": "a"}`
	for range maxDepth {
		deep = `{"operators": [], "server": "a", "others": [` + deep + `]}`
	}
	for name, text := range map[string]string{
		"no JSON":                   `{"operators": [`,
		"a list of the one before":  `[]`,
		"another without a name":    `{"operators": [], "others": [{"operators": []}]}`,
		"the sender has a name":     `{"operators": [], "server": "a"}`,
		"less than none are silent": `{"operators": [], "silent": -1}`,
		"deeper than requests are":  `{"operators": [], "others": [` + deep + `]}`,
	} {
		if part, err := decodeProfile([]byte(text), Version); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %+v, %v", name, part, err)
		}
	}
}

// Who comes later may say more; who was there before passes over it.
func TestWhatIsNotKnownIsPassedOver(t *testing.T) {
	list := `[{"rows": 5, "more": {"a": 1}, "scan": {"segments": 2, "cached": 1}}, null]`
	for version, text := range map[byte]string{Version: `{"operators": ` + list + `, "more": 1}`, versionReport - 1: list} {
		got, err := decodeProfile([]byte(text), version)
		if err != nil || len(got.Did) != 2 || got.Did[0].Rows != 5 || got.Did[0].Scan.Segments != 2 || got.Did[1] != nil {
			t.Errorf("version %d: %v, %v", version, got, err)
		}
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
