package licences

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// NOTICE names what the binary is built of now, with the texts as they are now.
func TestNoticeIsCurrent(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "NOTICE"))
	if err != nil {
		t.Fatal(err)
	}
	modules, err := Modules(root)
	if err != nil {
		t.Fatal(err)
	}
	packages, installed, err := Packages(root)
	if err != nil {
		t.Fatal(err)
	}
	got, want := string(text), Notice(modules, packages)
	if !installed { // their names and versions are known all the same
		t.Log("the packages of the console are not installed: the texts of their licences are not compared")
		got, want = Head(got), Head(want)
	}
	if got != want {
		t.Errorf("NOTICE is not current; run [make notice]. First difference: %s", difference(got, want))
	}
	for _, c := range slices.Concat(modules, packages) {
		for l := range strings.SplitSeq(c.Licence, " AND ") {
			if !slices.Contains(Allowed, l) {
				t.Errorf("component [%s] has the licence [%s], which docs/dependencies.md does not allow", c.Name, l)
			}
		}
	}
	if len(modules) < 50 || len(packages) < 20 {
		t.Errorf("there are only [%d] modules and [%d] packages", len(modules), len(packages))
	}
}

func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) {
			return "one ends sooner"
		}
		if a[i] != b[i] {
			return "have [" + a[i] + "], want [" + b[i] + "]"
		}
	}
	return "none"
}

func TestTextsAreRecognised(t *testing.T) {
	for text, want := range map[string]string{
		"                Apache License\n       Version 2.0, January 2004":                    "Apache-2.0",
		"Mozilla Public License Version 2.0\n=====":                                           "MPL-2.0",
		"Permission is hereby granted, free of\ncharge, to any person obtaining a copy":       "MIT",
		"Redistribution and use in source and binary forms, with or without":                  "BSD-2-Clause",
		"Redistribution and use in\n may be used to endorse or promote products derived from": "BSD-3-Clause",
		"GNU AFFERO GENERAL PUBLIC LICENSE":                                                   "",
		"":                                                                                    "",
	} {
		if got := Of(text); got != want {
			t.Errorf("%q is [%s], want [%s]", text, got, want)
		}
	}
	if _, err := classify("x", []Text{{"LICENSE", "Do what you like."}}); err == nil || !strings.Contains(err.Error(), "[x]") {
		t.Errorf("an unknown licence is accepted: %v", err)
	}
	for name, want := range map[string]bool{
		"LICENSE": true, "LICENSE-MIT.txt": true, "SQLITE-LICENSE": true, "COPYING": true, "NOTICE": true,
		"license.go": false, "README.md": false,
	} {
		if got := isLicence(name); got != want {
			t.Errorf("file [%s]: %v", name, got)
		}
	}
}
