package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
)

// heard is a writer that tells when a text arrives.
type heard struct {
	sync.Mutex
	text  bytes.Buffer
	wants string
	there chan struct{}
}

func (h *heard) Write(p []byte) (int, error) {
	h.Lock()
	defer h.Unlock()
	before := strings.Contains(h.text.String(), h.wants)
	h.text.Write(p)
	if !before && strings.Contains(h.text.String(), h.wants) {
		close(h.there)
	}
	return len(p), nil
}

// lines returns the records of JSON that were written.
func (h *heard) lines(t *testing.T) (list []map[string]any) {
	t.Helper()
	h.Lock()
	defer h.Unlock()
	for line := range strings.Lines(h.text.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Errorf("%v: %q", err, line)
		}
		list = append(list, record)
	}
	return list
}

// onFreePorts are the flags of a server beside others.
func onFreePorts(dir string, more ...string) []string {
	args := []string{"server", "--data", dir}
	for _, role := range []string{"router", "coordinator", "broker", "historical", "overlord", "indexer"} {
		args = append(args, "--set", "service."+role+".plaintextPort=0")
	}
	return append(args, more...)
}

// With a log in JSON everything that a server prints is JSON: the line that it is ready, what it
// logs from its start to its end, and why it does not start.
func TestAllThatAServerPrintsIsJSON(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	dir := t.TempDir()
	out := &heard{wants: "ready in", there: make(chan struct{})}
	errs := &heard{wants: "never", there: make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cmd := command()
	cmd.SetOut(out)
	cmd.SetErr(errs)
	cmd.SetArgs(onFreePorts(dir, "--set", "service.log.format=json"))
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	select {
	case <-out.there:
	case err := <-ended:
		t.Fatal(err)
	}
	again := &heard{wants: "never", there: make(chan struct{})}
	second := command()
	second.SetErr(again)
	second.SetOut(again)
	second.SetArgs(onFreePorts(dir, "--set", "service.log.format=json"))
	if err := second.ExecuteContext(t.Context()); !errors.Is(err, errReported) {
		t.Errorf("a second server: %v", err)
	}
	if list := again.lines(t); len(list) == 0 || !strings.Contains(list[len(list)-1]["error"].(string), "is in use by process") {
		t.Errorf("a second server: %v", list)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if list := out.lines(t); len(list) != 1 || !strings.HasPrefix(list[0]["msg"].(string), "henge "+version+" ready in ") {
		t.Errorf("what is printed: %v", list)
	}
	var messages []string
	for _, record := range errs.lines(t) {
		messages = append(messages, record["msg"].(string))
		switch record["msg"] {
		case "starting":
			if record["dataDirectory"] != dir || record["memoryLimit"] == nil || record["threads"] == nil || record["settingsFiles"] == nil {
				t.Errorf("%v", record)
			}
		case "stopping":
			if record["queries"] != 0.0 || record["waitsAtMost"] != "30s" {
				t.Errorf("%v", record)
			}
		}
	}
	// Between these two, what runs in the background may report that it was interrupted.
	if len(messages) < 3 || messages[0] != "starting" || !slices.Contains(messages, "stopping") || messages[len(messages)-1] != "stopped" {
		t.Errorf("messages are %q", messages)
	}
}
