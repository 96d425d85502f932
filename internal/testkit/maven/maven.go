// Package maven downloads the jars that tests run into a permanent folder, if Java and Maven are
// installed.
package maven

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Jars returns the folder with the jars that the dependencies of a pom are. It fetches them if they
// are not there, into a folder called name below root, or below the user's cache where root is
// empty; processes that want them at the same time wait for each other. programs are those that the
// jars need.
func Jars(root, name string, pom []byte, programs ...string) (string, error) {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("no Java: %w", err)
		}
	}
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		root = filepath.Join(cache, "henge", name)
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
		return "", fmt.Errorf("no Maven, which fetches [%s]: %w", name, err)
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
		return "", fmt.Errorf("[%s] could not be fetched: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return lib, os.Rename(part, lib)
}
