package golden

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// compareText compares result text: line by line, and where lines of JSON differ, value by value in
// their order, so that only the digits of doubles may differ. With cut set the recording holds the
// beginning only.
func compareText(want, got string, cut bool) string {
	if cut {
		if len(got) < len(want) || got[:len(want)] != want {
			return textDifference(want, got)
		}
		return ""
	}
	if want == got {
		return ""
	}
	wantLines, gotLines := strings.Split(want, "\n"), strings.Split(got, "\n")
	if len(wantLines) != len(gotLines) {
		return textDifference(want, got)
	}
	for i := range wantLines {
		if wantLines[i] == gotLines[i] {
			continue
		}
		if d := compareTokens(wantLines[i], gotLines[i]); d != "" {
			return fmt.Sprintf("line %d: %s", i+1, d)
		}
	}
	return ""
}

// compareTokens compares two JSON texts including the order of members. Text that is no JSON must
// be the same.
func compareTokens(want, got string) string {
	if !strings.HasPrefix(want, "[") && !strings.HasPrefix(want, "{") {
		return textDifference(want, got)
	}
	w, g := json.NewDecoder(strings.NewReader(want)), json.NewDecoder(strings.NewReader(got))
	w.UseNumber()
	g.UseNumber()
	for {
		wt, wErr := w.Token()
		gt, gErr := g.Token()
		if wErr == io.EOF && gErr == io.EOF {
			return ""
		}
		if wErr != nil || gErr != nil || !equalScalar(wt, gt) {
			return textDifference(want, got)
		}
	}
}

func textDifference(want, got string) string {
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	from := max(0, i-40)
	return fmt.Sprintf("text differs at byte %d: want ...%.160q, got ...%.160q", i, want[from:], got[min(from, len(got)):])
}

// equalScalar compares numbers by value (to 1e-9 when they have a fraction), everything else
// exactly. Text that is JSON is compared as JSON.
func equalScalar(want, got any) bool {
	wn, wIsNumber := want.(json.Number)
	gn, gIsNumber := got.(json.Number)
	if wIsNumber && gIsNumber {
		return EqualNumbers(wn.String(), gn.String())
	}
	ws, wIsText := want.(string)
	gs, gIsText := got.(string)
	if wIsText && gIsText && ws != gs && len(ws) > 0 && (ws[0] == '[' || ws[0] == '{') {
		return compareJSON([]byte(ws), []byte(gs), nil, true) == ""
	}
	return want == got
}

// EqualNumbers compares the JSON text of two numbers: whole ones to the digit, those with a
// fraction or exponent to nine digits. A whole number never equals one with a fraction: clients
// take their type from the text.
func EqualNumbers(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(a, ".eE") || !strings.ContainsAny(b, ".eE") {
		return false
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && (x == y || math.Abs(x-y) <= 1e-9*math.Max(math.Abs(x), math.Abs(y)))
}
