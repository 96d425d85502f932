// Command dist builds all files of a release in one folder: static binaries with their archives,
// packages for dpkg and rpm, a container image, completions and the man page, a software bill of
// materials and checksums. It needs only Go, and the same sources produce the same bytes.
//
//	binary ─┬─► henge_VERSION_OS_ARCH.tar.gz
//	        ├─► henge_VERSION_ARCH.deb, .rpm      (linux; by nfpm)
//	        └─► henge_VERSION_oci.tar             (linux, all architectures; an OCI image layout)
//	go.mod, package-lock.json ──► henge_VERSION.cdx.json
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hengedb/henge/tools/licences"
)

// release is what is made.
type release struct {
	// root is the folder of the repository, out that of what is made.
	root, out string
	version   string
	// commit may be empty. at is its date: the time of every file.
	commit    string
	at        time.Time
	platforms []string
	// host is a binary that runs here.
	host string
}

func main() {
	r := release{}
	var platforms, date string
	flag.StringVar(&r.root, "root", "..", "folder of the repository")
	flag.StringVar(&r.out, "out", "", "folder of what is made (default: dist in the repository)")
	flag.StringVar(&r.version, "version", "0.1.0-dev", "version of the release")
	flag.StringVar(&r.commit, "commit", "", "revision of the sources")
	flag.StringVar(&date, "date", "", "date of the revision, RFC 3339: the time of every file")
	flag.StringVar(&platforms, "platforms", strings.Join(licences.Platforms, ","), "what binaries are for")
	flag.Parse()
	err := r.parse(platforms, date)
	if err == nil {
		err = r.make()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist: "+err.Error())
		os.Exit(1)
	}
}

// parse checks what the command line says.
func (r *release) parse(platforms, date string) (err error) {
	r.platforms = strings.Split(platforms, ",")
	for _, p := range r.platforms {
		if !slices.Contains(licences.Platforms, p) {
			return fmt.Errorf("platform [%s] is none of %v", p, licences.Platforms)
		}
	}
	if r.at = time.Unix(0, 0).UTC(); date != "" {
		if r.at, err = time.Parse(time.RFC3339, date); err != nil {
			return fmt.Errorf("date [%s] is not one of RFC 3339, such as 2026-11-29T07:00:00Z", date)
		}
		r.at = r.at.UTC()
	}
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	r.out = cmp.Or(r.out, filepath.Join(r.root, "dist"))
	r.out, err = filepath.Abs(r.out)
	return err
}

// make makes everything.
func (r *release) make() error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	for _, p := range r.platforms {
		if err := r.build(p); err != nil {
			return err
		}
	}
	here := runtime.GOOS + "/" + runtime.GOARCH
	if !slices.Contains(r.platforms, here) {
		if err := r.build(here); err != nil {
			return err
		}
	}
	r.host = r.binary(here)
	texts, err := r.texts()
	if err != nil {
		return err
	}
	var images []string
	for _, p := range r.platforms {
		if err := r.archive(p, texts); err != nil {
			return err
		}
		if goos, arch, _ := strings.Cut(p, "/"); goos == "linux" {
			images = append(images, arch)
			for _, kind := range []string{"deb", "rpm"} {
				if err := r.pack(kind, arch, texts); err != nil {
					return err
				}
			}
		}
	}
	if len(images) > 0 {
		if err := r.image(images); err != nil {
			return err
		}
	}
	if err := r.bill(); err != nil {
		return err
	}
	return r.checksums()
}

// binary is where the binary for a platform is.
func (r *release) binary(platform string) string {
	return filepath.Join(r.out, "bin", strings.ReplaceAll(platform, "/", "_"), "henge")
}

// build builds the binary for a platform.
func (r *release) build(platform string) error {
	goos, arch, _ := strings.Cut(platform, "/")
	date := ""
	if r.commit != "" {
		date = r.at.Format(time.RFC3339)
	}
	flags := fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s -X main.date=%s", r.version, r.commit, date)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags="+flags, "-o", r.binary(platform), "./cmd/henge")
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building for [%s]: %w", platform, err)
	}
	return nil
}

// texts returns the files beside the binary, by name: what it prints itself, and files of the
// repository.
func (r *release) texts() (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, args := range map[string][]string{
		"henge.1": {"man"}, "henge.bash": {"completion", "bash"}, "_henge": {"completion", "zsh"}, "henge.fish": {"completion", "fish"},
	} {
		text, err := exec.Command(r.host, args...).Output()
		if err != nil || len(text) == 0 {
			return nil, fmt.Errorf("printing [%s] with [henge %s]: %w", name, strings.Join(args, " "), err)
		}
		out[name] = text
	}
	for _, name := range []string{
		"LICENSE", "NOTICE", "deploy/systemd/henge.service", "deploy/config/henge.properties", "deploy/config/cluster.properties",
		"deploy/config/default",
	} {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return nil, err
		}
		out[filepath.Base(name)] = text
	}
	return out, nil
}
