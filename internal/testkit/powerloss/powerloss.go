// Package powerloss creates images of a folder in the states that a loss of power can leave.
//
// The central type is Disk, which records what package durable has written to disk. Unsynced bytes
// may be lost, all of them or from any position on. Names in a folder that was not synced may be
// missing, or refer to their earlier files. A seed determines the outcome.
//
// SQLite syncs its own files, so their contents are preserved; the caller syncs the name of the
// database.
package powerloss

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/hengedb/henge/internal/durable"
)

// Disk follows a folder. Its methods are called by any goroutine.
type Disk struct {
	root string
	rand *rand.Rand

	mu      sync.Mutex
	synced  map[uint64][]byte          // bytes by inode, as they were last synced
	folders map[string]map[string]node // names by folder, likewise
}

// node is what a name stands for.
type node struct {
	inode  uint64
	folder bool
	mode   fs.FileMode
}

// Follow returns the Disk of a folder that exists, and calls each after everything that was synced,
// until stop is called.
func Follow(root string, seed uint64, each func(*Disk, durable.Sync)) (d *Disk, stop func()) {
	d = &Disk{root: root, rand: rand.New(rand.NewPCG(seed, 1)), synced: map[uint64][]byte{}, folders: map[string]map[string]node{}}
	stop = durable.Watch(func(s durable.Sync) {
		if !strings.HasPrefix(s.Path, root) {
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if s.Folder {
			d.folders[s.Path] = names(s.Path)
		} else if n, ok := stat(s.Path); ok {
			if content, err := os.ReadFile(s.Path); err == nil {
				d.synced[n.inode] = content
			}
		}
		each(d, s)
	})
	return d, stop
}

func stat(path string) (node, bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return node{}, false
	}
	return node{info.Sys().(*syscall.Stat_t).Ino, info.IsDir(), info.Mode()}, true
}

func names(folder string) map[string]node {
	out := map[string]node{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return out // it is gone
	}
	for _, e := range entries {
		if n, ok := stat(filepath.Join(folder, e.Name())); ok {
			out[e.Name()] = n
		}
	}
	return out
}

// Image writes what a loss of power at this moment may leave into the folder to, which is made. It
// is called from each of Follow.
func (d *Disk) Image(to string) error { return d.image(d.root, to) }

func (d *Disk) image(from, to string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	now, then := names(from), d.folders[from]
	all := map[string]bool{}
	for name := range now {
		all[name] = true
	}
	for name := range then {
		all[name] = true
	}
	sorted := make([]string, 0, len(all))
	for name := range all {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted) // a database before its log
	for _, name := range sorted {
		n, there := then[name]
		current, isNow := now[name]
		own := strings.HasSuffix(name, "-wal") || strings.HasSuffix(name, "-shm") || strings.HasSuffix(name, "-journal")
		if own || d.rand.IntN(4) == 0 { // a name may be on disk without a sync of its folder
			n, there = current, isNow
		}
		if !there {
			continue
		}
		at := filepath.Join(to, name)
		if n.folder {
			if err := d.image(filepath.Join(from, name), at); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(at, d.content(filepath.Join(from, name), n, isNow && current.inode == n.inode, own || strings.HasSuffix(name, ".db")), n.mode.Perm()); err != nil {
			return err
		}
	}
	return nil
}

// content is what a file may hold: what was synced, or what it holds now, or, if it never was, any
// beginning of that.
func (d *Disk) content(path string, n node, present, whole bool) []byte {
	synced, ok := d.synced[n.inode]
	if !present {
		return synced
	}
	now, err := os.ReadFile(path)
	switch {
	case err != nil:
		return synced
	case whole || d.rand.IntN(4) == 0:
		return now
	case ok:
		return synced
	}
	return now[:d.rand.IntN(len(now)+1)/2]
}
