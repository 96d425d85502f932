package role_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/role"
	"github.com/hengedb/henge/internal/testkit/powerloss"
)

// lossPoints is how many of the points at which power may be lost a usual run tries; with
// HENGE_POWERLOSS=all it tries every one.
const lossPoints = 6

// TestPowerIsLostAtAnyMoment starts a server in a new folder, loads twice, and loses power after
// each fsync: what is on disk then starts again and has everything that was acknowledged.
func TestPowerIsLostAtAnyMoment(t *testing.T) {
	for _, seed := range []uint64{1, 2} {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) { lostPower(t, seed) })
		if os.Getenv("HENGE_POWERLOSS") == "" {
			break
		}
	}
}

// loss is an image of the disk, and how many loads were acknowledged before it.
type loss struct {
	image, after string
	loads        int64
}

func lostPower(t *testing.T, seed uint64) {
	base := t.TempDir()
	root, images := filepath.Join(base, "disk"), filepath.Join(base, "images")
	for _, dir := range []string{root, images} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var (
		acknowledged atomic.Int64
		losses       []loss // under the Disk's lock
	)
	_, unwatch := powerloss.Follow(root, seed, func(d *powerloss.Disk, s durable.Sync) {
		l := loss{filepath.Join(images, fmt.Sprint(len(losses))), s.Path, acknowledged.Load()}
		if err := d.Image(l.image); err != nil {
			t.Error(err)
		}
		losses = append(losses, l)
	})
	data := filepath.Join(root, "data")
	n, c := started(t, role.Options{}, "service.data.dir="+data)
	for i := range 2 {
		if err := c.Ingest(t.Context(), replaceAll(fmt.Sprint("t", i), inline), nil); err != nil {
			t.Error(err)
		}
		acknowledged.Add(1)
	}
	stop(t, n, c)
	unwatch()
	if len(losses) < 20 || losses[len(losses)-1].loads == 0 {
		t.Fatalf("only [%d] syncs were seen", len(losses))
	}
	chosen := losses
	if os.Getenv("HENGE_POWERLOSS") != "all" {
		chosen = nil
		for i, at := range rand.New(rand.NewPCG(seed, 2)).Perm(len(losses))[:lossPoints] {
			if i == 0 {
				at = len(losses) - 1
			}
			chosen = append(chosen, losses[at])
		}
		slices.SortFunc(chosen, func(a, b loss) int { return int(a.loads - b.loads) })
	}
	for _, l := range chosen {
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(l.image, root); err != nil { // under the path that the metastore knows
			t.Fatal(err)
		}
		n, c := started(t, role.Options{}, "service.data.dir="+data)
		for i := range l.loads {
			rows, err := c.Query(t.Context(), fmt.Sprintf(`SELECT SUM(n) FROM t%d`, i))
			if err != nil || fmt.Sprint(rows) != "[[3]]" {
				t.Errorf("power was lost after [%s], with [%d] loads acknowledged: t%d has %v, %v", l.after, l.loads, i, rows, err)
			}
		}
		stop(t, n, c)
	}
}
