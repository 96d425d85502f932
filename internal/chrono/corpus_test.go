package chrono

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// statement is a recorded constant SELECT of the shared corpus.
type statement struct {
	SQL     string
	Context map[string]any
	Rows    [][]any
	Spec    string
}

// call takes SELECT F(a, b, ..) over literals apart, or SELECT F(a TO|FROM b).
var (
	call     = regexp.MustCompile(`^SELECT ([A-Z_]+)\((.*)\)$`)
	argument = regexp.MustCompile(`^(?:TIMESTAMP '([^']*)'|'((?:[^']|'')*)'|(-?\d+|NULL|[A-Z]+))(?:,\s*|\s+(?:TO|FROM)\s+|$)`)
)

// TestCorpus answers the constant statements on time of the recorded corpus.
func TestCorpus(t *testing.T) {
	answered := 0
	for _, topic := range []string{"time", "zones"} {
		file, err := os.Open("../../../shared/golden/corpus/" + topic + ".jsonl")
		if err != nil {
			t.Skipf("the recorded corpus is not beside the repository: %v", err)
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var s statement
			if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
				t.Fatal(err)
			}
			if len(s.Rows) != 1 || len(s.Rows[0]) != 1 || s.Spec != "" {
				continue
			}
			name, _ := s.Context["sqlTimeZone"].(string)
			zone, err := LoadZone(name)
			if err != nil {
				zone = UTC // what Druid makes of a zone it does not know
			}
			got, ok := answer(s.SQL, zone)
			if !ok {
				continue
			}
			answered++
			want := fmt.Sprint(s.Rows[0][0])
			if f, isNumber := s.Rows[0][0].(float64); isNumber {
				want = fmt.Sprint(int64(f))
			}
			// A constant that folds to NULL is recorded as 1970; over a column the same is NULL.
			if got == "null" && strings.HasPrefix(want, "1970-01-01T00:00:00.000Z") {
				continue
			}
			if got != want {
				t.Errorf("%s in %s: got %s, want %s", s.SQL, zone, got, want)
			}
		}
	}
	t.Logf("%d statements", answered)
	if answered < 300 {
		t.Errorf("only %d statements were understood", answered)
	}
}

// answer evaluates a statement, or returns false if it is not of the simple form.
func answer(sql string, zone *Zone) (string, bool) {
	m := call.FindStringSubmatch(sql)
	if m == nil {
		return "", false
	}
	var args []string
	for rest := m[2]; rest != ""; {
		a := argument.FindStringSubmatch(rest)
		if a == nil {
			return "", false
		}
		rest = rest[len(a[0]):]
		switch {
		case a[1] != "":
			ms, err := ParseTimestampLiteral(a[1], zone)
			if err != nil {
				return "", false
			}
			args = append(args, number(ms))
		case a[3] != "":
			args = append(args, a[3])
		default:
			args = append(args, strings.ReplaceAll(a[2], "''", "'"))
		}
	}
	local, ok := zoneArgument(m[1], args, zone)
	if !ok {
		return "", false
	}
	return evaluate(m[1], args, zone, local)
}

// zoneArgument finds the zone among the arguments.
func zoneArgument(function string, args []string, zone *Zone) (*Zone, bool) {
	at := map[string]int{"TIME_FLOOR": 3, "TIME_CEIL": 3, "TIME_SHIFT": 3, "TIME_EXTRACT": 2, "TIME_FORMAT": 2, "TIME_PARSE": 2}[function]
	if at == 0 || at >= len(args) {
		return zone, true
	}
	z, err := LoadZone(args[at])
	return z, err == nil
}

func evaluate(function string, args []string, zone, local *Zone) (string, bool) {
	integer := func(i int) int64 {
		var v int64
		if i < len(args) {
			_, _ = fmt.Sscan(args[i], &v)
		}
		return v
	}
	instant := func(ms int64) (string, bool) { return FormatMillis(ms, zone), true }
	switch function {
	case "TIME_FLOOR", "TIME_CEIL":
		p, err := ParsePeriod(args[1])
		if err != nil {
			return "", false
		}
		var origin *int64
		if len(args) > 2 && args[2] != "NULL" {
			v := integer(2)
			origin = &v
		}
		g, err := PeriodGranularity(p, local, origin)
		if err != nil || args[0] == "NULL" {
			return "", false
		}
		if function == "TIME_FLOOR" {
			return instant(g.Floor(integer(0)))
		}
		return instant(g.Ceil(integer(0)))
	case "FLOOR", "CEIL", "DATE_TRUNC":
		if len(args) != 2 || args[0] == "NULL" || args[1] == "NULL" {
			return "", false
		}
		if function == "DATE_TRUNC" {
			args[0], args[1] = args[1], args[0]
		}
		u, ok := ParseUnit(strings.TrimSuffix(strings.ToUpper(args[1]), "S"))
		p, ok2 := u.Period()
		if !ok || !ok2 {
			return "", false
		}
		g, err := PeriodGranularity(p, zone, nil)
		if err != nil {
			return "", false
		}
		if function == "CEIL" {
			return instant(g.Ceil(integer(0)))
		}
		return instant(g.Floor(integer(0)))
	case "TIME_SHIFT":
		p, err := ParsePeriod(args[1])
		if err != nil || args[2] == "NULL" || args[0] == "NULL" {
			return "", false
		}
		return instant(p.Add(integer(0), local, integer(2)))
	case "TIMESTAMPADD", "TIMESTAMPDIFF":
		u, ok := ParseUnit(args[0])
		if !ok || args[1] == "NULL" || args[2] == "NULL" {
			return "", false
		}
		if function == "TIMESTAMPADD" {
			ms, err := TimestampAdd(u, integer(1), integer(2), zone)
			if err != nil {
				return "", false
			}
			return instant(ms)
		}
		n, err := TimestampDiff(u, integer(1), integer(2), zone)
		return number(n), err == nil
	case "EXTRACT", "TIME_EXTRACT":
		if function == "EXTRACT" {
			args[0], args[1] = args[1], args[0]
		}
		u, ok := ParseUnit(args[1])
		v, err := Extract(u, integer(0), local)
		return number(v), ok && err == nil && args[0] != "NULL"
	case "TIME_FORMAT":
		if len(args) < 2 || args[1] == "NULL" || args[0] == "NULL" {
			return "", false
		}
		p, err := CompilePattern(args[1])
		if err != nil {
			return "", false
		}
		return p.Format(integer(0), local), true
	case "TIME_PARSE":
		var ms int64
		var ok bool
		if len(args) < 2 || args[1] == "NULL" {
			ms, ok = ParseTimestamp(args[0], local)
		} else {
			p, err := CompilePattern(args[1])
			if err != nil {
				return "", false
			}
			ms, ok = p.Parse(args[0], local)
		}
		if !ok {
			return "null", true
		}
		return instant(ms)
	case "MILLIS_TO_TIMESTAMP":
		return instant(integer(0))
	}
	return "", false
}
