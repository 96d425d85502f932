package syntax

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

// corpusRecord is a line of the recorded corpus, as far as parsing matters.
type corpusRecord struct {
	ID    string `json:"id"`
	SQL   string `json:"sql"`
	Error *struct {
		Body json.RawMessage `json:"body"`
	} `json:"error"`
}

// message returns the error message of a recorded error, "" if the body is of another form.
func (r *corpusRecord) message() string {
	var body struct {
		ErrorMessage string `json:"errorMessage"`
	}
	if r.Error == nil || json.Unmarshal(r.Error.Body, &body) != nil {
		return ""
	}
	return body.ErrorMessage
}

// readCorpus returns the statements recorded from Druid, or skips the test.
func readCorpus(t *testing.T) []corpusRecord {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "shared", "golden", "corpus", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the recorded corpus (../shared/golden/corpus beside the repository) is not here")
	}
	var records []corpusRecord
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, len(data)+1)
		for lines.Scan() {
			var r corpusRecord
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatalf("%s: %v", filepath.Base(file), err)
			}
			records = append(records, r)
		}
	}
	return records
}

// Every statement Druid answers parses, and prints to one that parses to the same tree.
func TestCorpusParses(t *testing.T) {
	answered, parsed := 0, 0
	for _, r := range readCorpus(t) {
		s, err := Parse(r.SQL)
		if r.Error == nil {
			answered++
		}
		if err != nil {
			if r.Error == nil {
				t.Errorf("%s: %s\n%v", r.ID, r.SQL, err)
			}
			continue
		}
		if r.Error == nil {
			parsed++
		}
		checkPrint(t, s)
	}
	t.Logf("%d of %d answered statements parse; every one that parses prints to the same tree", parsed, answered)
}

// checkPrint fails the test unless s prints to a text of the same tree.
func checkPrint(t *testing.T, s *Script) {
	t.Helper()
	text := Print(s)
	again, err := Parse(text)
	if err != nil {
		t.Errorf("printed statement does not parse: %s\n%v", text, err)
		return
	}
	if a, b := dump(s), dump(again); a != b {
		t.Errorf("printed statement has another tree: %s\n%s\n%s", text, a, b)
	}
}

// Where Druid finds an unexpected token, so do we, mostly at the same place. Some of its errors are
// statements of ours: names that it reserves, newer syntax. The numbers may only get better.
func TestCorpusErrors(t *testing.T) {
	const leastSame, mostAccepted = 416, 126
	same, accepted, total := 0, 0, 0
	for _, r := range readCorpus(t) {
		message := r.message()
		if !strings.HasPrefix(message, "Received an unexpected token [") {
			continue
		}
		total++
		head := func(s string) string { s, _, _ = strings.Cut(s, ", acceptable options"); return s }
		_, err := Parse(r.SQL)
		switch f := fault.Find(err); {
		case err == nil:
			accepted++
		case f == nil || f.Category != fault.CategoryInvalidInput:
			t.Errorf("%s: %s: got %v, want invalid input", r.ID, r.SQL, err)
		case head(f.Message) == head(message):
			same++
		}
	}
	t.Logf("of %d errors %d are the same, %d statements are accepted", total, same, accepted)
	if same < leastSame || accepted > mostAccepted {
		t.Errorf("%d errors are the same, want %d or more; %d statements are accepted, want %d or less", same, leastSame, accepted, mostAccepted)
	}
}

// Every statement of the recorded exchanges that was answered parses.
func TestRecordedExchangesParse(t *testing.T) {
	parsed := 0
	for _, family := range []string{"sql", "explain", "sql-task", "statements"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "shared", "golden", family, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var exchange struct {
				Request struct {
					Shortened bool `json:"shortened"`
					Body      json.RawMessage
				} `json:"request"`
				Response struct {
					Status int `json:"status"`
				} `json:"response"`
			}
			var body struct {
				Query string `json:"query"`
			}
			if err := json.Unmarshal(data, &exchange); err != nil {
				t.Fatalf("%s: %v", filepath.Base(file), err)
			}
			noQuery := json.Unmarshal(exchange.Request.Body, &body) != nil || body.Query == ""
			if noQuery || exchange.Request.Shortened || exchange.Response.Status >= 300 {
				continue
			}
			s, err := Parse(body.Query)
			if err != nil {
				t.Errorf("%s/%s: %s\n%v", family, filepath.Base(file), body.Query, err)
				continue
			}
			checkPrint(t, s)
			parsed++
		}
	}
	if parsed == 0 {
		t.Skip("the recorded exchanges (../shared/golden beside the repository) are not here")
	}
	t.Logf("%d statements parse", parsed)
}
