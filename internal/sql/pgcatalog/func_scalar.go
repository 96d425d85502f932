package pgcatalog

import (
	"crypto/md5" //nolint:gosec // the function md5 is for clients, nothing is kept secret by it
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/sql/pgtype"
)

const (
	anyT  = pgtype.Any
	arrT  = pgtype.AnyArray
	textT = pgtype.Text
	intT  = pgtype.Int4
	longT = pgtype.Int8
	oidT  = pgtype.OIDType
	boolT = pgtype.Bool
	nameT = pgtype.NameType
)

func types(list ...pgtype.OID) []pgtype.OID { return list }

func firstType(args []pgtype.OID) pgtype.OID { return args[0] }

// always gives the same.
func always(ret pgtype.OID, v any, args ...pgtype.OID) function {
	return function{args: args, ret: ret, nulls: true, of: func(*called) any { return v }}
}

// strings1 is a function of one text.
func strings1(f func(string) string) function {
	return function{args: types(textT), least: 1, ret: textT, of: func(c *called) any { return f(c.str(0)) }}
}

func trimmer(f func(s, set string) string) function {
	return function{args: types(textT, textT), least: 1, ret: textT, of: func(c *called) any {
		set := " "
		if len(c.args) > 1 {
			set = c.str(1)
		}
		return f(c.str(0), set)
	}}
}

func rounding(f func(float64) float64) function {
	return function{args: types(anyT), least: 1, typed: func(a []pgtype.OID) pgtype.OID {
		if a[0].IsInteger() {
			return pgtype.Float8
		}
		return a[0]
	}, of: func(c *called) any {
		v := f(float(c.args[0]))
		if c.types[0] == pgtype.NumericT {
			return pgtype.Numeric(strconv.FormatFloat(v, 'f', -1, 64))
		}
		return v
	}}
}

