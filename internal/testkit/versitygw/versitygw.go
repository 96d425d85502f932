// Package versitygw runs an S3 server that stores objects as files (github.com/versity/versitygw)
// for a test, if it is installed. It listens on loopback only and ends with the test.
package versitygw

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// AccessKey and SecretKey are those of the only user.
const (
	AccessKey = "henge"
	SecretKey = "stones-in-a-ring"
)

// patience is how long the server may take to listen.
const patience = 60 * time.Second

// Start runs a server with an empty bucket and returns its URL, or skips the test.
func Start(t testing.TB, bucket string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no S3 server")
	}
	program, err := exec.LookPath("versitygw")
	if err != nil {
		t.Skip("no S3 server: " + err.Error())
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(program, "--port", address, "--quiet", "posix", dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var failed error
	ended := make(chan struct{})
	go func() {
		failed = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone already
		<-ended
	})
	url := "http://" + address
	for deadline := time.Now().Add(patience); ; {
		resp, err := http.Get(url)
		if err == nil {
			_ = resp.Body.Close() // any answer will do
			return url
		}
		select {
		case <-ended:
			t.Fatalf("the S3 server did not start: %v\n%s", failed, out.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the S3 server does not listen: %v", err)
		}
		if err := errors.Join(clock.System().Sleep(t.Context(), 10*time.Millisecond), t.Context().Err()); err != nil {
			t.Fatal(err)
		}
	}
}
