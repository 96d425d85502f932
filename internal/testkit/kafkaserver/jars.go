package kafkaserver

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

//go:embed pom.xml
var pom []byte

// jarsFolder is the variable that names the folder of the jars instead of the user's cache.
const jarsFolder = "HENGE_KAFKA_JARS"

var jars = sync.OnceValues(fetch)

// Jars returns the folder with the jars of Kafka. It fetches them if they are not there, by Maven;
// processes that want them at the same time wait for each other.
func Jars() (string, error) { return jars() }

func fetch() (string, error) {
	for _, program := range []string{"java", "keytool"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("no Java: %w", err)
		}
	}
	root := os.Getenv(jarsFolder)
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		root = filepath.Join(cache, "henge", "kafka-3.9.0")
	}
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
	lib := filepath.Join(root, "lib")
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	if _, err := exec.LookPath("mvn"); err != nil {
		return "", fmt.Errorf("no Maven, which fetches Kafka: %w", err)
	}
	wanted, part := filepath.Join(root, "pom.xml"), filepath.Join(root, "part")
	if err := errors.Join(os.RemoveAll(part), os.WriteFile(wanted, pom, 0o644)); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", wanted, "dependency:copy-dependencies",
		"-DoutputDirectory="+part, "-DincludeScope=runtime").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("Kafka could not be fetched: %w: %s", err, bytes.TrimSpace(out))
	}
	return lib, os.Rename(part, lib)
}
