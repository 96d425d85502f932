package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// oddFile is a file that tempts a loader to change its values.
type oddFile struct {
	name string
	// file is the name of the file; text what is in it, others further files with their texts.
	file, text string
	others     map[string]string
	args       []string
	// ask is the list of a SELECT over the table, in the order of time; want the rows as JSON.
	ask, want string
	// fails is what the command says when it refuses to load; says what it says beside loading.
	fails, says string
}

// dated puts a column of times before others, and the rows in the order that they have.
func dated(separator, end, names string, rows ...string) string {
	var b strings.Builder
	b.WriteString("ts" + separator + names + end)
	for i, r := range rows {
		fmt.Fprintf(&b, "2024-01-%02d%s%s%s", i+1, separator, r, end)
	}
	return b.String()
}

func oddNumbers() []oddFile {
	csv := func(name, want string, values ...string) oddFile {
		return oddFile{name: name, file: "n.csv", text: dated(",", "\n", "v", values...), ask: "v", want: want}
	}
	long := make([]string, 0, 20_001)
	for i := range 20_000 {
		long = append(long, fmt.Sprint(i))
	}
	late := dated(",", "\n", "a")
	for i, v := range append(long, "1.75") {
		late += fmt.Sprintf("2024-01-01T%02d:%02d:%02d,%s\n", i/3600, i/60%60, i%60, v)
	}
	return []oddFile{
		csv("whole numbers", `[[1],[-2],[9223372036854775807]]`, "1", "-2", "9223372036854775807"),
		csv("fractions late", `[[1.0],[2.5]]`, "1", "2.5"),
		csv("trailing zeros of money", `[[1.5],[2.75],[3.0]]`, "1.50", "2.75", "3.00"),
		csv("versions", `[["1.9"],["1.10"],["1.2"]]`, "1.9", "1.10", "1.2"),
		csv("leading zeros", `[["007"],["12"]]`, "007", "12"),
		csv("hex pairs", `[["10"],["5d"],["7f"]]`, "10", "5d", "7f"),
		csv("codes with an e", `[["1e5"],["123e4567"],["12E3"]]`, "1e5", "123e4567", "12E3"),
		csv("exponents of programs", `[[1e-07],[1.5e+20],[2.0]]`, "1e-07", "1.5e+20", "2.0"),
		csv("hexadecimal", `[["0x1F"],["0x20"]]`, "0x1F", "0x20"),
		csv("colours", `[["#00ff00"],["#123456"]]`, "#00ff00", "#123456"),
		csv("phone numbers", `[["+4930123"],["+4940456"]]`, "+4930123", "+4940456"),
		csv("beyond 64 bits", `[["1"],["9223372036854775808"],["99999999999999999999"]]`, "1", "9223372036854775808", "99999999999999999999"),
		csv("beyond 53 bits beside fractions", `[["9007199254740993"],["0.5"]]`, "9007199254740993", "0.5"),
		csv("beyond 53 bits", `[[9007199254740993],[1]]`, "9007199254740993", "1"),
		csv("more digits than a double has", `[["0.12345678901234567891"],["1"]]`, "0.12345678901234567891", "1"),
		csv("digits of a double", `[[0.1],[1e+23]]`, "0.1000000000000000055511151231257827", "1e+23"),
		csv("too large for a double", `[["1e+400"],["1"]]`, "1e+400", "1"),
		csv("percent and money", `[["5%"],["$3"]]`, "5%", "$3"),
		csv("NA among numbers", `[["1"],["NA"]]`, "1", "NA"),
		csv("words for no number", `[["NaN"],["Infinity"],["1"]]`, "NaN", "Infinity", "1"),
		csv("underscores", `[["1_000"],["2"]]`, "1_000", "2"),
		csv("suffixes of Java", `[["1L"],["2f"],["3d"]]`, "1L", "2f", "3d"),
		csv("booleans", `[["true"],["false"],["TRUE"]]`, "true", "false", "TRUE"),
		csv("empty fields", `[[1],[null],[3]]`, "1", "", "3"),
		csv("grouped thousands", `[["1,234"],["5"]]`, `"1,234"`, "5"),
		csv("quoted numbers", `[[1],[2]]`, `"1"`, `"2"`),
		csv("minus alone", `[["-"],["5"]]`, "-", "5"),
		csv("times of day", `[["10:30"],["11:45"]]`, "10:30", "11:45"),
		{name: "a fraction after 20,000 whole numbers", file: "late.csv", text: late, ask: "a", want: "20001 rows, the last [1.75]"},
		{name: "text after 20,000 whole numbers", file: "late.csv", text: strings.Replace(late, ",1.75\n", ",ABC\n", 1), ask: "a",
			want: `20001 rows, the last ["ABC"]`, says: `1 value of 20001`},
		{name: "a type that does not fit", file: "n.csv", text: dated(",", "\n", "v", "1", "2.5", "abc"), args: []string{"--column", "v=BIGINT"},
			fails: `2 values of "v" did not fit BIGINT; first in `},
		{name: "a type that does not fit, as NULL", file: "n.csv", text: dated(",", "\n", "v", "1", "2.5", "abc", "9223372036854775807", "123456789012345678", "1e3", "007"),
			args: []string{"--column", "v=BIGINT", "--on-misfit", "null"}, ask: "v",
			want: `[[1],[null],[null],[9223372036854775807],[123456789012345678],[1000],[7]]`, says: "2 values of"},
		{name: "a type of numbers as NULL", file: "n.csv", text: dated(",", "\n", "v", "1", "2.5", "abc", "1e5"),
			args: []string{"--column", "v=DOUBLE", "--on-misfit", "null"}, ask: "v", want: `[[1.0],[2.5],[null],[1e+05]]`, says: "1 value of"},
		{name: "codes that are numbers, as the user says", file: "n.csv", text: dated(",", "\n", "v", "007", "+5", "1e3", "2."), args: []string{"--column", "v=BIGINT"},
			ask: "v", want: `[[7],[5],[1000],[2]]`},
		{name: "a type of text", file: "n.csv", text: dated(",", "\n", "v", "10115", "80331"), args: []string{"--column", "v=VARCHAR"}, ask: "v",
			want: `[["10115"],["80331"]]`},
	}
}