func init() {
	maps.Copy(functions, map[string]function{
		"lower": strings1(strings.ToLower), "upper": strings1(strings.ToUpper), "initcap": strings1(initcap),
		"reverse": strings1(reverse), "md5": strings1(func(s string) string { h := md5.Sum([]byte(s)); return hex.EncodeToString(h[:]) }),
		//nolint:gosec // as above
		"quote_ident": strings1(quoteIdent), "quote_literal": strings1(quoteLiteral),
		"quote_nullable": {args: types(textT), least: 1, ret: textT, nulls: true, of: func(c *called) any {
			if c.args[0] == nil {
				return "NULL"
			}
			return quoteLiteral(c.str(0))
		}},
		"length": count(utf8.RuneCountInString), "char_length": count(utf8.RuneCountInString), "character_length": count(utf8.RuneCountInString),
		"octet_length": count(func(s string) int { return len(s) }),
		"substring":    {args: types(textT, anyT, intT), least: 2, ret: textT, of: substring},
		"substr":       {args: types(textT, intT, intT), least: 2, ret: textT, of: substring},
		"left":         {args: types(textT, intT), least: 2, ret: textT, of: func(c *called) any { return side(c, true) }},
		"right":        {args: types(textT, intT), least: 2, ret: textT, of: func(c *called) any { return side(c, false) }},
		"btrim":        trimmer(strings.Trim), "ltrim": trimmer(strings.TrimLeft), "rtrim": trimmer(strings.TrimRight),
		"replace": {args: types(textT, textT, textT), least: 3, ret: textT, of: func(c *called) any {
			return strings.ReplaceAll(c.str(0), c.str(1), c.str(2))
		}},
		"position": {args: types(textT, textT), least: 2, ret: intT, of: func(c *called) any { return index(c.str(1), c.str(0)) }},
		"strpos":   {args: types(textT, textT), least: 2, ret: intT, of: func(c *called) any { return index(c.str(0), c.str(1)) }},
		"concat":   {args: types(textT), more: true, ret: textT, nulls: true, of: func(c *called) any { return joined(c.args, "") }},
		"concat_ws": {args: types(textT, textT), least: 1, more: true, ret: textT, nulls: true, of: func(c *called) any {
			return joined(c.args[1:], c.str(0))
		}},
		"split_part": {args: types(textT, textT, intT), least: 3, ret: textT, of: splitPart},
		"starts_with": {args: types(textT, textT), least: 2, ret: boolT, of: func(c *called) any {
			return strings.HasPrefix(c.str(0),
				c.str(1))
		}},
		"repeat": {args: types(textT, intT), least: 2, ret: textT, of: func(c *called) any {
			n := max(c.num(1), 0)
			if n*int64(len(c.str(0))) > 1<<24 {
				fail(c.at, "54000", "requested length too large")
			}
			return strings.Repeat(c.str(0), int(n))
		}},
		"ascii": {args: types(textT), least: 1, ret: intT, of: func(c *called) any {
			r,
				_ := utf8.DecodeRuneInString(c.str(0))
			return int64(r)
		}},
		"chr": {args: types(intT), least: 1, ret: textT, of: func(c *called) any { return string(rune(c.num(0))) }},
		"regexp_replace": {args: types(textT, textT, textT, textT), least: 3, ret: textT, of: func(c *called) any {
			return regexpReplace(c)
		}},
		"regexp_match": {args: types(textT, textT, textT), least: 2, ret: 1009, of: func(c *called) any {
			m := pattern(c.str(1), strings.Contains(c.str(2), "i"), c.at).FindStringSubmatch(c.str(0))
			if m == nil {
				return nil
			}
			if len(m) > 1 {
				m = m[1:]
			}
			return pgtype.Strings(textT, m)
		}},
		"regexp_split_to_array": {args: types(textT, textT), least: 2, ret: 1009, of: func(c *called) any {
			return pgtype.Strings(textT, pattern(c.str(1), false, c.at).Split(c.str(0), -1))
		}},
		"parse_ident": {args: types(textT, boolT), least: 1, ret: 1009, of: func(c *called) any {
			return pgtype.Strings(textT, splitName(c.str(0)))
		}},
		"format": {args: types(textT, textT), least: 1, more: true, ret: textT, nulls: true, of: format},
		"abs": {args: types(anyT), least: 1, typed: firstType, of: func(c *called) any {
			if compare(c.args[0], int64(0)) < 0 {
				return represent(arithmetic("-", int64(0), c.args[0], c.at), c.types[0])
			}
			return c.args[0]
		}},
		"ceil": rounding(math.Ceil), "ceiling": rounding(math.Ceil), "floor": rounding(math.Floor), "sqrt": rounding(math.Sqrt),
		"trunc": rounding(math.Trunc),
		"round": {args: types(anyT, intT), least: 1, typed: func(a []pgtype.OID) pgtype.OID {
			if a[0] == pgtype.Float8 {
				return a[0]
			}
			return pgtype.NumericT
		}, of: func(c *called) any {
			p := math.Pow(10, float64(c.num(1)))
			v := math.Round(float(c.args[0])*p) / p
			if c.types[0] == pgtype.Float8 {
				return v
			}
			return pgtype.Numeric(strconv.FormatFloat(v, 'f', int(max(c.num(1), 0)), 64))
		}},
		"mod": {args: types(anyT, anyT), least: 2, typed: firstType, of: func(c *called) any {
			return arithmetic("%", c.args[0], c.args[1],
				c.at)
		}},
		"power": {args: types(anyT, anyT), least: 2, ret: pgtype.Float8, of: func(c *called) any {
			return math.Pow(float(c.args[0]), float(c.args[1]))
		}},
	})
}

