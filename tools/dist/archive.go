package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file or folder of an archive. Folders end in a slash.
type entry struct {
	name string
	mode int64
	// owner is the number of user and group.
	owner int
	data  []byte
}

// writeTar writes entries in the order of their names, all of one time.
func writeTar(w io.Writer, at time.Time, entries []entry) error {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	t := tar.NewWriter(w)
	for _, e := range entries {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(e.data)),
			ModTime: at, Format: tar.FormatPAX,
		}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return fmt.Errorf("writing [%s] to an archive: %w", e.name, err)
		}
		if _, err := t.Write(e.data); err != nil {
			return fmt.Errorf("writing [%s] to an archive: %w", e.name, err)
		}
	}
	return t.Close()
}

// packed returns data compressed by gzip, with nothing of this machine in it.
func packed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

// archive makes the archive of a platform.
func (r *release) archive(platform string, texts map[string][]byte) error {
	binary, err := os.ReadFile(r.binary(platform))
	if err != nil {
		return err
	}
	name := fmt.Sprintf("henge_%s_%s", r.version, strings.ReplaceAll(platform, "/", "_"))
	top := name + "/"
	entries := []entry{{top, 0o755, 0, nil}, {top + "henge", 0o755, 0, binary}}
	folders := map[string][]string{
		"": {"LICENSE", "NOTICE"}, "man/": {"henge.1"}, "completions/": {"henge.bash", "_henge", "henge.fish"},
		"deploy/": {"henge.service", "henge.properties", "cluster.properties", "default"},
	}
	for folder, names := range folders {
		if folder != "" {
			entries = append(entries, entry{top + folder, 0o755, 0, nil})
		}
		for _, n := range names {
			entries = append(entries, entry{top + folder + n, 0o644, 0, texts[n]})
		}
	}
	var tarred bytes.Buffer
	if err := writeTar(&tarred, r.at, entries); err != nil {
		return err
	}
	data, err := packed(tarred.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name+".tar.gz"), data, 0o644)
}

// checksums writes the checksums of all that is passed on, in the form that sha256sum -c reads.
func (r *release) checksums() error {
	files, err := filepath.Glob(filepath.Join(r.out, "henge_*"))
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range files { // Glob sorts them
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), filepath.Base(f))
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()), 0o644)
}
