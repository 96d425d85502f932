package budget

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

func TestReserveCountsAtEveryLevelOrNone(t *testing.T) {
	root := Root(100)
	q := root.Child("query q1", 60)
	sort := q.Child("sort", Unlimited)
	if err := sort.Reserve(50); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*Budget{root, q, sort} {
		if b.Used() != 50 {
			t.Errorf("[%s] holds [%d], want 50", b.name, b.Used())
		}
	}
	err := sort.Reserve(11)
	f := fault.Find(err)
	if f == nil || f.Legacy != fault.LegacyResourceLimit {
		t.Fatalf("Reserve over the limit = %v", err)
	}
	for _, want := range []string{
		"[sort] needs [11] more bytes (11 B)", "[query q1] already holds [50] of its limit of [60] bytes (60 B)", "memory",
	} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("message %q lacks %q", f.Message, want)
		}
	}
	if root.Used() != 50 || q.Used() != 50 || sort.Used() != 50 {
		t.Error("a refused reservation was counted somewhere")
	}
	other := root.Child("query q2", Unlimited)
	if other.Reserve(51) == nil || other.Reserve(50) != nil {
		t.Error("the root's limit does not bind its children together")
	}
	if got := sort.Free(); got != 0 {
		t.Errorf("Free = [%d], want 0", got)
	}
	sort.Release(20)
	q.Close()
	if root.Used() != 50 || root.Peak() != 100 {
		t.Errorf("after closing: used [%d] peak [%d], want 50 and 100", root.Used(), root.Peak())
	}
}

// An eighth of the root's limit is for those who can't do without.
func TestTryReserveLeavesASpare(t *testing.T) {
	root := Root(160)
	sort, table := root.Child("sort", 150), root.Child("table", Unlimited)
	if sort.Free() != 140 || sort.TryReserve(141) || !sort.TryReserve(140) || sort.Free() != 0 {
		t.Errorf("[%d] bytes were taken, [%d] are free", root.Used(), sort.Free())
	}
	if table.TryReserve(1) || table.Reserve(21) == nil || table.Reserve(20) != nil {
		t.Error("the spare is not what Reserve can take")
	}
	sort.Release(140)
	if got := sort.Free(); got != 120 {
		t.Errorf("Free = [%d], want 120", got)
	}
}

// So is an eighth of a query's, whatever its parts hold.
func TestQueriesLeaveASpare(t *testing.T) {
	root := Root(1600)
	query := root.Query("query q1", 160)
	sort, table := query.Child("sort", Unlimited), query.Child("table", Unlimited)
	if sort.Free() != 140 || sort.TryReserve(141) || !sort.TryReserve(140) {
		t.Errorf("[%d] bytes were taken, [%d] are free", query.Used(), sort.Free())
	}
	if table.TryReserve(1) || table.Reserve(21) == nil || table.Reserve(20) != nil {
		t.Error("the spare is not what Reserve can take")
	}
}

func TestNilBudgetIsUnlimited(t *testing.T) {
	var b *Budget
	if err := b.Reserve(1 << 50); err != nil {
		t.Fatal(err)
	}
	b.Release(1)
	b.Close()
	if c := b.Child("x", 10); c.TryReserve(11) || !c.TryReserve(10) {
		t.Error("child of nil does not keep its own limit")
	}
}

func TestReserveFromManyGoroutinesNeverGoesOver(t *testing.T) {
	root := Root(1000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c := root.Child("worker", Unlimited)
			for range 2000 {
				if c.TryReserve(300) {
					c.Release(300)
				}
			}
		})
	}
	wg.Wait()
	if root.Used() != 0 || root.Peak() > 1000 {
		t.Errorf("used [%d] peak [%d]", root.Used(), root.Peak())
	}
}

func TestAccountFollowsASize(t *testing.T) {
	root := Root(100)
	a := NewAccount(root)
	if err := a.Set(80); err != nil {
		t.Fatal(err)
	}
	if a.Set(101) == nil || a.TrySet(101) || a.Held() != 80 {
		t.Error("an account went over the limit")
	}
	if err := a.Set(10); err != nil || root.Used() != 10 {
		t.Errorf("shrinking: %v, used [%d]", err, root.Used())
	}
	a.Close()
	if root.Used() != 0 {
		t.Error("Close left bytes")
	}
}

func TestSpillFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spill")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(dir, spillPrefix+"old")
	keep := filepath.Join(dir, "notes")
	for _, f := range []string{stale, keep} {
		if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	disk := DiskRoot(200 << 10)
	d, err := OpenSpillDir(dir, disk)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Error("a stale spill file survived")
	}
	if _, err := os.Stat(keep); err != nil {
		t.Error("a file that is not ours was removed")
	}
	f, err := d.Create()
	if err != nil {
		t.Fatal(err)
	}
	part := strings.Repeat("0123456789abcdef", 8<<10) // 128 KiB
	if _, err := io.WriteString(f, part); err != nil {
		t.Fatal(err)
	}
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := io.ReadAll(f.Reader())
		if err != nil || string(got) != part {
			t.Fatalf("read back [%d] bytes, %v", len(got), err)
		}
	}
	if disk.Used() != int64(len(part)) {
		t.Errorf("disk budget holds [%d], want [%d]", disk.Used(), len(part))
	}
	_, err = io.WriteString(f, part)
	if err == nil {
		err = f.Flush()
	}
	if e := fault.Find(err); e == nil || e.Legacy != fault.LegacyResourceLimit || !strings.Contains(e.Message, "disk space") {
		t.Errorf("writing over the disk limit = %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, spillPrefix+"*"))
	if len(left) != 0 || disk.Used() != 0 {
		t.Errorf("after Close: files %v, disk used [%d]", left, disk.Used())
	}
	var off *SpillDir
	if _, err := off.Create(); fault.Find(err) == nil {
		t.Errorf("Create without a folder = %v", err)
	}
}

func TestInUnits(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 5 << 20: "5.0 MiB", 3 << 40: "3.0 TiB", 5 << 50: "5120.0 TiB",
	} {
		if got := inUnits(n); got != want {
			t.Errorf("inUnits(%d) = %q, want %q", n, got, want)
		}
	}
}
