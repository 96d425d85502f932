package main

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// What the build says of itself. The Makefile and `make dist` set it; where they set no commit, the
// toolchain may have noted one.
var (
	version = "0.1.0-dev"
	// commit is the revision of the sources, date that of the commit (RFC 3339); empty: unknown.
	commit, date string
)

// shortCommit is how many digits of a commit people are shown.
const shortCommit = 12

// revision returns the commit that the binary was built from, with "+modified" behind it if the
// sources were changed since, and the commit's date; empty where the build does not say.
func revision() (at, when string) {
	if commit != "" {
		return commit, date
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	modified := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			at = s.Value
		case s.Key == "vcs.time":
			when = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+modified"
		}
	}
	if at == "" {
		return "", ""
	}
	return at + modified, when
}

// versionText returns what --version prints behind the name: the release, and in brackets the
// commit, its date and the Go release.
func versionText() string {
	at, when := revision()
	var parts []string
	if at != "" {
		digits, modified, _ := strings.Cut(at, "+")
		if modified != "" {
			modified = "+" + modified
		}
		parts = append(parts, "commit "+digits[:min(shortCommit, len(digits))]+modified)
	}
	if day, _, _ := strings.Cut(when, "T"); day != "" {
		parts = append(parts, day)
	}
	return version + " (" + strings.Join(append(parts, runtime.Version()), ", ") + ")"
}
