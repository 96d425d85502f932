package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

const surveyPath = "/service/indexer/v1/survey"

type foundOut struct {
	Kind, Time, TimeFormat, TimeExpression string
	Format                                 json.RawMessage `json:"inputFormat"`
	Columns                                []struct{ Name, Type string }
	Records, Unreadable                    int
	Problems, Notes                        []string
	Whole                                  bool
}

func (f *foundOut) columns() string {
	var out []string
	for _, c := range f.Columns {
		out = append(out, c.Name+" "+c.Type)
	}
	return strings.Join(out, ", ")
}

// A survey says what files are and how they are loaded without a change, and in clear words what
// can't be.
func TestFilesAreSurveyed(t *testing.T) {
	s := server.Start(t, server.Options{})
	_, _, parquet := sendFile(t, &s.Client, "f.parquet", flights(t, 10))
	_, _, csv := sendFile(t, &s.Client, "f.csv", "\ufeffwhen;city;n\n2026-01-01;Rom;1\n2026-01-02;Köln;2\n")
	const line = `{"ts":1767225600000,"a":{"b":[1]},"tags":["x","y"],"d":1.5}` + "\n"
	_, _, lines := sendFile(t, &s.Client, "l.json", strings.Repeat(line, 100_000))
	for _, c := range []struct {
		name, request, kind, columns, time, format string
		records                                    int
		whole                                      bool
	}{
		{"Parquet", `"inputSource":` + uploadSource(parquet), "Parquet", "when BIGINT, origin VARCHAR, delay BIGINT",
			`MILLIS_TO_TIMESTAMP("when")`, `{"type":"parquet"}`, 10, true},
		{"CSV with a mark", `"inputSource":` + uploadSource(csv), "", "when VARCHAR, city VARCHAR, n BIGINT", `TIME_PARSE("when")`,
			`"delimiter":";"`, 2, true},
		{"a type that is given", `"inputSource":` + uploadSource(csv) + `,"types":{"n":"VARCHAR"},"noTime":true`, "",
			"when VARCHAR, city VARCHAR, n VARCHAR", "", `"findColumnsFromHeader":true`, 2, true},
		{"lines, of which some are read", `"maxRecords":10,"inputSource":` + uploadSource(lines), "JSON",
			"ts BIGINT, a TYPE('COMPLEX<json>'), tags VARCHAR ARRAY, d DOUBLE", `MILLIS_TO_TIMESTAMP("ts")`, `{"type":"json"}`, 0, false},
		{"text", `"inputSource":{"type":"inline","data":"[{\"x\":1}]"}`, "JSON", "x BIGINT", "", `{"type":"json"}`, 1, true},
	} {
		var got foundOut
		if err := s.Call(t.Context(), http.MethodPost, surveyPath, json.RawMessage("{"+c.request+"}"), &got); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.columns() != c.columns || got.TimeExpression != c.time || !strings.Contains(string(got.Format), c.format) ||
			c.kind != "" && got.Kind != c.kind || c.records > 0 && got.Records != c.records || got.Whole != c.whole {
			t.Errorf("%s: %+v %s %s", c.name, got, got.columns(), got.Format)
		}
	}
}

func TestSurveysAreRefused(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{`service.ingestion.local.allowedPaths=["/nowhere"]`}})
	for _, c := range []struct{ name, file, request, says string }{
		{"an image", "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 100), "", "is an image (PNG)"},
		{"junk", "\x01\x02\x03\x05\x06\x10\x0e\x0f" + strings.Repeat("\x05\x06\x10\x00\xfe", 300), "", "is not text"},
		{"blanks", " \n\n ", "", "is empty"},
		{"a time that is none", "when,n\nx,1\n", `"time":"when"`, "Set its format with [timeFormat]"},
		{"a column that is none", "when,n\nx,1\n", `"time":"none"`, "Time column [none] is not in the file"},
		{"no source", "", "", "[inputSource] is required"},
		{"another folder", "", `"inputSource":{"type":"local","baseDir":"/etc","filter":"*"}`, "outside the directories"},
		{"no file", "", `"inputSource":{"type":"local","baseDir":"/nowhere","filter":"*"}`, "[/nowhere]"},
		{"rows", "", `"inputSource":{"type":"service","dataSource":"x","interval":"2020/2021"}`, "a survey is of files"},
		{"a number below zero", "", `"maxRecords":-1,"inputSource":{"type":"inline","data":"x"}`, "must not be negative"},
		{"no JSON", "", `"inputSource":1`, "it is not a JSON object"},
	} {
		request := []string{c.request}
		if c.file != "" {
			_, answer, id := sendFile(t, &s.Client, "f", c.file)
			if id == "" {
				t.Fatal(answer)
			}
			request = append(request, `"inputSource":`+uploadSource(id))
		}
		request = slices.DeleteFunc(request, func(part string) bool { return part == "" })
		status, answer, err := s.Send(t.Context(), "router", http.MethodPost, surveyPath, "{"+strings.Join(request, ",")+"}")
		if err != nil || status != 400 && status != 403 || !strings.Contains(string(answer), c.says) {
			t.Errorf("%s: %d %s %v", c.name, status, answer, err)
		}
	}
}
