package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDrainWaitsForTasks(t *testing.T) {
	asked, disabled, busy := 0, false, 3
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "POST /service/worker/v1/disable":
			disabled = true
			fmt.Fprint(w, `{"h:8091":"disabled"}`)
		case "GET /service/worker/v1/tasks":
			if asked++; asked < busy {
				fmt.Fprint(w, `["index_1"]`)
			} else {
				fmt.Fprint(w, `[]`)
			}
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	out, err := execute(t, "drain", "--server", s.URL)
	if err != nil || !disabled || asked != busy || !strings.Contains(out, "runs no tasks") {
		t.Errorf("%v, asked [%d] times: %s", err, asked, out)
	}
	asked, busy = 0, 1000
	out, err = execute(t, "drain", "--server", s.URL, "--wait", "0s")
	if !errors.Is(err, errReported) || !strings.Contains(out, `still runs ["index_1"]`) {
		t.Errorf("a wait that is too short: %v: %s", err, out)
	}
	if _, err = execute(t, "drain", "--server", s.URL, "--wait", "-1s"); err == nil {
		t.Error("a negative wait is accepted")
	}
	if _, err = execute(t, "drain", "--server", addressOfNobody(t)); err == nil {
		t.Error("nobody answers, and that is no error")
	}
}
