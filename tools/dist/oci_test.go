package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func decoded[T any](t *testing.T, data []byte) (out T) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// unpacked returns the files of a tar; folders have no data.
func unpacked(t *testing.T, data []byte) (files map[string][]byte, heads map[string]*tar.Header) {
	t.Helper()
	files, heads = map[string][]byte{}, map[string]*tar.Header{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, heads
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		heads[h.Name] = h
	}
}

// Every blob of the image is what its name says, and the image runs as nobody, on nothing else.
func TestImageIsWhole(t *testing.T) {
	r := theRelease(t)
	if err := r.image([]string{runtime.GOARCH}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.out, "henge_0.2.0_oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := unpacked(t, text)
	if got := string(files["oci-layout"]); got != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout: %s", got)
	}
	for name, data := range files {
		if sum, ok := strings.CutPrefix(name, "blobs/sha256/"); ok && sum != "" && fmt.Sprintf("%x", sha256.Sum256(data)) != sum {
			t.Errorf("blob [%s] has other bytes", name)
		}
	}
	blob := func(d descriptor, mediaType string) []byte {
		t.Helper()
		data := files["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
		if d.MediaType != mediaType || len(data) != d.Size || d.Size == 0 {
			t.Fatalf("blob %+v has [%d] bytes", d, len(data))
		}
		return data
	}
	outer := decoded[index](t, files["index.json"])
	inner := decoded[index](t, blob(outer.Manifests[0], typeIndex))
	if len(inner.Manifests) != 1 || *inner.Manifests[0].Platform != (platform{runtime.GOARCH, "linux"}) {
		t.Fatalf("images: %+v", inner)
	}
	m := decoded[manifest](t, blob(inner.Manifests[0], typeManifest))
	c := decoded[imageConfig](t, blob(m.Config, typeConfig))
	if c.Config.User != "65532:65532" || c.OS != "linux" || c.Architecture != runtime.GOARCH || c.Config.Entrypoint[0] != "/usr/bin/henge" ||
		c.Config.StopSignal != "SIGTERM" || len(c.RootFS.DiffIDs) != len(m.Layers) || len(m.Layers) != 1 {
		t.Errorf("configuration: %+v", c)
	}
	z, err := gzip.NewReader(bytes.NewReader(blob(m.Layers[0], typeLayer)))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil || c.RootFS.DiffIDs[0] != fmt.Sprintf("sha256:%x", sha256.Sum256(plain)) {
		t.Errorf("the layer has another digest (%v)", err)
	}
	layer, heads := unpacked(t, plain)
	roots := x509.NewCertPool()
	if certificates := layer["etc/ssl/certs/ca-certificates.crt"]; !roots.AppendCertsFromPEM(certificates) ||
		bytes.Count(certificates, []byte("BEGIN CERTIFICATE")) < 80 {
		t.Error("the image has no authorities")
	}
	if h := heads["var/lib/henge/"]; h == nil || h.Uid != imageUser || h.Mode != 0o700 {
		t.Errorf("data directory: %+v", h)
	}
	for name, h := range heads {
		if h.Mode&0o6000 != 0 || h.Mode&0o002 != 0 && name != "tmp/" {
			t.Errorf("[%s] has mode [%o]", name, h.Mode)
		}
	}
	runs(t, layer, heads, c)
}

// runs starts the binary with nothing around it but the image, as the image's user.
func runs(t *testing.T, layer map[string][]byte, heads map[string]*tar.Header, c imageConfig) {
	if os.Getuid() != 0 {
		t.Log("only root can change the root directory: the image is not started")
		return
	}
	dir := t.TempDir()
	for name, h := range heads {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = os.WriteFile(path, layer[name], h.FileInfo().Mode())
		}
		if err = errors.Join(err, os.Chown(path, h.Uid, h.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	for p := dir; p != "/"; p = filepath.Dir(p) { // the test's folders are root's alone
		if info, err := os.Stat(p); err == nil && info.Mode().Perm()&0o001 == 0 && strings.HasPrefix(p, os.TempDir()+"/") {
			if err := os.Chmod(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, args := range [][]string{{"--version"}, {"check-config", "--data", "/var/lib/henge"}} {
		cmd := exec.Command(c.Config.Entrypoint[0], args...)
		cmd.Dir, cmd.Env = "/", append(c.Config.Env, anyPorts()...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q in the image: %v\n%s", args, err, out)
		}
	}
}

// anyPorts is an environment in which the server takes ports that are free.
func anyPorts() []string {
	var out []string
	for _, role := range []string{"router", "coordinator", "broker", "historical", "overlord", "indexer"} {
		out = append(out, "service_"+role+"_plaintextPort=0")
	}
	return out
}
