package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the form of Debian
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // the form of Fedora and others
)

// Where packages put things.
const (
	unitPath     = "/usr/lib/systemd/system/henge.service"
	settingsPath = "/etc/henge/henge.properties"
	defaultsPath = "/etc/default/henge"
)

// pack makes the package of a kind, deb or rpm, for an architecture.
func (r *release) pack(kind, arch string, texts map[string][]byte) error {
	stage, err := os.MkdirTemp("", "henge-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	contents := files.Contents{
		{Source: r.binary("linux/" + arch), Destination: "/usr/bin/henge", FileInfo: &files.ContentFileInfo{Mode: 0o755}},
		{Destination: "/etc/henge", Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Mode: 0o750}},
	}
	add := func(name, destination, how string, mode os.FileMode, data []byte) error {
		path := filepath.Join(stage, name)
		contents = append(contents, &files.Content{
			Source: path, Destination: destination, Type: how, FileInfo: &files.ContentFileInfo{Mode: mode},
		})
		return os.WriteFile(path, data, 0o600)
	}
	page, err := packed(texts["henge.1"])
	if err != nil {
		return err
	}
	zsh := "/usr/share/zsh/site-functions/_henge"
	if kind == "deb" {
		zsh = "/usr/share/zsh/vendor-completions/_henge"
	}
	copyright := append(append([]byte{}, texts["LICENSE"]...), texts["NOTICE"]...)
	for _, f := range []struct {
		name, destination, how string
		mode                   os.FileMode
		data                   []byte
	}{
		{"unit", unitPath, "", 0o644, texts["henge.service"]},
		{"settings", settingsPath, files.TypeConfigNoReplace, 0o640, texts["henge.properties"]},
		{"defaults", defaultsPath, files.TypeConfigNoReplace, 0o640, texts["default"]},
		{"cluster", "/usr/share/doc/henge/examples/cluster.properties", "", 0o644, texts["cluster.properties"]},
		{"copyright", "/usr/share/doc/henge/copyright", "", 0o644, copyright},
		{"page", "/usr/share/man/man1/henge.1.gz", "", 0o644, page},
		{"bash", "/usr/share/bash-completion/completions/henge", "", 0o644, texts["henge.bash"]},
		{"zsh", zsh, "", 0o644, texts["_henge"]},
		{"fish", "/usr/share/fish/vendor_completions.d/henge.fish", "", 0o644, texts["henge.fish"]},
	} {
		if err := add(f.name, f.destination, f.how, f.mode, f.data); err != nil {
			return err
		}
	}
	for _, c := range contents {
		c.FileInfo.Owner, c.FileInfo.Group, c.FileInfo.MTime = "root", "root", r.at
	}
	scripts := filepath.Join(r.root, "deploy", "package")
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "henge", Arch: arch, Platform: "linux", Version: r.version, Section: "database", Priority: "optional",
		Maintainer: "Henge developers",
		Vendor:     "Henge developers", Homepage: "https://github.com/hengedb/henge", License: "Apache-2.0", MTime: r.at,
		Description: "Real-time analytics store\nEvents in, SQL answers out, in milliseconds, over HTTP. " +
			"It speaks the public interface of Apache Druid.",
		Overridables: nfpm.Overridables{
			Contents: contents,
			Scripts: nfpm.Scripts{
				PostInstall: filepath.Join(scripts, "postinst"), PreRemove: filepath.Join(scripts, "prerm"),
				PostRemove: filepath.Join(scripts, "postrm"),
			},
			RPM: nfpm.RPM{BuildHost: "localhost", Summary: "Real-time analytics store"},
			Deb: nfpm.Deb{Fields: map[string]string{"Bugs": "https://github.com/hengedb/henge/issues"}},
		},
	})
	if kind == "rpm" {
		info.Depends = []string{"shadow-utils"}
	} else {
		info.Depends = []string{"passwd"}
	}
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return fmt.Errorf("preparing the %s package: %w", kind, err)
	}
	packager, err := nfpm.Get(kind)
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(r.out, fmt.Sprintf("henge_%s_%s.%s", r.version, arch, kind)))
	if err != nil {
		return err
	}
	if err := packager.Package(info, out); err != nil {
		_ = out.Close() // the package is no use
		return fmt.Errorf("making the %s package: %w", kind, err)
	}
	return out.Close()
}

// unitCommand returns the command line of ExecStart in a unit, with variables filled in.
func unitCommand(unit string, variable func(string) string) []string {
	for line := range strings.SplitSeq(unit, "\n") {
		if words, ok := strings.CutPrefix(line, "ExecStart="); ok {
			return strings.Fields(os.Expand(words, variable))
		}
	}
	return nil
}