func init() {
	maps.Copy(functions, map[string]function{
		"array_length": dimension(func(a *pgtype.Array) int { return len(a.Items) }),
		"array_upper":  dimension(func(a *pgtype.Array) int { return a.Lower + len(a.Items) - 1 }),
		"array_lower":  dimension(func(a *pgtype.Array) int { return a.Lower }),
		"array_ndims": {args: types(arrT), least: 1, ret: intT, of: func(c *called) any {
			if len(c.arr(0).Items) == 0 {
				return nil
			}
			return int64(1)
		}},
		"cardinality":    {args: types(arrT), least: 1, ret: intT, of: func(c *called) any { return int64(len(flatten(c.arr(0)))) }},
		"array_position": {args: types(arrT, anyT), least: 2, ret: intT, of: arrayPosition},
		"array_append": {args: types(arrT, anyT), least: 2, typed: firstType, nulls: true, of: func(c *called) any {
			a := c.arr(0)
			return &pgtype.Array{Elem: pgtype.ElementOf(c.types[0]), Lower: 1, Items: append(slices.Clip(a.Items), c.args[1])}
		}},
		"array_cat": {args: types(arrT, arrT), least: 2, typed: firstType, nulls: true, of: func(c *called) any {
			a := c.arr(0)
			return &pgtype.Array{Elem: pgtype.ElementOf(c.types[0]), Lower: 1, Items: append(slices.Clip(a.Items), c.arr(1).Items...)}
		}},
		"array_remove": {args: types(arrT, anyT), least: 2, typed: firstType, of: func(c *called) any {
			out := &pgtype.Array{Elem: c.arr(0).Elem, Lower: 1}
			for _, v := range c.arr(0).Items {
				if v == nil || compare(v, convert(c.s, c.args[1], c.types[1], out.Elem, c.at)) != 0 {
					out.Items = append(out.Items, v)
				}
			}
			return out
		}},
		"array_to_string": {args: types(arrT, textT, textT), least: 2, ret: textT, nulls: true, of: arrayToString},
		"string_to_array": {args: types(textT, textT, textT), least: 2, ret: 1009, of: func(c *called) any {
			if c.str(0) == "" {
				return pgtype.NewArray(textT)
			}
			return pgtype.Strings(textT, strings.Split(c.str(0), c.str(1)))
		}},
		"row_to_json": {args: types(anyT), least: 1, ret: pgtype.JSON, of: func(c *called) any { return toJSON(c.args[0], c.types[0], c.s) }},
		"to_json":     {args: types(anyT), least: 1, ret: pgtype.JSON, of: func(c *called) any { return toJSON(c.args[0], c.types[0], c.s) }},
		"to_jsonb":    {args: types(anyT), least: 1, ret: pgtype.JSONB, of: func(c *called) any { return toJSON(c.args[0], c.types[0], c.s) }},
		"json_build_object": {args: types(anyT), more: true, ret: pgtype.JSON, nulls: true, of: func(c *called) any {
			var parts []string
			for i := 0; i+1 < len(c.args); i += 2 {
				parts = append(parts, toJSON(text(c.args[i], c.types[i], c.s), textT, c.s)+" : "+toJSON(c.args[i+1], c.types[i+1], c.s))
			}
			return "{" + strings.Join(parts, ", ") + "}"
		}},

		"now":                   instant(func(s *Session) time.Time { return s.Began }),
		"transaction_timestamp": instant(func(s *Session) time.Time { return s.Began }),
		"current_timestamp":     instant(func(s *Session) time.Time { return s.Began }),
		"statement_timestamp":   instant(func(s *Session) time.Time { return s.Now }),
		"clock_timestamp":       instant(func(s *Session) time.Time { return s.Now }),
		"localtimestamp": {ret: pgtype.TimestampT, of: func(c *called) any {
			return toTime(c.s, pgtype.Timestamp(c.s.Began.UnixMicro()), pgtype.Timestamptz, pgtype.TimestampT)
		}},
		"current_date": {ret: pgtype.DateType, of: func(c *called) any {
			return toTime(c.s, pgtype.Timestamp(c.s.Began.UnixMicro()), pgtype.Timestamptz, pgtype.DateType)
		}},
		"date_trunc": {args: types(textT, anyT, textT), least: 2, typed: func(a []pgtype.OID) pgtype.OID {
			if a[1] == pgtype.TimestampT || a[1] == pgtype.IntervalT {
				return a[1]
			}
			return pgtype.Timestamptz
		}, of: dateTrunc},
		"extract":   {args: types(textT, anyT), least: 2, ret: pgtype.NumericT, of: func(c *called) any { return extract(c, true) }},
		"date_part": {args: types(textT, anyT), least: 2, ret: pgtype.Float8, of: func(c *called) any { return extract(c, false) }},
		"timezone": {args: types(textT, anyT), least: 2, typed: func(a []pgtype.OID) pgtype.OID {
			if a[1] == pgtype.Timestamptz {
				return pgtype.TimestampT
			}
			return pgtype.Timestamptz
		}, of: atZone},
		"to_timestamp": {args: types(pgtype.Float8), least: 1, ret: pgtype.Timestamptz, of: func(c *called) any {
			return pgtype.Timestamp(float(c.args[0]) * 1e6)
		}},
		"age": {args: types(pgtype.Timestamptz, pgtype.Timestamptz), least: 1, ret: pgtype.IntervalT, of: func(c *called) any {
			if len(c.args) == 1 {
				return arithmetic("-", pgtype.Timestamp(c.s.Began.Truncate(24*time.Hour).UnixMicro()), c.args[0], c.at)
			}
			return arithmetic("-", c.args[0], c.args[1], c.at)
		}},
		"to_char": {args: types(anyT, textT), least: 2, ret: textT, of: toChar},
	})
}

