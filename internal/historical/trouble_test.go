package historical

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/testkit/faulty"
	"github.com/hengedb/henge/internal/vector"
)

// bench is a Historical whose deep storage is far.
type bench struct {
	*Historical
	t    *testing.T
	deep *deepstore.Local
	dir  string
}

func newBench(t *testing.T, far func(deepstore.Store) deepstore.Store) *bench {
	t.Helper()
	dir := t.TempDir()
	h, deep := opened(t, dir, far)
	b := &bench{h, t, deep, dir}
	run(t, b.Historical)
	return b
}

// notHere is a deep storage whose files are not on this machine.
func notHere(s deepstore.Store) deepstore.Store { return faulty.New(s, 1, faulty.Plan{}) }

// file is a segment of some rows.
func (b *bench) file(rows int) []byte {
	b.t.Helper()
	var out bytes.Buffer
	w, err := segment.NewWriter(&out, segment.Options{Columns: []segment.ColumnSpec{{Name: "x", Type: vector.Long}}})
	if err != nil {
		b.t.Fatal(err)
	}
	values := make([]int64, rows)
	for i := range values {
		values[i] = int64(i) * 1_000_003 % 999_999_937
	}
	if err := w.Append(b.t.Context(), &vector.Batch{N: rows, Cols: []*vector.Vector{vector.FromLongs(values)}}); err != nil {
		b.t.Fatal(err)
	}
	if _, err := w.Finish(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	return out.Bytes()
}

// item puts bytes into deep storage as those of a segment.
func (b *bench) item(id string, content []byte) cluster.LoadItem {
	b.t.Helper()
	if err := b.deep.Put(b.t.Context(), id+"/index", bytes.NewReader(content)); err != nil {
		b.t.Fatal(err)
	}
	return cluster.LoadItem{ID: id, LoadSpec: b.deep.LoadSpec(id + "/index"), Size: int64(len(content))}
}

// load has segments loaded and returns why some were not.
func (b *bench) load(items ...cluster.LoadItem) map[string]string {
	b.t.Helper()
	failed := map[string]string{}
	for c := (cluster.Command{Epoch: 1, Load: items}); ; c.Load = nil {
		state, err := b.Command(b.t.Context(), c)
		if err != nil {
			b.t.Fatal(err)
		}
		maps.Copy(failed, state.Failed)
		if len(state.Pending) == 0 || b.t.Context().Err() != nil {
			return failed
		}
	}
}

// Objects of deep storage that are no segments, or such that this release can't read, are not
// loaded and not announced; it is told why, and the others are.
func TestADeepStorageThatAnswersGarbage(t *testing.T) {
	b := newBench(t, notHere)
	good := b.file(100)
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	newer := bytes.Clone(good) // with a version from the future, and the checksum that belongs to it (docs/format/segment.md)
	tail := newer[len(newer)-32:]
	binary.LittleEndian.PutUint32(newer[8:], segment.Version+1)
	binary.LittleEndian.PutUint32(tail[16:], segment.Version+1)
	binary.LittleEndian.PutUint32(tail[20:], crc32.Checksum(tail[:20], crc32.MakeTable(crc32.Castagnoli)))
	bad := map[string]struct {
		content []byte
		want    string
	}{
		"empty":   {nil, "object [empty/index]"},
		"garbage": {bytes.Repeat([]byte("garbage"), 1000), "object [garbage/index]"},
		"cut":     {good[:len(good)-10], "object [cut/index]"},
		"flipped": {flipped, "object [flipped/index]"},
		"newer":   {newer, "use a newer release"},
		"page":    {[]byte("<html><body>503 Service Unavailable</body></html>"), "object [page/index]"},
	}
	items := []cluster.LoadItem{b.item("first", good)}
	for name, o := range bad {
		items = append(items, b.item(name, o.content))
	}
	items = append(items, b.item("last", good))
	failed := b.load(items...)
	for name, o := range bad {
		if !strings.Contains(failed[name], o.want) {
			t.Errorf("%s: %q does not say %q", name, failed[name], o.want)
		}
	}
	if got := fmt.Sprint(b.Loaded()); got != "[first last]" || len(failed) != len(bad) {
		t.Errorf("loaded are %s, failed %v", got, failed)
	}
	if left, err := os.ReadDir(filepath.Join(b.dir, "arriving")); err != nil || len(left) > 0 {
		t.Errorf("%d files are left behind, %v", len(left), err)
	}
}

// stuck is a deep storage of which one object does not come.
type stuck struct {
	deepstore.Store
	asked chan struct{}
}

func (s *stuck) Open(ctx context.Context, key string) (deepstore.Object, error) {
	if !strings.HasPrefix(key, "slow") {
		return s.Store.Open(ctx, key)
	}
	s.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A segment that does not come does not keep the others from coming, and what waits for it ends
// when it is not wanted any more.
func TestADeepStorageThatIsSlow(t *testing.T) {
	s := &stuck{asked: make(chan struct{})}
	b := newBench(t, func(real deepstore.Store) deepstore.Store {
		s.Store = notHere(real)
		return s
	})
	good := b.file(100)
	slow := []cluster.LoadItem{b.item("slow1", good), b.item("slow2", good), b.item("slow3", good)}
	if _, err := b.Command(t.Context(), cluster.Command{Epoch: 1, Load: slow}); err != nil {
		t.Fatal(err)
	}
	for range slow {
		<-s.asked
	}
	var quick []cluster.LoadItem
	for i := range 20 {
		quick = append(quick, b.item(fmt.Sprint("quick", i), good))
	}
	state, err := b.Command(t.Context(), cluster.Command{Epoch: 1, Load: quick})
	for ; err == nil && len(state.Pending) > len(slow) && t.Context().Err() == nil; state, err = b.Command(t.Context(), cluster.Command{Epoch: 1}) {
	}
	if err != nil || len(b.Loaded()) != len(quick) || len(state.Pending) != len(slow) {
		t.Errorf("[%d] are loaded, pending %v, %v", len(b.Loaded()), state.Pending, err)
	}
	state, err = b.Command(t.Context(), cluster.Command{Epoch: 1, Drop: []string{"slow1", "slow2", "slow3"}})
	for ; err == nil && len(state.Pending) > 0 && t.Context().Err() == nil; state, err = b.Command(t.Context(), cluster.Command{Epoch: 1}) {
	}
	if err != nil || len(state.Failed) > 0 || len(b.Loaded()) != len(quick) {
		t.Errorf("after nobody wants them: %+v, loaded %v, %v", state, b.Loaded(), err)
	}
}

// How many segments come at once is what the settings say, and while the Coordinator says so what
// they say of a start.
func TestThreadsThatLoad(t *testing.T) {
	s := &stuck{asked: make(chan struct{})}
	dir := t.TempDir()
	h, deep := opened(t, dir, func(real deepstore.Store) deepstore.Store {
		s.Store = notHere(real)
		return s
	})
	h.threads = Threads{Loading: 1, Turbo: 3}
	b := &bench{h, t, deep, dir}
	run(t, h)
	good := b.file(100)
	loading := func(c cluster.Command) int {
		t.Helper()
		c.Epoch = 1
		state, err := b.Command(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return len(state.Loading)
	}
	loading(cluster.Command{Load: []cluster.LoadItem{b.item("slow1", good), b.item("slow2", good), b.item("slow3", good), b.item("slow4", good)}})
	<-s.asked
	for range 100 {
		if n := loading(cluster.Command{}); n != 1 {
			t.Fatalf("[%d] are loaded at once", n)
		}
	}
	loading(cluster.Command{Turbo: true})
	<-s.asked
	<-s.asked
	for range 100 {
		if n := loading(cluster.Command{Turbo: true}); n != 3 {
			t.Fatalf("[%d] are loaded at once in a hurry", n)
		}
	}
	loading(cluster.Command{Drop: []string{"slow1", "slow2", "slow3"}})
	<-s.asked // the one that waited
	for loading(cluster.Command{}) != 1 {
		runtime.Gosched()
	}
}

// alone reports whether this process runs no test but t; otherwise it has run t in such a process,
// whose failure is that of t. A limit of a process is for all its files, those too that the go
// command has it write beside the tests.
func alone(t *testing.T) bool {
	t.Helper()
	const mark = "HENGE_TEST_ALONE"
	if os.Getenv(mark) == t.Name() {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), mark+"="+t.Name())
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("in a process of its own: %v\n%s", err, out)
	}
	return false
}

// A Historical whose disk takes no more, or nothing at all, says so of each segment and announces
// none of them; when it takes them again they are loaded.
func TestADiskThatTakesNothing(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, b *bench) (mend func()){
		"full": func(t *testing.T, _ *bench) func() {
			// A limit on the size of files makes writes fail in the middle, as a full disk does.
			var before syscall.Rlimit
			if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: before.Max}); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
					t.Fatal(err)
				}
			}
		},
		"read-only": func(t *testing.T, b *bench) func() {
			// No file can be made below what is no directory, whoever asks.
			arriving := filepath.Join(b.dir, "arriving")
			if err := os.Remove(arriving); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(arriving, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := os.Remove(arriving); err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir(arriving, 0o700); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "full" && !alone(t) {
				return
			}
			b := newBench(t, notHere)
			first := b.item("first", b.file(100))
			if failed := b.load(first); len(failed) > 0 {
				t.Fatal(failed)
			}
			large := []cluster.LoadItem{b.item("one", b.file(20_000)), b.item("two", b.file(20_000))}
			used := b.Used()
			mend := spoil(t, b)
			failed := b.load(large...)
			mend()
			for _, item := range large {
				if !strings.Contains(failed[item.ID], "segment cache file ["+b.dir) {
					t.Errorf("%s: %q", item.ID, failed[item.ID])
				}
			}
			if got := fmt.Sprint(b.Loaded()); got != "[first]" || b.Used() != used {
				t.Errorf("loaded are %s in [%d] bytes instead of [%d]", got, b.Used(), used)
			}
			r, err := (Named{b.Historical}).Acquire(t.Context(), "first", nil)
			if err != nil {
				t.Fatalf("what is there can't be read: %v", err)
			}
			r.Release()
			if failed := b.load(large...); len(failed) > 0 || len(b.Loaded()) != 3 {
				t.Errorf("when there is room again: %v, loaded %v", failed, b.Loaded())
			}
		})
	}
}
