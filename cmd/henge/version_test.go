package main

import (
	"runtime"
	"testing"
)

func TestVersionSaysCommitDateAndGo(t *testing.T) {
	defer func(c, d string) { commit, date = c, d }(commit, date)
	for _, c := range []struct{ commit, date, want string }{
		{"0123456789abcdef0123456789abcdef01234567", "2026-11-29T07:00:00Z", "(commit 0123456789ab, 2026-11-29, "},
		{"0123456789abcdef+modified", "2026-11-29T07:00:00Z", "(commit 0123456789ab+modified, 2026-11-29, "},
		{"0123", "", "(commit 0123, "},
	} {
		commit, date = c.commit, c.date
		if got, want := versionText(), version+" "+c.want+runtime.Version()+")"; got != want {
			t.Errorf("[%s]: %s, want %s", c.commit, got, want)
		}
	}
}