func count(f func(string) int) function {
	return function{args: types(textT), least: 1, ret: intT, of: func(c *called) any { return int64(f(c.str(0))) }}
}

func dimension(f func(a *pgtype.Array) int) function {
	return function{args: types(arrT, intT), least: 2, ret: intT, of: func(c *called) any {
		a := c.arr(0)
		for n := c.num(1); n > 1 && len(a.Items) > 0; n-- {
			inner, ok := a.Items[0].(*pgtype.Array)
			if !ok {
				return nil
			}
			a = inner
		}
		if len(a.Items) == 0 || c.num(1) < 1 {
			return nil
		}
		return int64(f(a))
	}}
}

func instant(f func(s *Session) time.Time) function {
	return function{args: types(intT), ret: pgtype.Timestamptz, of: func(c *called) any { return pgtype.Timestamp(f(c.s).UnixMicro()) }}
}

func index(s, sub string) int64 {
	before, _, found := strings.Cut(s, sub)
	if !found {
		return 0
	}
	return int64(utf8.RuneCountInString(before) + 1)
}

func initcap(s string) string {
	up := true
	return strings.Map(func(r rune) rune {
		letter := r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
		first := up
		up = !letter
		if first {
			return []rune(strings.ToUpper(string(r)))[0]
		}
		return []rune(strings.ToLower(string(r)))[0]
	}, s)
}

