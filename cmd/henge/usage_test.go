package main

import (
	"strings"
	"testing"
)

// Wrong usage is named in the words of this program, with what was meant, and ends with its status.
func TestWrongUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"sqll", "Command [sqll] is unknown; did you mean [sql]? henge --help lists the commands"},
		{"zzzzz", "Command [zzzzz] is unknown; henge --help lists the commands"},
		{"key lits", "Command [lits] is unknown; did you mean [list]? henge key --help lists the commands"},
		{"user delet", "did you mean [delete]?"},
		{"stream stats", "did you mean [status]?"},
		{"help nosuch", "Command [nosuch] is unknown"},
		{"help key rotat", "did you mean [rotate]? henge key --help"},
		{"completion bsh", "did you mean [bash]?"},
		{"completion bash x", "Argument [x] is unknown: henge completion bash accepts only flags"},
		{"sql --fromat csv", "Flag [--fromat] is unknown; did you mean [--format]? henge sql --help lists the flags"},
		{"sql -format csv", "Flag [-format] is unknown; did you mean [--format]?"},
		{"sql -help", "Flag [-help] is unknown; did you mean [--help]?"},
		{"sql -Z", "Flag [-Z] is unknown; henge sql --help lists the flags"},
		{"sql --=x", "Flag [--=x] is not of the form --NAME or --NAME=VALUE"},
		{"sql --query", "Flag [--query] needs a value"},
		{"sql -q", "Flag [-q] needs a value"},
		{"sql --timing=maybe", "Value [maybe] of flag [--timing] is neither true nor false"},
		{"sql a b", "Only one file of statements is allowed, but [a] and [b] were given"},
		{"sample --rows abc", "Value [abc] of flag [--rows] is not a whole number"},
		{"sample --rows 99999999999999999999", "is too large or too small"},
		{"sample --rate fast", "Value [fast] of flag [--rate] is not a number"},
		{"sample --seed -5", "Value [-5] of flag [--seed] is not a whole number of at least 0"},
		{"sample extra", "Argument [extra] is unknown: henge sample accepts only flags; henge sample --help lists them"},
		{"ingest --max-parse-exceptions many", "Value [many] of flag [--max-parse-exceptions] is not a whole number"},
		{"top --interval soon", "Value [soon] of flag [--interval] is not a number"},
		{"top x", "Argument [x] is unknown"},
		{"drain --wait foo", "Value [foo] of flag [--wait] is not a duration such as 30s or 5m"},
		{"inspect", "The segment file is missing; for example: henge inspect henge-data"},
		{"backup", "The backup file is missing; for example: henge backup henge-"},
		{"restore a b", "Argument [b] is unexpected: henge restore accepts only the backup file"},
		{"key rotate", "The id of the key is missing; for example: henge key rotate ID"},
		{"role grant a", "The action is missing; for example: henge role grant analyst READ"},
		{"role grant a b c d e", "accepts only the name of the role, the action, the type and the pattern"},
		{"user add", "The name of the user is missing"},
		{"man page", "Argument [page] is unknown"},
	} {
		_, _, err := inProcess(t, "", strings.Fields(c.args)...)
		if err == nil || !strings.Contains(messageOf(err), c.want) || exitOf(err, false) != exitUsage {
			t.Errorf("henge %s: %v, want %q", c.args, err, c.want)
			continue
		}
		for _, foreign := range []string{"strconv", "arg(s)", "invalid argument", "shorthand", "unknown command"} {
			if strings.Contains(err.Error(), foreign) {
				t.Errorf("henge %s: %v has the words of a library", c.args, err)
			}
		}
	}
}

// What is no wrong usage shows help.
func TestHelpOfCommandSets(t *testing.T) {
	for _, args := range [][]string{{"help", "key", "list"}, {"key"}, {"stream"}, {"completion"}, {}} {
		if out, _, err := inProcess(t, "", args...); err != nil || out == "" {
			t.Errorf("henge %s: %v, %q", args, err, out)
		}
	}
}