func oddDelimited() []oddFile {
	return []oddFile{
		{name: "semicolons and decimal commas", file: "de.csv", text: dated(";", "\n", "preis", "1,50", "2,75"), ask: "preis", want: `[["1,50"],["2,75"]]`},
		{name: "semicolons and quotes", file: "q.csv", text: dated(";", "\n", "a;b", `"x;y";1`, `"say ""hi""";2`), ask: "a, b", want: `[["x;y",1],["say \"hi\"",2]]`},
		{name: "bars", file: "q.txt", text: dated("|", "\n", "a|b", "x,y|1", "z,w|2"), ask: "a, b", want: `[["x,y",1],["z,w",2]]`},
		{name: "tabs", file: "q.tsv", text: dated("\t", "\n", "a\tb", "x \"y\"\t1", "z\t2"), ask: "a, b", want: `[["x \"y\"",1],["z",2]]`},
		{name: "tabs and quotes", file: "q.tsv", text: dated("\t", "\n", "a\tb", "\"x\ty\"\t1", "z\t2"), ask: "a, b", want: `[["x\ty",1],["z",2]]`},
		{name: "another delimiter", file: "q.csv", text: dated("^", "\n", "a^b", `"x^y"^1`), args: []string{"--delimiter", "^"}, ask: "a, b", want: `[["x^y",1]]`},
		{name: "ends of lines of Windows", file: "w.csv", text: dated(",", "\r\n", "a,b", "x,1", "y,2"), ask: "a, b", want: `[["x",1],["y",2]]`},
		{name: "ends of lines of old Macs", file: "m.csv", text: dated(",", "\r", "a,b", "x,1", "y,2"), ask: "a, b", want: `[["x",1],["y",2]]`},
		{name: "newlines within quotes", file: "q.csv", text: dated(",", "\n", "a,b", "\"x\ny\",1", "z,2"), ask: "a, b", want: `[["x\ny",1],["z",2]]`},
		{name: "a byte order mark", file: "b.csv", text: "\ufeff" + dated(",", "\n", "a", "ü"), ask: "a", want: `[["ü"]]`},
		{name: "no end of the last line", file: "e.csv", text: strings.TrimSuffix(dated(",", "\n", "a", "1", "2"), "\n"), ask: "a", want: `[[1],[2]]`},
		{name: "names twice", file: "d.csv", text: dated(",", "\n", "a,a", "1,2"), fails: "[a]"},
		{name: "a name that is empty", file: "p.csv", text: ",ts,a\n0,2024-01-01,5\n1,2024-01-02,6\n", ask: "column_1, a", want: `[[0,5],[1,6]]`},
		{name: "names that are numbers", file: "y.csv", text: "ts,2019,2020\n2024-01-01,5,6\n", ask: `"2019", "2020"`, want: `[[5,6]]`},
		{name: "names with blanks and quotes", file: "y.csv", text: "ts,\"a \"\"b\"\"\",c d\n2024-01-01,5,6\n", ask: `"a ""b""", "c d"`, want: `[[5,6]]`},
		{name: "no names", file: "h.csv", text: "2024-01-01,x,5\n2024-01-02,y,6\n", ask: "column_2, column_3", want: `[["x",5],["y",6]]`},
		{name: "no names, and wider records later", file: "h.csv", text: "2024-01-01,x\n2024-01-02,y,6\n", ask: "column_2, column_3", want: `[["x",null],["y",6]]`},
		{name: "no names, said so", file: "h.csv", text: "a,2024-01-01\nb,2024-01-02\n", args: []string{"--header", "no"}, ask: "column_1", want: `[["a"],["b"]]`},
		{name: "more fields than names", file: "x.csv", text: dated(",", "\n", "a", "1", "2,3"), fails: "more fields than there are names"},
		{name: "more fields than names, as NULL", file: "x.csv", text: dated(",", "\n", "a", "1", "2,3"), args: []string{"--on-misfit", "null"}, ask: "a",
			want: `[[1],[2]]`, says: "1 record has more fields"},
		{name: "a delimiter at the end", file: "x.csv", text: dated(",", "\n", "a", "1,", "2,"), ask: "a", want: `[[1],[2]]`},
		{name: "fewer fields than names", file: "x.csv", text: dated(",", "\n", "a,b", "1", "2,3"), ask: "a, b", want: `[[1,null],[2,3]]`, says: "fewer fields"},
		{name: "a quote that is not closed", file: "x.csv", text: dated(",", "\n", "a", "x", "\"y"), fails: "a quote is not closed"},
		{name: "Latin 1", file: "l.csv", text: dated(",", "\n", "a", "M\xfcnchen"), fails: "UTF-8"},
		{name: "Latin 1, as it may be", file: "l.csv", text: dated(",", "\n", "a", "M\xfcnchen"), args: []string{"--on-misfit", "null"}, ask: "a",
			want: `[["M` + "\ufffd" + `nchen"]]`, says: "1 value is not in UTF-8"},
		{name: "UTF-16", file: "u.csv", text: encodeUTF16("\ufeff" + dated(",", "\n", "a", "1")), fails: "UTF-16"},
		{name: "UTF-16 without a mark", file: "u.csv", text: encodeUTF16(dated(",", "\n", "a", "1")), fails: "UTF-16"},
		{name: "a zero byte", file: "z.csv", text: dated(",", "\n", "a", "x\x00y"), fails: "zero byte"},
		{name: "the character of lists", file: "l.csv", text: dated(",", "\n", "a", "x\x01y", "z"), ask: "a", want: `[["x\u0001y"],["z"]]`},
		{name: "a second file with more columns and other types", file: "m1.csv", text: "date,a\n2024-01-01,1\n", others: map[string]string{
			"m2.csv": "date,a,b\n2024-01-02,2.5,x\n", "m3.csv": "b,date,a\ny,2024-01-03,3\n"}, ask: "a, b", want: `[[1.0,null],[2.5,"x"],[3.0,"y"]]`},
		{name: "a second file without names", file: "m1.csv", text: "date,a\n2024-01-01,1\n", others: map[string]string{"m2.csv": "2024-01-02,2\n"},
			fails: "none of the names"},
		{name: "files of two kinds", file: "m1.csv", text: "date,a\n2024-01-01,1\n", others: map[string]string{"m2.json": `{"date":"2024-01-01"}`},
			fails: "load them one after the other"},
	}
}

