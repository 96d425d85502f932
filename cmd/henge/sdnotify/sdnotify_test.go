package sdnotify

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"
)

func TestServiceManagerIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	if err := manager.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		told := make([]byte, 1024)
		n, err := manager.Read(told)
		if err != nil || string(told[:n]) != want {
			t.Errorf("told %q (%v), want %q", told[:n], err, want)
		}
	}
	t.Setenv(notifySocket, path)
	ctx, cancel := context.WithCancel(t.Context())
	end := States(ctx, "henge ready")
	expect("READY=1\nSTATUS=henge ready")
	cancel()
	end()
	expect("STOPPING=1\nSTATUS=stopping: requests under way are answered")
	ctx, cancel = context.WithCancel(t.Context())
	end = States(ctx, "again")
	end() // nothing stopped it
	cancel()
	expect("READY=1\nSTATUS=again")
	for _, wrong := range []string{"", "/nonexistent/socket", "@nobody-listens"} {
		t.Setenv(notifySocket, wrong)
		Send("READY=1") // which must not fail or wait
	}
}
