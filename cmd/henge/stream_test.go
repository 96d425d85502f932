package main

import (
	"strings"
	"testing"
)

// Flags that make no sense are refused before a server is asked.
func TestStreamRefusals(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--topic t --into d", "--kafka is missing"},
		{"--kafka h --into d", "--topic is missing"},
		{"--kafka h --topic t", "--into is missing"},
		{"--kafka h --topic t --into a/b", "a/b"},
		{"--kafka h --topic t --into d --property x", "not of the form NAME=VALUE"},
		{"--kafka h --topic t --into d --property bootstrap.servers=x", "given by --kafka"},
		{"--kafka h --topic t --into d --sum x", "needs --rollup"},
		{"--kafka h --topic t --into d --rollup often", "use one of none, second"},
		{"--kafka h --topic t --into d --partitioned-by WEEK", "use one of HOUR"},
		{"--kafka h --topic t --into d --input-format csv", "is not JSON"},
		{"--kafka h --topic t --into d --wait -1s", "must not be negative"},
		{"lst", "Command [lst] is unknown; did you mean [list]?"},
		{"status", "The id of the supervisor is missing"},
	} {
		cmd := streamCommand()
		cmd.SetArgs(append(strings.Fields(c.args), "--server", "http://127.0.0.1:1"))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("henge stream %s: %v", c.args, err)
		}
	}
}

// What a user sees of a spec has no secrets, and what is to be used has.
func TestStreamSpecsAreShownWithoutSecrets(t *testing.T) {
	for _, dry := range []bool{true, false} {
		var out strings.Builder
		o := &streamOptions{kafka: "h:1", topic: "t", into: "d", partitionedBy: "day", dryRun: dry, out: &out,
			rollup: "minute", sums: []string{"n", "x"},
			properties: []string{"sasl.jaas.config=hidden=1", "ssl.keystore.password=hidden2", "group.id=shown"}}
		found := &topicSurvey{format: []byte(`{"type":"json"}`), time: "at",
			types: map[string]string{"n": "BIGINT", "x": "DOUBLE", "s": "VARCHAR"}}
		spec, err := o.spec(found)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.print(spec); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if strings.Contains(text, "hidden") != dry || !strings.Contains(text, "shown") {
			t.Error(text)
		}
		for _, part := range []string{`"longSum"`, `"doubleSum"`, `"sum_n"`, `"MINUTE"`, `"format": "auto"`} {
			if !strings.Contains(text, part) {
				t.Errorf("no %s in %s", part, text)
			}
		}
		for _, sum := range []string{"s", "nothing"} {
			o.sums = []string{sum}
			if _, err := o.spec(found); err == nil || !strings.Contains(err.Error(), "["+sum+"]") {
				t.Errorf("the sum of [%s]: %v", sum, err)
			}
		}
	}
}
