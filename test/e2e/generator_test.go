package e2e

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestInputLargerThanMemory loads what an http server makes up while it is read, several times the
// memory that the process may use: it must sort on disk, keep every row, and not grow with the
// input. HENGE_GENERATED_MIB asks for more than the share of CI, such as 51200.
func TestInputLargerThanMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: hundreds of MB")
	}
	const memory = 160 // MiB
	size := int64(448)
	if text := os.Getenv("HENGE_GENERATED_MIB"); text != "" {
		var err error
		if size, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	const files = 4
	line := func(dst []byte, r *rand.Rand, i int64) []byte {
		var noise [16]byte
		binary.LittleEndian.PutUint64(noise[:], r.Uint64())
		binary.LittleEndian.PutUint64(noise[8:], r.Uint64())
		dst = fmt.Appendf(dst, `{"t":%d,"country":"C%d","page":"/shop/item-%d","session":"`, 1_700_000_000_000+i*37%86_400_000, r.IntN(200), r.IntN(5000))
		dst = hex.AppendEncode(dst, noise[:])
		return append(dst, "\",\"n\":1}\n"...)
	}
	rows := size << 20 / files / int64(len(line(nil, rand.New(rand.NewPCG(1, 1)), 0)))
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n, err := strconv.ParseUint(req.URL.Path[1:], 10, 64)
		if err != nil {
			http.NotFound(w, req)
			return
		}
		out, r := bufio.NewWriterSize(w, 1<<16), rand.New(rand.NewPCG(n, 2))
		var text []byte
		for i := range rows {
			text = line(text[:0], r, i)
			if _, err := out.Write(text); err != nil {
				return // nobody reads on
			}
		}
		_ = out.Flush() // the reader sees what is missing
	}))
	defer source.Close()
	p := serve(t, t.TempDir(), "--set", fmt.Sprintf("service.memory.limit=%dMiB", memory))
	var uris string
	for n := range files {
		uris += fmt.Sprintf(`,"%s/%d"`, source.URL, n)
	}
	sql := `REPLACE INTO g OVERWRITE ALL SELECT MILLIS_TO_TIMESTAMP(t) AS __time, country, page, session, n
FROM TABLE(EXTERN('{"type":"http","uris":[` + uris[1:] + `]}', '{"type":"json"}')) EXTEND (t BIGINT, country VARCHAR, page VARCHAR, session VARCHAR, n BIGINT)
PARTITIONED BY DAY CLUSTERED BY country, page`
	// A segment is built in memory, so its size is what the least memory depends on.
	if err := p.Ingest(t.Context(), sql, map[string]any{"maxNumTasks": 3, "rowsPerSegment": 500_000}); err != nil {
		t.Fatal(err)
	}
	peak := peakMiB(t, p.cmd.Process.Pid)
	t.Logf("%d MiB in %d rows were loaded with a peak of %d MiB", size, files*rows, peak)
	// Beside what is counted there are the program, its stacks and garbage that is not collected yet.
	if limit := int64(2 * memory); peak > limit {
		t.Errorf("the process took %d MiB, more than %d MiB", peak, limit)
	}
	got, err := p.Query(t.Context(), "SELECT SUM(n), COUNT(*) FROM g")
	if want := fmt.Sprintf("[[%d %d]]", files*rows, files*rows); err != nil || fmt.Sprint(got) != want {
		t.Errorf("the table has %v rows, want %s: %v", got, want, err)
	}
	p.stop(t)
}

var peakLine = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// peakMiB is the most memory that a process had.
func peakMiB(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := peakLine.FindSubmatch(text)
	if m == nil {
		t.Fatal("the system does not tell the peak of a process")
	}
	kib, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}
