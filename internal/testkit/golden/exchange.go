// Package golden replays recorded HTTP exchanges of Apache Druid against a running server and
// compares the responses with the recording, under its masks.
//
// The central type is Player. It stores the values that exchanges capture (task ids), inserts them
// into later requests, waits wherever the recording waited, and reports for each exchange whether
// the response matches. The tests that use it list the intended differences, with reasons.
package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// Exchange is one recorded request with its answer.
type Exchange struct {
	Name    string            `json:"name"`
	Family  string            `json:"family"`
	To      string            `json:"to"`
	Note    string            `json:"note"`
	Request Request           `json:"request"`
	Vars    map[string]string `json:"vars"`
	Capture map[string]string `json:"capture"`
	Setup   bool              `json:"setup"`
	Answer  Response          `json:"response"`
	Mask    map[string]string `json:"mask"`
	// Stable says that unmasked values are facts; otherwise only the shape counts.
	Stable bool `json:"stable"`
	// At is when it was sent, in seconds since its scenario began; 0: it is not known.
	At float64 `json:"at"`
	// File is the name of the file it was read from.
	File string `json:"-"`
}

// Request is what was sent: Body (JSON) or BodyText.
type Request struct {
	Method    string            `json:"method"`
	Path      string            `json:"path"`
	Headers   map[string]string `json:"headers"`
	Body      json.RawMessage   `json:"body"`
	BodyText  *string           `json:"bodyText"`
	Shortened bool              `json:"shortened"`
}

// Response is what came back: Body (JSON) or BodyText.
type Response struct {
	Status    int               `json:"status"`
	Headers   map[string]string `json:"headers"`
	Body      json.RawMessage   `json:"body"`
	BodyText  *string           `json:"bodyText"`
	Cut       int               `json:"bodyTextCut"`
	Truncated bool              `json:"truncated"`
}

// SetMask excludes a part of the answer from the comparison, beyond what the recording masks.
func (e *Exchange) SetMask(path, class string) {
	if e.Mask == nil {
		e.Mask = map[string]string{}
	}
	e.Mask[path] = class
}

// Complete reports whether the recording has the whole request and answer; only then can it be
// replayed.
func (e *Exchange) Complete() bool { return !e.Request.Shortened && !e.Answer.Truncated }

// Load reads the exchanges of a family in their order.
func Load(dir string) ([]*Exchange, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var out []*Exchange
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		e := &Exchange{File: filepath.Base(f)}
		if err := json.Unmarshal(text, e); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		out = append(out, e)
	}
	return out, nil
}

var hole = regexp.MustCompile(`\{\{(\w+)\}\}`)

// fill replaces {{name}} by captured values; missing names the first that is not there.
func fill(text string, vars map[string]string) (filled, missing string) {
	filled = hole.ReplaceAllStringFunc(text, func(m string) string {
		v, ok := vars[m[2:len(m)-2]]
		if !ok && missing == "" {
			missing = m[2 : len(m)-2]
		}
		return v
	})
	return filled, missing
}

// lookup follows a simple path (taskId, a.b) into a JSON body.
func lookup(body []byte, path string) (string, bool) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return "", false
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(path, "$"), "."), ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return "", false
		}
		v = m[part]
	}
	switch x := v.(type) {
	case string:
		return x, true
	case json.Number:
		return x.String(), true
	}
	return "", false
}
