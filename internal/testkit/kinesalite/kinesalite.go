// Package kinesalite runs a server with the interface of Amazon Kinesis for the tests of a package,
// if Node and its package manager are installed. It is reachable over loopback only and does not
// outlive the tests.
package kinesalite

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// version is that of the server.
const version = "3.3.3"

// preload is run before the server.
//
//go:embed preload.js
var preload string

// Fetch returns the program of the server. It fetches it if it is not there; processes that want it
// at the same time wait for each other.
func Fetch() (string, error) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", fmt.Errorf("no Node: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "henge", "kinesalite-"+version)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(root, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	folder := filepath.Join(root, "server")
	program := filepath.Join(folder, "node_modules", "kinesalite", "cli.js")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", fmt.Errorf("no npm, which fetches kinesalite: %w", err)
	}
	part := filepath.Join(root, "part")
	if err := errors.Join(os.RemoveAll(part), os.RemoveAll(folder), os.MkdirAll(part, 0o755)); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", part,
		"kinesalite@"+version).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kinesalite could not be fetched: %w: %s", err, bytes.TrimSpace(out))
	}
	return program, os.Rename(part, folder)
}

var (
	mu      sync.Mutex
	running *exec.Cmd
	start   = sync.OnceValues(begin)
)

// Endpoint returns the address of the server that the tests of a package have in common, or skips
// the test.
func Endpoint(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no Kinesis")
	}
	endpoint, err := start()
	if err != nil {
		t.Skip(err.Error())
	}
	return endpoint
}

// Stop ends the server if one was started. TestMain calls it after the tests.
func Stop() {
	mu.Lock()
	defer mu.Unlock()
	if running != nil {
		_ = running.Process.Kill() // it keeps nothing
		_ = running.Wait()
		running = nil
	}
}

func begin() (string, error) {
	program, err := Fetch()
	if err != nil {
		return "", err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		return "", err
	}
	cmd := exec.Command("node", "--import", "data:text/javascript,"+url.PathEscape(preload), program, "--port", strconv.Itoa(port),
		"--createStreamMs", "10", "--deleteStreamMs", "10", "--updateStreamMs", "10", "--shardLimit", "1000")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", err
	}
	mu.Lock()
	running = cmd
	mu.Unlock()
	address := "127.0.0.1:" + strconv.Itoa(port)
	for range 300 {
		if conn, err := net.Dial("tcp", address); err == nil {
			return "http://" + address, conn.Close()
		}
		if err := clock.System().Sleep(context.Background(), 100*time.Millisecond); err != nil {
			return "", err
		}
	}
	return "", errors.New("kinesalite does not answer within 30 seconds")
}
