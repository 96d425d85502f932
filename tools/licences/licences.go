// Package licences finds the components of the binary with the texts of their licences: Go modules,
// the Go standard library, and npm packages of the web console.
//
// The central type is Component. Command notice writes them to NOTICE, command dist to the SBOM of
// a release.
package licences

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Component is something that is part of the binary and has a licence of its own.
type Component struct {
	Name, Version string
	// URL is its package URL (purl), Licence its SPDX expression.
	URL, Licence string
	// Sum is the checksum of go.sum or package-lock.json.
	Sum string
	// Texts are the files that must be passed on with it.
	Texts []Text
}

// Text is a file of licences or notices.
type Text struct {
	Name, Content string
}

// Platforms are those a release has binaries for.
var Platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

type goPackage struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir, Sum string
		Main                    bool
		Replace                 *struct{ Path, Version, Dir string }
	}
}

// Modules returns the Go modules that cmd/henge of the repository at root links on any of the
// platforms, and the standard library, sorted by name.
func Modules(root string) ([]Component, error) {
	directories := map[string][]string{} // of each module those of linked packages
	found := map[string]Component{}
	homes := map[string]string{}
	for _, platform := range Platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Standard,Module", "./cmd/henge")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("listing the packages for [%s]: %w", platform, err)
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p goPackage
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("reading the list of packages: %w", err)
			}
			if p.Standard || p.Module == nil || p.Module.Main {
				continue
			}
			m := p.Module
			found[m.Path] = Component{
				Name: m.Path, Version: m.Version, URL: "pkg:golang/" + m.Path + "@" + m.Version, Sum: m.Sum,
			}
			homes[m.Path] = m.Dir
			directories[m.Path] = append(directories[m.Path], p.Dir)
		}
	}
	var out []Component
	for name, c := range found {
		var err error
		if c.Texts, err = moduleTexts(homes[name], directories[name]); err != nil {
			return nil, err
		}
		if c.Licence, err = classify(c.Name, c.Texts); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	std, err := standardLibrary()
	if err != nil {
		return nil, err
	}
	out = append(out, std)
	slices.SortFunc(out, func(a, b Component) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// standard is the name of Go's standard library.
const standard = "std"

func standardLibrary() (Component, error) {
	out, err := exec.Command("go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return Component{}, fmt.Errorf("asking for the place of Go: %w", err)
	}
	lines := strings.Fields(string(out))
	if len(lines) != 2 {
		return Component{}, fmt.Errorf("the command [go env] printed [%s]", out)
	}
	text, err := os.ReadFile(filepath.Join(lines[0], "LICENSE"))
	if err != nil {
		return Component{}, fmt.Errorf("reading the licence of Go: %w", err)
	}
	version := strings.TrimPrefix(lines[1], "go")
	return Component{
		Name: standard, Version: version, URL: "pkg:golang/std@" + version, Licence: "BSD-3-Clause",
		Texts: []Text{{Name: "LICENSE", Content: tidy(string(text))}},
	}, nil
}

// moduleTexts returns the files of licences in the module's root, and in the directories between it
// and linked packages: code that was taken from elsewhere has its own there.
func moduleTexts(home string, packages []string) ([]Text, error) {
	dirs := map[string]bool{home: true}
	for _, dir := range packages {
		for ; dir != home && strings.HasPrefix(dir, home); dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	var out []Text
	for dir := range dirs {
		texts, err := textsIn(home, dir)
		if err != nil {
			return nil, err
		}
		out = append(out, texts...)
	}
	slices.SortFunc(out, func(a, b Text) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// textsIn returns the files of licences in one directory, named relative to home.
func textsIn(home, dir string) ([]Text, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("looking for licences: %w", err)
	}
	var out []Text
	for _, e := range entries {
		if !e.Type().IsRegular() || !isLicence(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading a licence: %w", err)
		}
		name, err := filepath.Rel(home, filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("naming a licence: %w", err)
		}
		out = append(out, Text{filepath.ToSlash(name), tidy(string(text))})
	}
	return out, nil
}

// isLicence reports whether a file of this name holds a licence or a notice: LICENSE,
// LICENSE-MIT.txt, SQLITE-LICENSE, COPYING.
func isLicence(name string) bool {
	upper := strings.ToUpper(name)
	switch filepath.Ext(upper) {
	case ".GO", ".JS", ".TS", ".MJS", ".CJS", ".JSON", ".PY":
		return false
	}
	for _, word := range []string{"LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"} {
		if strings.Contains(upper, word) {
			return true
		}
	}
	return false
}

// tidy makes the same text of files that differ in line ends and blanks only.
func tidy(text string) string {
	var b strings.Builder
	for s := bufio.NewScanner(strings.NewReader(strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")))); s.Scan(); {
		b.WriteString(strings.TrimRight(s.Text(), " \t\r\f"))
		b.WriteByte('\n')
	}
	return b.String()
}

// marks say which licence a text is, by words that only it has. The first that fits counts.
var marks = []struct{ licence, words string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"MPL-2.0", "Mozilla Public License, version 2.0"},
	{"MIT", "Permission is hereby granted, free of charge, to any person"},
	{"ISC", "Permission to use, copy, modify, and"},
	{"Unlicense", "This is free and unencumbered software released into the public domain"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived from"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms"},
}

// Of returns the SPDX name of the licence whose text it is; empty: it is none that is known.
func Of(text string) string {
	words := strings.Join(strings.Fields(text), " ")
	for _, m := range marks {
		if strings.Contains(words, m.words) {
			return m.licence
		}
	}
	return ""
}

// Allowed are the licences that the rules of docs/dependencies.md allow.
var Allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense", "0BSD"}

// classify returns the SPDX expression of a component with these files.
func classify(name string, texts []Text) (string, error) {
	var found []string
	for _, t := range texts {
		if l := Of(t.Content); l != "" && !slices.Contains(found, l) {
			found = append(found, l)
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("component [%s] has no file with a licence that is known: read it, and add its words to tools/licences",
			name)
	}
	slices.Sort(found)
	return strings.Join(found, " AND "), nil
}

// Packages returns the npm packages that the web console is built of, sorted by name, as the lock
// file names them. Their texts are those of the installed packages; installed is false, and there
// are none, where the packages are not installed.
func Packages(root string) (out []Component, installed bool, err error) {
	console := filepath.Join(root, "console")
	text, err := os.ReadFile(filepath.Join(console, "package-lock.json"))
	if err != nil {
		return nil, false, fmt.Errorf("reading the packages of the console: %w", err)
	}
	var lock struct {
		Packages map[string]struct {
			Version, License, Integrity string
			Dev                         bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, false, fmt.Errorf("reading the packages of the console: %w", err)
	}
	installed = true
	for path, p := range lock.Packages {
		_, name, ok := strings.Cut(path, "node_modules/")
		if !ok || p.Dev || strings.HasPrefix(name, "@types/") {
			continue
		}
		c := Component{
			Name: name, Version: p.Version, URL: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version,
			Licence: p.License, Sum: p.Integrity,
		}
		home := filepath.Join(console, filepath.FromSlash(path))
		if c.Texts, err = textsIn(home, home); errors.Is(err, os.ErrNotExist) {
			installed, err = false, nil
		}
		if err != nil {
			return nil, false, err
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Component) int { return strings.Compare(a.Name, b.Name) })
	return out, installed, nil
}
