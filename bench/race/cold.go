package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// coldRounds are few: every query starts every engine anew.
const coldRounds = 3

// cold asks each query as the first one of a process whose files the system has not cached.
func (r *race) cold(ctx context.Context, set string, list []query) error {
	group := &querySet{Name: set}
	r.report.Sets = append(r.report.Sets, group)
	for _, q := range list {
		if !r.filter.MatchString(q.name) {
			continue
		}
		entry := newEntry(q.name, r.engines)
		for round := range coldRounds {
			for _, e := range r.turns(round) {
				if entry.failed(e) {
					continue
				}
				if err := e.cool(); err != nil {
					return fmt.Errorf("starting %s with cold caches: %w", e.name(), err)
				}
				a, err := e.ask(ctx, q.sql[e.dialect()])
				if err != nil {
					entry.fail(e, err)
					continue
				}
				entry.add(e, a.took)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		entry.finish()
		group.Queries = append(group.Queries, entry)
	}
	return nil
}

// evict writes the files below a folder to disk and drops them from the system's cache.
func evict(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("evicting from the cache: %w", err)
		}
		defer f.Close()
		if err := f.Sync(); err != nil {
			return fmt.Errorf("evicting [%s] from the cache: %w", path, err)
		}
		// Only pages that are written and not mapped are dropped: the engine must have ended.
		if _, _, code := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, adviseDontNeed, 0, 0); code != 0 {
			return fmt.Errorf("evicting [%s] from the cache: %w", path, code)
		}
		return nil
	})
}

// adviseDontNeed is POSIX_FADV_DONTNEED.
const adviseDontNeed = 4