func encodeUTF16(text string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}

func oddJSON() []oddFile {
	lines := func(name, ask, want string, members ...string) oddFile {
		var b strings.Builder
		for i, m := range members {
			fmt.Fprintf(&b, "{\"ts\":\"2024-01-%02d\",%s}\n", i+1, m)
		}
		return oddFile{name: "JSON: " + name, file: "e.json", text: b.String(), ask: ask, want: want}
	}
	refused := func(f oddFile, fails string) oddFile { f.fails = fails; return f }
	return []oddFile{
		lines("whole numbers, then fractions", "v", `[[1.0],[2.5]]`, `"v":1`, `"v":2.5`),
		lines("numbers, then text", "v", `[["1"],["x"]]`, `"v":1`, `"v":"x"`),
		lines("a new member late", "v, w", `[[1,null],[2,"x"]]`, `"v":1`, `"v":2,"w":"x"`),
		lines("digits in strings", "v", `[["007"],["1"]]`, `"v":"007"`, `"v":"1"`),
		lines("beyond 53 bits", "v", `[[9007199254740993],[1]]`, `"v":9007199254740993`, `"v":1`),
		lines("beyond 53 bits beside fractions", "v", `[["9007199254740993"],["0.5"]]`, `"v":9007199254740993`, `"v":0.5`),
		lines("beyond 64 bits", "v", `[["99999999999999999999"],["1"]]`, `"v":99999999999999999999`, `"v":1`),
		lines("booleans", "v", `[["true"],["false"],[null]]`, `"v":true`, `"v":false`, `"v":null`),
		lines("objects", "JSON_VALUE(v, '$.a' RETURNING BIGINT) AS a, TO_JSON_STRING(v) AS t", `[[1,"{\"a\":1}"],[null,"{\"b\":[1,{\"c\":true}]}"]]`, `"v":{"a":1}`,
			`"v":{"b":[1,{"c":true}]}`),
		lines("objects beside scalars", "TO_JSON_STRING(v) AS t", `[["{\"a\":1}"],["7"],["\"x\""]]`, `"v":{"a":1}`, `"v":7`, `"v":"x"`),
		lines("lists", "v, w", `[["[1,2]","[\"a\"]"],["[]","[\"b\",\"c\"]"]]`, `"v":[1,2],"w":["a"]`, `"v":[],"w":["b","c"]`),
		lines("lists of numbers of two kinds", "v", `[["[1.0,2.5]"],["[3.0]"]]`, `"v":[1,2.5]`, `"v":[3]`),
		lines("lists of numbers and texts", "TO_JSON_STRING(v) AS t", `[["[1,\"a\"]"]]`, `"v":[1,"a"]`),
		lines("lists beside scalars", "TO_JSON_STRING(v) AS t", `[["[1,2]"],["3"]]`, `"v":[1,2]`, `"v":3`),
		lines("lists of lists", "TO_JSON_STRING(v) AS t", `[["[[1],[2,3]]"]]`, `"v":[[1],[2,3]]`),
		lines("large numbers deep in objects", "TO_JSON_STRING(v) AS t", `[["{\"a\":99999999999999999999}"]]`, `"v":{"a":99999999999999999999}`),
		lines("escapes", "v", `[["a\"b\\c\u00e4\ud83d\ude00"]]`, `"v":"a\"b\\c\u00e4\ud83d\ude00"`),
		lines("empty texts", "v", `[[""],["x"]]`, `"v":""`, `"v":"x"`),
		lines("names with dots and blanks", `"a.b", "c d"`, `[[1,"x"]]`, `"a.b":1,"c d":"x"`),
		refused(lines("fractions with more digits than a double", "v", "", `"v":0.12345678901234567891`), "more digits than DOUBLE keeps"),
		refused(lines("a member twice", "v", "", `"v":1,"v":2`), "names a member twice"),
		refused(lines("a member without a name", "v", "", `"":1,"v":2`), "empty name"),
		refused(lines("a line that is none", "v", "", `"v":1`, `"v":`), "1 record can't be read"),
		{name: "JSON: one array", file: "a.json", text: `[{"ts":"2024-01-01","v":1}, {"ts":"2024-01-02","v":2.5}]`, ask: "v", want: `[[1.0],[2.5]]`},
		{name: "JSON: spread over lines", file: "a.json", text: "{\n \"ts\": \"2024-01-01\",\n \"v\": [1,\n 2]\n}\n{\"ts\":\"2024-01-02\",\"v\":[3]}", ask: "v", want: `[["[1,2]"],["[3]"]]`},
		{name: "JSON: a line that is none, left out", file: "e.json", text: "{\"ts\":\"2024-01-01\",\"v\":1}\n{\"ts\":\n{\"ts\":\"2024-01-02\",\"v\":2}\n",
			args: []string{"--max-parse-exceptions", "1"}, ask: "v", want: `[[1],[2]]`, says: "1 record can't be read"},
	}
}

