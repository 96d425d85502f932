package metastore

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestSwapSettings(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		read := func() string {
			t.Helper()
			got, err := f.Settings(f.ctx(), "b", "gone", "a")
			f.ok(err)
			return fmt.Sprintf("%s", got)
		}
		swap := func(entry *AuditEntry, swaps ...SettingSwap) bool {
			t.Helper()
			swapped, err := f.SwapSettings(f.ctx(), Fence{}, swaps, entry)
			f.ok(err)
			return swapped
		}
		raw := func(text string) json.RawMessage { return json.RawMessage(text) }
		if got := read(); got != "[  ]" {
			t.Errorf("before anything: %s", got)
		}
		changed := f.SettingsChanged()
		entry := &AuditEntry{Type: "basic.authorizer", Key: "az", Payload: "Create role[r]"}
		if !swap(entry, SettingSwap{"a", nil, raw(`{"x":1}`)}, SettingSwap{"b", nil, raw(`{}`)}) || read() != `[{}  {"x":1}]` {
			t.Errorf("two new ones: %s", read())
		}
		select {
		case <-changed:
		default:
			t.Error("nobody was told")
		}
		for name, swaps := range map[string][]SettingSwap{
			"old": {{"b", raw(`{}`), raw(`{"y":1}`)}, {"a", raw(`{"x":0}`), raw(`{"x":2}`)}}, "new": {{"b", nil, raw(`{"y":1}`)}},
		} {
			if swap(entry, swaps...) || read() != `[{}  {"x":1}]` {
				t.Errorf("%s: swapped against what is stored: %s", name, read())
			}
		}
		stays := SettingSwap{"a", raw(`{"x":1}`), raw(`{"x":1}`)}
		if !swap(entry, stays, SettingSwap{"b", raw(`{}`), raw(`{"y":2}`)}) || read() != `[{"y":2}  {"x":1}]` {
			t.Errorf("one that stays: %s", read())
		}
		entries, err := f.AuditHistory(f.ctx(), AuditFilter{Type: "basic.authorizer"})
		if f.ok(err); len(entries) != 2 || entries[0].Payload != "Create role[r]" {
			t.Errorf("%+v", entries)
		}
		_, err = f.SwapSettings(f.ctx(), Fence{}, []SettingSwap{{"a", raw(`{"x":1}`), raw(`{`)}}, nil)
		f.refused(err, "is not JSON")
		_, err = f.SwapSettings(f.ctx(), Fence{}, nil, &AuditEntry{Type: "x"})
		f.refused(err, "has no payload")
		f.reopen()
		if got := read(); got != `[{"y":2}  {"x":1}]` {
			t.Errorf("after a restart: %s", got)
		}
	})
}
