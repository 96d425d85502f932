package edge

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestReadJSON(t *testing.T) {
	type filter struct {
		Name string `json:"name"`
		Size *int   `json:"size"`
	}
	read := func(body string) (f filter, err error) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		return f, ReadJSON(httptest.NewRecorder(), r, 100, &f)
	}
	for body, want := range map[string]string{
		`{"name":"a"}`: "a", "\uFEFF {\"name\":\"a\"} }": "a", `{"name":"a","Name":"b"}`: "a", `{"name":5}{`: "5", `{"size":""}`: "", "null": "",
	} {
		if f, err := read(body); err != nil || f.Name != want || f.Size != nil {
			t.Errorf("%s: %+v, %v; want [%s]", body, f, err, want)
		}
	}
	for _, body := range []string{"{", `{"name":[]}`, strings.Repeat(" ", 101)} {
		if f, err := read(body); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%.20s: %+v, %v", body, f, err)
		}
	}
	for _, body := range []string{"", " \n"} {
		if _, err := read(body); !errors.Is(err, io.EOF) {
			t.Errorf("[%s]: %v", body, err)
		}
	}
}