func oddTimes() []oddFile {
	times := func(name, want string, args []string, values ...string) oddFile {
		return oddFile{name: "time: " + name, file: "t.csv", text: "v,ts\n1," + strings.Join(values, "\n2,") + "\n", args: args, ask: "__time, v", want: want}
	}
	refused := func(f oddFile, fails string) oddFile { f.fails = fails; return f }
	saying := func(f oddFile, says string) oddFile { f.says = says; return f }
	day := `[["2024-01-01T00:00:00.000Z",1],["2024-01-02T00:00:00.000Z",2]]`
	stated := func(format string) []string { return []string{"--time", "ts", "--time-format", format} }
	return []oddFile{
		times("days as numbers", day, nil, "20240101", "20240102"),
		times("days as numbers, said so", day, stated("yyyyMMdd"), "20240101", "20240102"),
		times("seconds", day, nil, "1704067200", "1704153600"),
		times("milliseconds", day, nil, "1704067200000", "1704153600000"),
		times("microseconds", day, nil, "1704067200000000", "1704153600000000"),
		times("nanoseconds", day, nil, "1704067200000000000", "1704153600000000000"),
		times("seconds with a fraction", `[["2024-01-01T00:00:00.500Z",1],["2024-01-02T00:00:00.000Z",2]]`, nil, "1704067200.5", "1704153600"),
		times("seconds, said so", `[["1970-01-02T10:17:36.000Z",1]]`, stated("posix"), "123456"),
		times("minutes as numbers", `[["2024-01-01T10:30:00.000Z",1]]`, nil, "202401011030"),
		times("seconds of a day as numbers", `[["2024-01-01T10:30:15.000Z",1]]`, nil, "20240101103015"),
		times("years", `[["2024-01-01T00:00:00.000Z",1]]`, []string{"--time", "ts", "--partitioned-by", "YEAR"}, "2024"),
		refused(times("a number that is none", "", []string{"--time", "ts"}, "5", "6"), "can't be read as a time"),
		refused(times("a text that is none", "", []string{"--time", "ts"}, "2024-01-01", "soon"), "can't be read as a time"),
		refused(times("a record without", "", []string{"--time", "ts"}, "2024-01-01", ""), "no time"),
		saying(times("a record without, left out", `[["2024-01-01T00:00:00.000Z",1]]`, []string{"--time", "ts", "--on-misfit", "null"}, "2024-01-01", ""), "1 record has no time"),
		refused(times("a format that does not fit", "", stated("dd.MM.yyyy"), "01.01.2024", "2024-01-02"), "no time"),
		saying(times("day or month first", `[["2024-01-02T00:00:00.000Z",1],["2024-03-04T00:00:00.000Z",2]]`, nil, "01/02/2024", "03/04/2024"), "is a guess"),
		times("day first", `[["2024-02-01T00:00:00.000Z",1],["2024-12-13T00:00:00.000Z",2]]`, nil, "01/02/2024", "13/12/2024"),
		times("day first, said so", `[["2024-02-01T00:00:00.000Z",1]]`, stated("dd/MM/yyyy"), "01/02/2024"),
		times("dots", `[["2024-02-01T10:30:00.000Z",1]]`, nil, "01.02.2024 10:30"),
		times("offsets", `[["2023-12-31T22:00:00.000Z",1]]`, nil, "2024-01-01T00:00:00+02:00"),
		{name: "time: finer than milliseconds", file: "t.csv", text: "v,ts\n1,2024-01-01T00:00:00.123456Z\n", ask: "__time, ts",
			want: `[["2024-01-01T00:00:00.123Z","2024-01-01T00:00:00.123456Z"]]`, says: "more digits than milliseconds"},
		{name: "time: none", file: "t.csv", text: "v,w\n1,x\n", fails: "No time column was found"},
		{name: "time: none is wanted", file: "t.csv", text: "v,w\n1,x\n", args: []string{"--partitioned-by", "ALL"}, ask: "v, w", want: `[[1,"x"]]`},
		{name: "time: JSON seconds in strings", file: "t.json", text: `{"ts":"1704067200","v":1}`, ask: "__time, v", want: `[["2024-01-01T00:00:00.000Z",1]]`},
		{name: "time: other digits in JSON", file: "t.json", text: `{"ts":20240101,"v":1}`, ask: "__time, v", want: `[["2024-01-01T00:00:00.000Z",1]]`},
	}
}

