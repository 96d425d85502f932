package main

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/clock"
)

// Rows are the same however the input is cut.
func TestLiveLines(t *testing.T) {
	for _, c := range []struct {
		input, delimiter, form, header string
		rows                           []string
		refused                        string
	}{
		{input: "{\"a\":1}\n\n {\"a\":2}\r\n{\"a\":\"\\\"\"}", form: "JSON", rows: []string{`{"a":1}`, ` {"a":2}`, `{"a":"\""}`}},
		{input: "\ufeff\n{\"a\":1}\n", form: "JSON", rows: []string{`{"a":1}`}},
		{input: "ts,n\n1,\"x\ny\"\n\n2,\"a\"\"b\"\n", form: "CSV", header: "ts,n\n", rows: []string{"1,\"x\ny\"", `2,"a""b"`}},
		{input: "ts\tn\r\n1\t2\r\n3\t4", form: "TSV", header: "ts\tn\n", rows: []string{"1\t2", "3\t4"}},
		{input: "a,b\tc\n1\t2", delimiter: "\t", form: "TSV", header: "a,b\tc\n", rows: []string{"1\t2"}},
		{input: "{x},y\n1,2", delimiter: ",", form: "CSV", header: "{x},y\n", rows: []string{"1,2"}},
		{input: "one\nü", form: "CSV", header: "one\n", rows: []string{"ü"}},
		{input: "", rows: nil},
		{input: "[{\"a\":1}]", refused: "array"},
		{input: "\x1f\x8b\x08\x00abc", refused: "compressed"},
		{input: "a,\xff\n1,2\n", refused: "UTF-8"},
	} {
		for seed := range uint64(20) {
			random := rand.New(rand.NewPCG(seed, 2))
			r := &liveReader{in: &fewBytes{c.input, random}, delimiter: c.delimiter}
			rows := make(chan *liveRows, len(c.input)+1)
			err := r.run(t.Context(), rows)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("%q: %v", c.input, err)
				}
				continue
			}
			var got []string
			for list := range rows {
				from := 0
				for _, end := range list.ends {
					got = append(got, strings.TrimSuffix(string(list.text[from:end]), "\n"))
					from = end
				}
			}
			if diff := cmp.Diff(c.rows, got); diff != "" || err != nil || r.form.name != c.form || string(r.header) != c.header {
				t.Errorf("%q: %v, %s with header %q: %s", c.input, err, r.form.name, r.header, diff)
			}
		}
	}
}

// fewBytes gives text one to four bytes at a time.
type fewBytes struct {
	text string
	r    *rand.Rand
}

func (p *fewBytes) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(len(p.text), 1+p.r.IntN(4))])
	p.text = p.text[n:]
	return n, nil
}

func TestLiveRowsAreDropped(t *testing.T) {
	r, more := &liveRows{}, &liveRows{}
	r.add([]byte("a"))
	r.add([]byte("bb"))
	more.add([]byte("ccc"))
	more.add([]byte("d"))
	r.addAll(more)
	r.drop(0)
	r.drop(2)
	if string(r.text) != "ccc\nd\n" || r.count() != 2 || r.ends[0] != 4 {
		t.Errorf("%q %v", r.text, r.ends)
	}
	if r.drop(2); r.count() != 0 || len(r.text) != 0 {
		t.Errorf("%q %v", r.text, r.ends)
	}
}

// Flags that make no sense with rows that are sent as they come are refused with the reason.
func TestLiveRefusals(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-", "--live", "--replace"}, "--replace is only for files"},
		{[]string{"-", "--live", "--append"}, "--append is only for files"},
		{[]string{"-", "--live", "--dry-run"}, "--dry-run is only for files"},
		{[]string{"-", "--live", "--column", "a=BIGINT"}, "--column is only for files"},
		{[]string{"-", "--live", "--partitioned-by", "DAY"}, "--partitioned-by is only for files"},
		{[]string{"-", "--live", "--on-misfit", "null"}, "--on-misfit is only for files"},
		{[]string{"-", "--live", "--header", "no"}, "--header=no"},
		{[]string{"-", "--live", "--delimiter", ";"}, "not by [;]"},
		{[]string{"-", "--live", "--channel", ""}, "must not be empty"},
		{[]string{"a", "b", "--live"}, "but [2] are given"},
		{[]string{"s3://a/b", "--live"}, "not [s3://a/b]"},
		{[]string{".", "--live"}, "is a folder"},
		{[]string{"no such file", "--live"}, "can't be read"},
		{[]string{"-", "--channel", "x"}, "needs --live"},
	} {
		cmd := ingestCommand()
		cmd.SetArgs(append(c.args, "--into", "events", "--server", "http://127.0.0.1:1"))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("henge ingest %q: %v", c.args, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := clock.System().Now().Truncate(1e9).UTC()
	for text, want := range map[string]string{
		"": "0s", "3": "3s", "0.5": "500ms", "-1": "0s", "soon": "0s", "1e300": "0s", now.Add(9e9).Format("Mon, 02 Jan 2006 15:04:05 GMT"): "9s",
		now.Add(-9e9).Format("Mon, 02 Jan 2006 15:04:05 GMT"): "0s",
	} {
		if got := retryAfter(text, now).String(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
