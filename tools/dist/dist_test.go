package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/tools/licences"
)

// built returns a release whose binary for this machine is the real one. Nothing else is made.
var built = sync.OnceValues(func() (*release, error) {
	out, err := os.MkdirTemp("", "henge-dist-test-")
	if err != nil {
		return nil, err
	}
	r := &release{
		root: repository(), out: out, version: "0.2.0", commit: "0123456789abcdef0123456789abcdef01234567",
		at: time.Date(2026, 11, 29, 7, 0, 0, 0, time.UTC), platforms: []string{"linux/" + runtime.GOARCH},
	}
	r.host = r.binary(r.platforms[0])
	return r, r.build(r.platforms[0])
})

func repository() string {
	root, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return root
}

func TestMain(m *testing.M) {
	code := m.Run()
	if r, err := built(); err == nil || r != nil {
		_ = os.RemoveAll(r.out) // only a temporary folder
	}
	os.Exit(code)
}

func theRelease(t *testing.T) *release {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("packages and images are for Linux")
	}
	r, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// standIn is a release of two architectures whose binaries are a few bytes: what is made of them is
// the same but for these.
func standIn(t *testing.T, host string) *release {
	t.Helper()
	r := &release{
		root: repository(), out: t.TempDir(), version: "0.1.0-rc.1", commit: "0123456789abcdef0123456789abcdef01234567",
		at: time.Date(2026, 11, 29, 7, 0, 0, 0, time.UTC), platforms: []string{"linux/amd64", "linux/arm64", "darwin/arm64"}, host: host,
	}
	for _, p := range r.platforms {
		if err := os.MkdirAll(filepath.Dir(r.binary(p)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(r.binary(p), []byte("#!/bin/sh\necho "+p+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// assemble makes all but binaries, as make does.
func assemble(t *testing.T, r *release) {
	t.Helper()
	texts, err := r.texts()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.platforms {
		if err := r.archive(p, texts); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"deb", "rpm"} {
		for _, arch := range []string{"amd64", "arm64"} {
			if err := r.pack(kind, arch, texts); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, step := range []func() error{func() error { return r.image([]string{"amd64", "arm64"}) }, r.bill, r.checksums} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

// The same sources give the same bytes: archives, packages, image and bill.
func TestReleaseIsReproducible(t *testing.T) {
	host := theRelease(t).host
	one, two := standIn(t, host), standIn(t, host)
	assemble(t, one)
	assemble(t, two)
	first, err := os.ReadFile(filepath.Join(one.out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(two.out, "SHA256SUMS"))
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two runs differ (%v):\n%s\n%s", err, first, second)
	}
	for _, name := range []string{
		"henge_0.1.0-rc.1_linux_amd64.tar.gz", "henge_0.1.0-rc.1_darwin_arm64.tar.gz", "henge_0.1.0-rc.1_arm64.deb", "henge_0.1.0-rc.1_amd64.rpm",
		"henge_0.1.0-rc.1_oci.tar", "henge_0.1.0-rc.1.cdx.json",
	} {
		if !strings.Contains(string(first), "  "+name+"\n") {
			t.Errorf("there is no [%s] in\n%s", name, first)
		}
	}
	if _, err := exec.LookPath("sha256sum"); err == nil {
		cmd := exec.Command("sha256sum", "-c", "--quiet", "SHA256SUMS")
		cmd.Dir = one.out
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("sha256sum: %v\n%s", err, out)
		}
	}
	lists(t, one)
}

// lists looks at the lists of files of the packages.
func lists(t *testing.T, r *release) {
	deb, rpm := filepath.Join(r.out, "henge_0.1.0-rc.1_amd64.deb"), filepath.Join(r.out, "henge_0.1.0-rc.1_amd64.rpm")
	always := []string{
		"/usr/bin/henge", unitPath, settingsPath, defaultsPath, "/usr/share/man/man1/henge.1.gz", "/usr/share/bash-completion/completions/henge",
		"/usr/share/fish/vendor_completions.d/henge.fish", "/usr/share/doc/henge/copyright", "/_henge",
	}
	for _, c := range []struct {
		program string
		args    []string
		want    []string
	}{
		{"dpkg-deb", []string{"--contents", deb}, always},
		{"dpkg-deb", []string{"--field", deb, "Version"}, []string{"0.1.0~rc.1"}},
		{"dpkg-deb", []string{"--info", deb, "conffiles"}, []string{settingsPath, defaultsPath}},
		{"rpm", []string{"-qlp", "--nosignature", rpm}, always},
		{"rpm", []string{"-qp", "--nosignature", "--qf", "%{VERSION} %{LICENSE} %{ARCH}", rpm}, []string{"0.1.0~rc.1 Apache-2.0 x86_64"}},
		{"rpm", []string{"-qcp", "--nosignature", rpm}, []string{settingsPath, defaultsPath}},
		{"rpm", []string{"-qp", "--nosignature", "--scripts", rpm}, []string{"useradd --system", "systemctl"}},
	} {
		if _, err := exec.LookPath(c.program); err != nil {
			t.Logf("%s is not installed: %q is not tried", c.program, c.args)
			continue
		}
		out, err := exec.Command(c.program, c.args...).CombinedOutput()
		if err != nil {
			t.Errorf("%s %q: %v\n%s", c.program, c.args, err, out)
		}
		for _, w := range c.want {
			if !strings.Contains(string(out), w) {
				t.Errorf("%s %q has no %q:\n%s", c.program, c.args[:1], w, out)
			}
		}
	}
}

func TestWordsOfTheCommandLine(t *testing.T) {
	for _, c := range []struct{ platforms, date, want string }{
		{"linux/amd64", "2026-11-29T07:00:00Z", ""},
		{"linux/amd64,darwin/arm64", "", ""},
		{"plan9/amd64", "", "[plan9/amd64]"},
		{"", "", "[]"},
		{"linux/amd64", "yesterday", "[yesterday]"},
	} {
		err := (&release{}).parse(c.platforms, c.date)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q %q: %v", c.platforms, c.date, err)
		}
	}
}

// The bill names every module that the binary says it was built of.
func TestBillNamesWhatIsInTheBinary(t *testing.T) {
	r := theRelease(t)
	if err := r.bill(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.out, "henge_0.2.0.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	b := decoded[bill](t, text)
	serial := regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if b.Format != "CycloneDX" || b.Spec != "1.6" || !serial.MatchString(b.Serial) || b.Metadata.Component.Version != "0.2.0" {
		t.Errorf("head of the bill: %s %s %s %+v", b.Format, b.Spec, b.Serial, b.Metadata)
	}
	refs := map[string]bool{}
	for _, c := range b.Components {
		if refs[c.Ref] || c.Ref == "" || c.Name == "" || len(c.Licences) != 1 || c.Licences[0].Expression == "" {
			t.Errorf("component %+v has a name twice, or lacks one", c)
		}
		refs[c.Ref] = true
	}
	if len(b.Dependencies) != 1 || len(b.Dependencies[0].On) != len(b.Components) {
		t.Error("the release does not depend on all components")
	}
	out, err := exec.Command("go", "version", "-m", r.host).Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(string(out), -1)
	if len(modules) < 50 {
		t.Errorf("the binary names only [%d] modules", len(modules))
	}
	for _, m := range modules {
		if !refs["pkg:golang/"+m[1]+"@"+m[2]] {
			t.Errorf("the bill does not have module [%s] %s", m[1], m[2])
		}
	}
}

// sizeLimit is what the binary of Linux may weigh, in bytes; docs/figures.md has it, too.
const sizeLimit = 66_000_000

// The binary says what it was built of and is no heavier than it may be, and completions are
// scripts that shells can read.
func TestBinaryAndItsTexts(t *testing.T) {
	r := theRelease(t)
	out, err := exec.Command(r.host, "--version").CombinedOutput()
	want := fmt.Sprintf("henge version 0.2.0 (commit 0123456789ab, 2026-11-29, %s)\n", runtime.Version())
	if err != nil || string(out) != want {
		t.Errorf("--version: %v, %s, want %s", err, out, want)
	}
	if info, err := os.Stat(r.host); err != nil || info.Size() >= sizeLimit {
		t.Errorf("the binary has [%d] bytes, not less than [%d] (%v)", info.Size(), int64(sizeLimit), err)
	}
	texts, err := r.texts()
	if err != nil {
		t.Fatal(err)
	}
	for name, shell := range map[string]string{"henge.bash": "bash", "_henge": "zsh", "henge.fish": "fish"} {
		if !bytes.Contains(texts[name], []byte("henge")) {
			t.Errorf("[%s] completes nothing", name)
		}
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		cmd := exec.Command(shell, "-n", "/dev/stdin")
		cmd.Stdin = bytes.NewReader(texts[name])
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}

// The unit is one that systemd takes, and leaves the service little that it could do.
func TestUnitIsHardened(t *testing.T) {
	r := theRelease(t)
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed (Debian package systemd)")
	}
	text, err := os.ReadFile(filepath.Join(r.root, "deploy/systemd/henge.service"))
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "henge.service")
	here := strings.ReplaceAll(string(text), "ExecStart=/usr/bin/henge", "ExecStart="+r.host)
	here = strings.ReplaceAll(here, "Documentation=man:henge(1)\n", "") // which is not installed
	if err := os.WriteFile(unit, []byte(here), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput(); err != nil ||
		strings.Contains(string(out), "henge.service") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=20", unit).CombinedOutput()
	if err != nil { // the threshold is in tenths
		t.Errorf("systemd-analyze security finds more than 2.0: %v\n%s", err, out)
	}
}

func TestPlatformsAreThoseOfTheNotice(t *testing.T) {
	if got := strings.Join(licences.Platforms, " "); got != "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64" {
		t.Errorf("platforms [%s]", got)
	}
}