func oddKinds(t *testing.T) []oddFile {
	plain := dated(",", "\n", "a,b", "x,1", "y,2")
	packed := func(name string, text string) oddFile {
		return oddFile{name: "packed: " + name, file: "data", text: text, ask: "a, b", want: `[["x",1],["y",2]]`}
	}
	refused := func(name, text, fails string) oddFile {
		return oddFile{name: "no data: " + name, file: "data", text: text, fails: fails}
	}
	return []oddFile{
		packed("gzip", written(t, func(b *bytes.Buffer) error {
			w := gzip.NewWriter(b)
			_, err := w.Write([]byte(plain))
			return join(err, w.Close())
		})),
		packed("zstd", written(t, func(b *bytes.Buffer) error {
			w, err := zstd.NewWriter(b)
			if err != nil {
				return err
			}
			_, err = w.Write([]byte(plain))
			return join(err, w.Close())
		})),
		packed("xz", written(t, func(b *bytes.Buffer) error {
			w, err := xz.NewWriter(b)
			if err != nil {
				return err
			}
			_, err = w.Write([]byte(plain))
			return join(err, w.Close())
		})),
		packed("lz4", written(t, func(b *bytes.Buffer) error {
			w := lz4.NewWriter(b)
			_, err := w.Write([]byte(plain))
			return join(err, w.Close())
		})),
		packed("snappy", written(t, func(b *bytes.Buffer) error {
			w := snappy.NewBufferedWriter(b)
			_, err := w.Write([]byte(plain))
			return join(err, w.Close())
		})),
		packed("zip", zipped(t, map[string]string{"a.csv": plain})),
		refused("zip of two files", zipped(t, map[string]string{"a.csv": plain, "b.csv": plain}), "has [2] files"),
		refused("a workbook", zipped(t, map[string]string{"[Content_Types].xml": "<x/>", "xl/workbook.xml": "<x/>"}), "Office document"),
		refused("tar", written(t, func(b *bytes.Buffer) error {
			w := tar.NewWriter(b)
			err := w.WriteHeader(&tar.Header{Name: "a.csv", Size: int64(len(plain)), Mode: 0o600})
			if err == nil {
				_, err = w.Write([]byte(plain))
			}
			return join(err, w.Close())
		}), "tar archive"),
		refused("a program", "\x7fELF\x02\x01\x01"+strings.Repeat("\x00\x1b[31m\x07", 500), "is a program"),
		refused("bytes", "\x1b[2J\x07\x0e\x0f"+strings.Repeat("\x05\x06\x10", 300), "is not text"),
		refused("XML", `<?xml version="1.0"?><a><b/></a>`, "is XML"),
		refused("nothing but blanks", " \n\n ", "is empty"),
		{name: "Parquet", file: "p", text: written(t, writeParquet), ask: "id, name, score, small, ok, tags, __time",
			want: `[[1,"ä",0.5,1.5,"true","[\"x\",\"y\"]","2024-01-01T00:00:00.000Z"],[9007199254740993,null,-2.0,0.1,"false","[]","2024-01-02T00:00:00.000Z"]]`},
		{name: "Parquet beside text", file: "p", text: written(t, writeParquet), others: map[string]string{"q.csv": plain}, fails: "load them one after the other"},
	}
}

type parquetRow struct {
	ID    int64    `parquet:"id"`
	Name  *string  `parquet:"name,optional"`
	Score float64  `parquet:"score"`
	Small float32  `parquet:"small"`
	OK    bool     `parquet:"ok"`
	Tags  []string `parquet:"tags,list"`
	When  int64    `parquet:"when,timestamp(millisecond)"`
}

func writeParquet(b *bytes.Buffer) error {
	name := "ä"
	w := parquet.NewGenericWriter[parquetRow](b)
	_, err := w.Write([]parquetRow{{1, &name, 0.5, 1.5, true, []string{"x", "y"}, 1704067200000}, {9007199254740993, nil, -2, 0.1, false, nil, 1704153600000}})
	return join(err, w.Close())
}

func written(t *testing.T, f func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func join(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func zipped(t *testing.T, files map[string]string) string {
	t.Helper()
	return written(t, func(b *bytes.Buffer) error {
		w := zip.NewWriter(b)
		for name, text := range files {
			f, err := w.Create(name)
			if err == nil {
				_, err = f.Write([]byte(text))
			}
			if err != nil {
				return err
			}
		}
		return w.Close()
	})
}
