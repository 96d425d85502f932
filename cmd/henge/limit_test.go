package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLimitCommands(t *testing.T) {
	made, url, stop := runSecure(t, t.TempDir())
	defer stop()
	password := filepath.Join(t.TempDir(), "pw")
	if err := os.WriteFile(password, []byte(made.password.Reveal()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, out, problem string }{
		{"role add clerk", "added role", ""},
		{"role set clerk --limit rows=100 --limit cpuSeconds=0.5", "limits of role clerk: cpuSeconds=0.5, rows=100", ""},
		{"role show clerk", "limit:  rows=100", ""},
		{"role set clerk --limit rows=none", "limits of role clerk: cpuSeconds=0.5", ""},
		{"role set clerk --limit cpuSeconds=none", "limits of role clerk: none", ""},
		{"user set admin --limit concurrentQueries=50", "limits of user admin: concurrentQueries=50", ""},
		{"role set clerk", "", "There is nothing to set"},
		{"role set clerk --limit rows", "", "not of the form NAME=VALUE"},
		{"role set clerk --limit speed=1", "", "not of the form NAME=VALUE"},
		{"role set clerk --limit rows=many", "", "not a number above 0"},
		{"role set clerk --limit rows=-1", "", "not a number above 0"},
		{"role set clerk --limit rows=NaN", "", "not a number above 0"},
		{"role set clerk --limit rows=1.5", "", "must be a whole number"},
		{"role set gone --limit rows=1", "", "Role [gone] does not exist"},
		{"user set gone --limit rows=1", "", "User [gone] does not exist"},
	} {
		args := append(strings.Fields(test.args), "--user", "admin", "--password-file", password, "--cacert", made.certificate)
		out, _, err := runAgainst(t, url, args...)
		if !strings.Contains(out, test.out) || (err == nil) != (test.problem == "") ||
			err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %s %v", test.args, out, err)
		}
	}
}