func reverse(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

func quoteLiteral(s string) string {
	out := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		out = "E" + strings.ReplaceAll(out, `\`, `\\`)
	}
	return out
}

func substring(c *called) any {
	s := []rune(c.str(0))
	if p, ok := c.args[1].(string); ok {
		m := pattern(p, false, c.at).FindStringSubmatch(c.str(0))
		if m == nil {
			return nil
		}
		return m[min(1, len(m)-1)]
	}
	from, to := c.num(1)-1, int64(len(s))
	if len(c.args) > 2 {
		if c.num(2) < 0 {
			fail(c.at, "22011", "negative substring length not allowed")
		}
		to = min(to, from+c.num(2))
	}
	from = max(from, 0)
	if from >= to {
		return ""
	}
	return string(s[from:to])
}

func side(c *called, left bool) any {
	r := []rune(c.str(0))
	n := c.num(1)
	if n < 0 {
		n = max(int64(len(r))+n, 0)
	}
	n = min(n, int64(len(r)))
	if left {
		return string(r[:n])
	}
	return string(r[int64(len(r))-n:])
}

func joined(args []any, between string) string {
	var parts []string
	for _, a := range args {
		if s, ok := a.(string); ok {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, between)
}

func splitPart(c *called) any {
	parts := strings.Split(c.str(0), c.str(1))
	n := c.num(2)
	if n < 0 {
		n += int64(len(parts)) + 1
	}
	if n < 1 || n > int64(len(parts)) {
		return ""
	}
	return parts[n-1]
}

func regexpReplace(c *called) any {
	re := pattern(c.str(1), strings.Contains(c.str(3), "i"), c.at)
	with := strings.ReplaceAll(c.str(2), "$", "$$")
	for d := '0'; d <= '9'; d++ {
		with = strings.ReplaceAll(with, `\`+string(d), "${"+string(d)+"}")
	}
	with = strings.ReplaceAll(with, `\&`, "${0}")
	if strings.Contains(c.str(3), "g") {
		return re.ReplaceAllString(c.str(0), with)
	}
	m := re.FindStringSubmatchIndex(c.str(0))
	if m == nil {
		return c.str(0)
	}
	return c.str(0)[:m[0]] + string(re.ExpandString(nil, with, c.str(0), m)) + c.str(0)[m[1]:]
}

func format(c *called) any {
	if c.args[0] == nil {
		return nil
	}
	var b strings.Builder
	s, at := c.str(0), 1
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] == '%' {
			b.WriteByte('%')
			continue
		}
		if at >= len(c.args) {
			fail(c.at, "22023", "too few arguments for format()")
		}
		switch s[i] {
		case 's':
			b.WriteString(c.str(at))
		case 'I':
			b.WriteString(quoteIdent(c.str(at)))
		case 'L':
			if c.args[at] == nil {
				b.WriteString("NULL")
			} else {
				b.WriteString(quoteLiteral(c.str(at)))
			}
		default:
			fail(c.at, "22023", "unrecognized format() type specifier %q", string(s[i]))
		}
		at++
	}
	return b.String()
}

func arrayPosition(c *called) any {
	a := c.arr(0)
	want := convert(c.s, c.args[1], c.types[1], a.Elem, c.at)
	for i, v := range a.Items {
		if v != nil && compare(v, want) == 0 {
			return int64(a.Lower + i)
		}
	}
	return nil
}

func arrayToString(c *called) any {
	if c.args[0] == nil || c.args[1] == nil {
		return nil
	}
	var parts []string
	for _, v := range flatten(c.arr(0)) {
		switch {
		case v != nil:
			parts = append(parts, text(v, c.arr(0).Elem, c.s))
		case len(c.args) > 2 && c.args[2] != nil:
			parts = append(parts, c.str(2))
		}
	}
	return strings.Join(parts, c.str(1))
}

// clock returns a point in time as the clock of the session shows it.
func clock(c *called, i int) time.Time {
	switch v := c.args[i].(type) {
	case pgtype.Timestamp:
		if c.types[i] == pgtype.Timestamptz && c.s.Zone != nil {
			return v.Time().In(c.s.Zone)
		}
		return v.Time()
	case pgtype.Date:
		return time.Unix(int64(v)*86400, 0).UTC()
	case string:
		v2 := convert(c.s, v, textT, pgtype.Timestamptz, c.at)
		return v2.(pgtype.Timestamp).Time()
	}
	fail(c.at, "42883", "a time is wanted, not %s", c.types[i].Name())
	return time.Time{}
}

func dateTrunc(c *called) any {
	t := clock(c, 1)
	if len(c.args) > 2 {
		zone, err := time.LoadLocation(c.str(2))
		if err != nil {
			fail(c.at, "22023", "time zone %q not recognized", c.str(2))
		}
		t = t.In(zone)
	}
	y, m, d := t.Date()
	h, mi, s := t.Clock()
	switch strings.TrimSuffix(strings.ToLower(c.str(0)), "s") {
	case "microsecond":
	case "millisecond":
		return pgtype.Timestamp(t.Truncate(time.Millisecond).UnixMicro())
	case "second":
		t = time.Date(y, m, d, h, mi, s, 0, t.Location())
	case "minute":
		t = time.Date(y, m, d, h, mi, 0, 0, t.Location())
	case "hour":
		t = time.Date(y, m, d, h, 0, 0, 0, t.Location())
	case "day":
		t = time.Date(y, m, d, 0, 0, 0, 0, t.Location())
	case "week":
		t = time.Date(y, m, d-(int(t.Weekday())+6)%7, 0, 0, 0, 0, t.Location())
	case "month":
		t = time.Date(y, m, 1, 0, 0, 0, 0, t.Location())
	case "quarter":
		t = time.Date(y, m-(m-1)%3, 1, 0, 0, 0, 0, t.Location())
	case "year":
		t = time.Date(y, 1, 1, 0, 0, 0, 0, t.Location())
	case "decade":
		t = time.Date(y-y%10, 1, 1, 0, 0, 0, 0, t.Location())
	default:
		fail(c.at, "22023", "unit %q not recognized for type timestamp with time zone", c.str(0))
	}
	return pgtype.Timestamp(t.UnixMicro())
}

func extract(c *called, exact bool) any {
	number := func(v float64) any {
		if exact {
			return pgtype.Numeric(strconv.FormatFloat(v, 'f', -1, 64))
		}
		return v
	}
	unit := strings.TrimSuffix(strings.ToLower(c.str(0)), "s")
	if v, ok := c.args[1].(pgtype.Interval); ok {
		switch unit {
		case "epoch":
			if exact {
				return pgtype.Numeric(strconv.FormatFloat(float64(intervalMicros(v))/1e6, 'f', 6, 64))
			}
			return float64(intervalMicros(v)) / 1e6
		case "day":
			return number(float64(v.Days))
		case "hour":
			return number(float64(v.Micros / 3600e6))
		case "minute":
			return number(float64(v.Micros / 60e6 % 60))
		case "second":
			return number(float64(v.Micros%60e6) / 1e6)
		case "month":
			return number(float64(v.Months % 12))
		case "year":
			return number(float64(v.Months / 12))
		}
	}
	t := clock(c, 1)
	switch unit {
	case "epoch":
		if exact {
			return pgtype.Numeric(fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000))
		}
		return float64(t.UnixMicro()) / 1e6
	case "year":
		return number(float64(t.Year()))
	case "month":
		return number(float64(t.Month()))
	case "day":
		return number(float64(t.Day()))
	case "hour":
		return number(float64(t.Hour()))
	case "minute":
		return number(float64(t.Minute()))
	case "second":
		return number(float64(t.Second()) + float64(t.Nanosecond()/1000)/1e6)
	case "dow":
		return number(float64(t.Weekday()))
	case "isodow":
		return number(float64((int(t.Weekday())+6)%7 + 1))
	case "doy":
		return number(float64(t.YearDay()))
	case "week":
		_, w := t.ISOWeek()
		return number(float64(w))
	case "quarter":
		return number(float64((t.Month()-1)/3 + 1))
	case "timezone":
		_, off := t.Zone()
		return number(float64(off))
	}
	fail(c.at, "22023", "unit %q not recognized", c.str(0))
	return nil
}

func atZone(c *called) any {
	zone, err := time.LoadLocation(c.str(0))
	if err != nil {
		fail(c.at, "22023", "time zone %q not recognized", c.str(0))
	}
	s := *c.s
	s.Zone = zone
	if c.types[1] == pgtype.Timestamptz {
		return toTime(&s, c.args[1], pgtype.Timestamptz, pgtype.TimestampT)
	}
	return toTime(&s, convert(&s, c.args[1], c.types[1], pgtype.TimestampT, c.at), pgtype.TimestampT, pgtype.Timestamptz)
}

var charForms = strings.NewReplacer("YYYY", "2006", "yyyy", "2006", "YY", "06", "MM", "01", "mm", "01", "DD", "02", "dd", "02", "HH24",
	"15",
	"hh24", "15", "HH12", "03", "MI", "04", "mi", "04", "SS", "05", "ss", "05", "MS", "000", "Month", "January", "Mon", "Jan", "Day", "Monday",
	"Dy", "Mon", "AM", "PM", "PM", "PM", "TZ", "MST")

func toChar(c *called) any {
	switch c.args[0].(type) {
	case pgtype.Timestamp, pgtype.Date:
		return clock(c, 0).Format(charForms.Replace(c.str(1)))
	}
	return text(c.args[0], c.types[0], c.s)
}
