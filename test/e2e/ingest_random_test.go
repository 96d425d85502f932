package e2e

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestIngestRandomFiles loads files of random columns whose values change their kind somewhere, in
// random separators, quotes, ends of lines and encodings. Each loaded value must be what a plain
// reading of the file says; files that are not UTF-8 must be refused. HENGE_INGEST_SEED repeats a
// run, HENGE_INGEST_ROUNDS sets its length.
func TestIngestRandomFiles(t *testing.T) {
	seed, rounds := uint64(time.Now().UnixNano()), 16
	if text := os.Getenv("HENGE_INGEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if text := os.Getenv("HENGE_INGEST_ROUNDS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HENGE_INGEST_SEED=%d", seed)
	p := serve(t, t.TempDir())
	dir := t.TempDir()
	for round := range rounds {
		f := randomFile(rand.New(rand.NewPCG(seed, uint64(round))))
		path := filepath.Join(dir, fmt.Sprintf("r%d", round))
		write(t, path, f.text)
		table := fmt.Sprintf("random%d", round)
		r := ingested(t, p, table, path)
		if f.refused {
			if r.code == 0 || !strings.Contains(r.stderr, "UTF-") {
				t.Errorf("round %d, %s: status %d\n%s", round, f.form, r.code, r.stderr)
			}
			continue
		}
		if r.code != 0 {
			t.Errorf("round %d, %s: status %d\n%s\n%.2000s", round, f.form, r.code, r.stderr, f.text)
			continue
		}
		rows, err := p.Query(t.Context(), "SELECT "+strings.Join(f.names, ", ")+" FROM "+table+" ORDER BY __time")
		if err != nil || len(rows) != len(f.rows) {
			t.Errorf("round %d, %s: %d rows, %v; want %d", round, f.form, len(rows), err, len(f.rows))
			continue
		}
		for i, want := range f.rows {
			for j, w := range want {
				if !kept(w, rows[i][j]) {
					t.Errorf("round %d, %s: row %d, column %s: %#v is loaded as %#v\n%s", round, f.form, i+1, f.names[j], w, rows[i][j], r.stdout)
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}

// randomTable is a file and what is in it.
type randomTable struct {
	text, form string
	refused    bool
	names      []string
	rows       [][]any // of texts in delimited files, of values in JSON
}

// valueMakers make values of one kind, as they are written.
var valueMakers = []func(r *rand.Rand) string{
	func(r *rand.Rand) string { return strconv.Itoa(r.IntN(2000) - 1000) },
	func(r *rand.Rand) string { return strconv.FormatUint(r.Uint64(), 10) },
	func(r *rand.Rand) string { return strconv.FormatInt(int64(r.Uint64()), 10) },
	func(r *rand.Rand) string { return strconv.FormatFloat(r.NormFloat64()*1000, 'f', 2, 64) },
	func(r *rand.Rand) string { return strconv.FormatFloat(r.NormFloat64(), 'g', -1, 64) },
	func(r *rand.Rand) string { return fmt.Sprintf("%.18e", r.NormFloat64()) },
	func(r *rand.Rand) string { return fmt.Sprintf("%04d", r.IntN(10000)) },
	func(r *rand.Rand) string { return fmt.Sprintf("%x", r.IntN(1<<16)) },
	func(r *rand.Rand) string { return fmt.Sprintf("%d,%02d", r.IntN(100), r.IntN(100)) },
	func(r *rand.Rand) string { return fmt.Sprintf("%d.%d.%d", r.IntN(9), r.IntN(30), r.IntN(9)) },
	func(r *rand.Rand) string { return []string{"true", "false"}[r.IntN(2)] },
	func(r *rand.Rand) string { return []string{"", "NA", "null", "-", "0"}[r.IntN(5)] },
	func(r *rand.Rand) string { return randomText(r) },
}

func randomText(r *rand.Rand) string {
	letters := []rune("abc xyz,;|\t\"'\\äß漢😀{}[]:\n")
	var b strings.Builder
	b.WriteByte('t') // never blank, nor in quotes that a format without them would keep
	for range r.IntN(12) {
		b.WriteRune(letters[r.IntN(len(letters))])
	}
	return b.String() + "."
}

func randomFile(r *rand.Rand) *randomTable {
	f := &randomTable{}
	columns, count := 1+r.IntN(6), 1+r.IntN(300)
	kinds := make([][2]int, columns)
	turn := make([]int, columns) // the row at which a column becomes of another kind
	for i := range columns {
		f.names = append(f.names, fmt.Sprintf("c%d", i))
		kinds[i] = [2]int{r.IntN(len(valueMakers)), r.IntN(len(valueMakers))}
		if turn[i] = r.IntN(count + 1); r.IntN(2) == 0 {
			kinds[i][1] = kinds[i][0]
		}
	}
	cell := func(row, column int) string {
		kind := kinds[column][0]
		if row >= turn[column] {
			kind = kinds[column][1]
		}
		return valueMakers[kind](r)
	}
	if r.IntN(3) == 0 {
		f.json(r, count, cell)
	} else {
		f.delimited(r, count, cell)
	}
	switch mark := r.IntN(12); {
	case mark == 0:
		f.text, f.form, f.refused = encodeUTF16("\ufeff"+f.text), f.form+", UTF-16", true
	case mark == 1 && !strings.HasPrefix(f.form, "JSON"):
		f.text, f.form, f.refused = strings.Replace(f.text, "2024-", "\xfc2024-", 1), f.form+", Latin 1", true
	case mark < 5:
		f.text, f.form = "\ufeff"+f.text, f.form+", a byte order mark"
	}
	return f
}

// when is the time of a row.
func when(row int) string {
	return time.Date(2024, 1, 1, 0, 0, row, 0, time.UTC).Format("2006-01-02T15:04:05")
}

func (f *randomTable) delimited(r *rand.Rand, count int, cell func(row, column int) string) {
	separator := []string{",", ";", "|", "\t"}[r.IntN(4)]
	end := []string{"\n", "\r\n", "\r"}[r.IntN(3)]
	always := r.IntN(3) == 0
	f.form = fmt.Sprintf("delimited by %q, lines end with %q, quotes always: %v", separator, end, always)
	var b strings.Builder
	b.WriteString("ts" + separator + strings.Join(f.names, separator) + end)
	for row := range count {
		b.WriteString(when(row))
		values := make([]any, len(f.names))
		for i := range f.names {
			text := cell(row, i)
			values[i] = text
			if always || strings.ContainsAny(text, ",;|\t\"\r\n") {
				text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
			}
			b.WriteString(separator + text)
		}
		if f.rows = append(f.rows, values); row < count-1 || r.IntN(2) == 0 {
			b.WriteString(end)
		}
	}
	f.text = b.String()
}

func (f *randomTable) json(r *rand.Rand, count int, cell func(row, column int) string) {
	end, array := []string{"\n", "\r\n", " "}[r.IntN(3)], r.IntN(3) == 0
	f.form = fmt.Sprintf("JSON, records end with %q, one array: %v", end, array)
	nested := r.IntN(2) == 0
	var b strings.Builder
	for row := range count {
		if fmt.Fprintf(&b, `{"ts":%q`, when(row)); row == 0 && array {
			text := b.String()
			b.Reset()
			b.WriteString("[" + text)
		}
		values := make([]any, len(f.names))
		for i, name := range f.names {
			text := cell(row, i)
			member := quoted(text)
			if json.Valid([]byte(text)) && text != "" && r.IntN(4) > 0 {
				member = text
			}
			if nested && r.IntN(20) == 0 {
				member = []string{`{"a":` + member + `}`, `[` + member + `]`, `[[1],` + member + `]`}[r.IntN(3)]
			}
			dec := json.NewDecoder(strings.NewReader(member))
			dec.UseNumber()
			if dec.Decode(&values[i]) != nil {
				panic("no JSON: " + member)
			}
			if values[i] != nil || r.IntN(2) == 0 {
				fmt.Fprintf(&b, `,%q:%s`, name, member)
			}
		}
		f.rows = append(f.rows, values)
		if b.WriteString("}"); array && row < count-1 {
			b.WriteString(",")
		}
		b.WriteString(end)
	}
	if array {
		b.WriteString("]")
	}
	f.text = b.String()
}

func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// kept reports whether a loaded value is what the file holds.
func kept(want, got any) bool {
	switch w := want.(type) {
	case nil:
		return got == nil
	case bool:
		return got == w || got == fmt.Sprint(w)
	case string:
		if got == nil {
			return w == "" // an empty field
		}
		return got == w || got == quoted(w) || sameNumber(w, got)
	case json.Number:
		return sameNumber(w.String(), got)
	}
	text, ok := got.(string)
	if !ok {
		return reflect.DeepEqual(number(want), number(got))
	}
	var value any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	return dec.Decode(&value) == nil && keptWithin(want, value)
}

// keptWithin compares what is within lists and objects.
func keptWithin(want, got any) bool {
	switch w := want.(type) {
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !keptWithin(w[i], g[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for name := range w {
			if !keptWithin(w[name], g[name]) {
				return false
			}
		}
		return true
	}
	return kept(want, got)
}

// sameNumber reports whether got is the number that text says: exactly, or as the double that is
// printed so.
func sameNumber(text string, got any) bool {
	if s, ok := got.(string); ok {
		got = json.Number(s)
	}
	n, ok := got.(json.Number)
	if !ok {
		return false
	}
	a, okA := new(big.Rat).SetString(text)
	b, okB := new(big.Rat).SetString(n.String())
	if !okA || !okB {
		return false
	}
	if a.Cmp(b) == 0 {
		return true
	}
	x, errX := strconv.ParseFloat(text, 64)
	y, errY := strconv.ParseFloat(n.String(), 64)
	return errX == nil && errY == nil && x == y && strings.ContainsAny(text, ".eE")
}
