package metastore

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/secret"
)

// What may hold secrets is sealed, also what was there before there was a key; keys are replaced,
// and given up; a store whose key is missing or wrong is not opened.
func TestPayloadsAreSealed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.db")
	key := func(seed byte) string {
		file := filepath.Join(dir, string('a'+rune(seed)))
		text := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{seed}, 32))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	one, two := key(1), key(2)
	const marker = "pl4nted-secret"
	payload := json.RawMessage(`{"password":"` + marker + `"}`)
	with := func(file, previous string, do func(*Store)) error {
		t.Helper()
		sealer, err := secret.OpenSealer(file, previous)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Options{Path: path, Sealer: sealer})
		if err != nil {
			return err
		}
		do(s)
		return s.Close()
	}
	write := func(name string) func(*Store) {
		return func(s *Store) {
			t.Helper()
			if err := s.InsertTask(t.Context(), Fence{}, Task{ID: name, GroupID: name, Active: true, Payload: payload}, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := s.SetSetting(t.Context(), Fence{}, name, payload, nil); err != nil {
				t.Fatal(err)
			}
			if err := s.PutSupervisor(t.Context(), Fence{}, SupervisorVersion{ID: name, Payload: payload}, nil); err != nil {
				t.Fatal(err)
			}
			if err := s.PutStatement(t.Context(), Statement{ID: name, Payload: payload}); err != nil {
				t.Fatal(err)
			}
			if err := s.PutTaskStage(t.Context(), Fence{}, name, "s", payload); err != nil {
				t.Fatal(err)
			}
			if err := s.Audit(t.Context(), AuditEntry{Type: "x", Key: name, Payload: string(payload)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func(names ...string) func(*Store) {
		return func(s *Store) {
			t.Helper()
			for _, name := range names {
				task, err := s.Task(t.Context(), name)
				if err != nil || string(task.Payload) != string(payload) {
					t.Errorf("task [%s]: %s, %v", name, task.Payload, err)
				}
				setting, _, err := s.Setting(t.Context(), name)
				if err != nil || string(setting) != string(payload) {
					t.Errorf("setting [%s]: %s, %v", name, setting, err)
				}
				settings, err := s.Settings(t.Context(), name)
				if err != nil || string(settings[0]) != string(payload) {
					t.Errorf("settings [%s]: %s, %v", name, settings, err)
				}
				history, err := s.SupervisorHistory(t.Context(), name)
				if err != nil || len(history) != 1 || string(history[0].Payload) != string(payload) {
					t.Errorf("supervisor [%s]: %v, %v", name, history, err)
				}
				statement, _, err := s.Statement(t.Context(), name)
				if err != nil || string(statement.Payload) != string(payload) {
					t.Errorf("statement [%s]: %s, %v", name, statement.Payload, err)
				}
				stages, err := s.TaskStages(t.Context(), name)
				if err != nil || string(stages["s"]) != string(payload) {
					t.Errorf("records of task [%s]: %s, %v", name, stages, err)
				}
			}
			if changed, err := s.SetSetting(t.Context(), Fence{}, names[0], payload, nil); err != nil || changed {
				t.Errorf("an equal setting is a change: %v, %v", changed, err)
			}
			swapped, err := s.SwapSettings(t.Context(), Fence{}, []SettingSwap{{Name: names[0], Old: payload, New: payload}}, nil)
			if err != nil || !swapped {
				t.Errorf("a setting that is as it was read is not replaced: %v, %v", swapped, err)
			}
		}
	}
	shows := func() bool {
		t.Helper()
		files, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte(marker)) {
				return true
			}
		}
		return false
	}
	step := func(what string, err error, shown bool) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if shows() != shown {
			t.Errorf("%s: the secret is in the files: %v", what, !shown)
		}
	}
	refused := func(what, file, previous, want string) {
		t.Helper()
		if err := with(file, previous, func(*Store) {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	step("without a key", with("", "", write("plain")), true)
	step("with one", with(one, "", func(s *Store) { read("plain")(s); write("sealed")(s) }), false)
	step("again", with(one, "", read("plain", "sealed")), false)
	refused("without it", "", "", "service.metadata.secrets.keyFile")
	refused("with another", two, "", "service.metadata.secrets.previousKeyFile")
	step("with a new one", with(two, one, read("plain", "sealed")), false)
	step("without the old one", with(two, "", read("plain", "sealed")), false)
	refused("with the old one", one, "", "sealed with key")
	step("given up", with("", two, read("plain", "sealed")), true)
	step("without any", with("", "", read("plain", "sealed")), true)
}
