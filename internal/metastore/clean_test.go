package metastore

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestDeleteStaleSettings(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		set := func(names ...string) {
			t.Helper()
			for _, name := range names {
				_, err := f.SetSetting(f.ctx(), Fence{}, name, json.RawMessage(`"`+f.clock.Now().String()+`"`), nil)
				f.ok(err)
				f.clock.Advance(time.Second)
			}
		}
		left := func() string {
			t.Helper()
			all := []string{"s/a", "s/a/", "s/a/1", "s/a/2", "s/a/3", "s/a/é", "s/a0", "s/A/1", "s/b/1"}
			kept, err := f.Settings(f.ctx(), all...)
			f.ok(err)
			var out []string
			for i, text := range kept {
				if text != nil {
					out = append(out, all[i])
				}
			}
			return strings.Join(out, " ")
		}
		set("s/a", "s/a0", "s/A/1", "s/b/1", "s/a/", "s/a/1")
		half := f.clock.Now().UnixMilli()
		set("s/a/2", "s/a/3", "s/a/é", "s/a/2")
		for _, step := range []struct {
			before, deleted int64
			keep            int
			want            string
		}{
			{0, 0, 6, "s/a s/a/ s/a/1 s/a/2 s/a/3 s/a/é s/a0 s/A/1 s/b/1"},
			{half, 2, 6, "s/a s/a/2 s/a/3 s/a/é s/a0 s/A/1 s/b/1"},
			{half, 1, 2, "s/a s/a/2 s/a/é s/a0 s/A/1 s/b/1"}, // the one that was written last stays
			{half, 2, 0, "s/a s/a0 s/A/1 s/b/1"},
			{half, 0, 0, "s/a s/a0 s/A/1 s/b/1"},
		} {
			deleted, err := f.DeleteStaleSettings(f.ctx(), Fence{}, "s/a/", step.before, step.keep)
			f.ok(err)
			if got := left(); got != step.want || deleted != step.deleted {
				t.Errorf("%d of those since %d: %d went, left %s", step.keep, step.before, deleted, got)
			}
		}
	})
}
