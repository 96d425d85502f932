package basic

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// answers is a validator that gives one answer, and notes what it was asked.
type answers struct {
	outcome Outcome
	entry   Entry
	err     error
	asked   string
}

func (a *answers) Validate(_ context.Context, user, password, peer string) (Outcome, Entry, error) {
	a.asked = user + " " + password + " " + peer
	return a.outcome, a.entry, a.err
}

func TestFilter(t *testing.T) {
	down := fault.Unavailable("down")
	bob := "Basic " + base64.StdEncoding.EncodeToString([]byte("bob:p:q"))
	entry := Entry{Groups: []string{"cn=a,dc=b"}, Attributes: map[string][]string{"region": {"eu"}}}
	for name, tt := range map[string]struct {
		header  string
		passOn  bool
		answers answers
		known   bool
		refused fault.Category // "": not refused
	}{
		"no header":          {header: ""},
		"another scheme":     {header: "Bearer x"},
		"malformed":          {header: "Basic !", passOn: true, refused: fault.CategoryUnauthorized},
		"right":              {header: bob, answers: answers{outcome: Right, entry: entry}, known: true},
		"wrong":              {header: bob, answers: answers{outcome: Wrong}, refused: fault.CategoryUnauthorized},
		"wrong, passing on":  {header: bob, passOn: true, answers: answers{outcome: Wrong}, refused: fault.CategoryUnauthorized},
		"unknown":            {header: bob, answers: answers{outcome: Unknown}, refused: fault.CategoryUnauthorized},
		"unknown, passed on": {header: bob, passOn: true, answers: answers{outcome: Unknown}},
		"not loaded": {
			header: bob, passOn: true, answers: answers{outcome: Unknown, err: down}, refused: fault.CategoryServiceUnavailable,
		},
	} {
		f := &Filter{Name: "meta", Authorizer: "az", PassOn: tt.passOn, Validator: &tt.answers}
		id, err := f.Authenticate(t.Context(), &auth.Request{Header: http.Header{"Authorization": {tt.header}}, Peer: "[::1]:5"})
		var want *auth.Identity
		if tt.known {
			want = &auth.Identity{Name: "bob", Authorizer: "az", By: "meta", Groups: entry.Groups, Attributes: entry.Attributes}
		}
		if diff := cmp.Diff(want, id); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		refused, isFault := errors.AsType[*fault.Error](err)
		if tt.refused == "" && err != nil || tt.refused != "" && (!isFault || refused.Category != tt.refused) {
			t.Errorf("%s: %v", name, err)
		}
		if tt.header == bob && tt.answers.asked != "bob p:q ::1" {
			t.Errorf("%s: asked for %q", name, tt.answers.asked)
		}
	}
	if (&Filter{}).Challenge() != "Basic" {
		t.Error("another challenge")
	}
}

// TestRefusalsTellNothing has unknown users and wrong passwords refused in the same words.
func TestRefusalsTellNothing(t *testing.T) {
	a := loaded(t, Options{}, map[string]string{"bob": "p"})
	f := &Filter{Name: "meta", Authorizer: "az", Validator: a}
	seen := map[string]bool{}
	for _, user := range []string{"bob", "ann"} {
		_, err := f.Authenticate(t.Context(), auth.BasicRequest(user, "x", "10.0.0.1:1", nil))
		if err == nil {
			t.Fatal(user)
		}
		seen[err.Error()] = true
	}
	if len(seen) != 1 {
		t.Errorf("%v", seen)
	}
}
