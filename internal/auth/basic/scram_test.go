package basic

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// serverOf plays SCRAM for the users of some authenticators.
func serverOf(list ...*Authenticator) *ScramServer {
	var chain []auth.Authenticator
	for _, a := range list {
		chain = append(chain, &Filter{Name: a.name, Authorizer: "az", PassOn: a.o.PassOn, Validator: a})
	}
	return NewScramServer(chain)
}

// final is the last message of a client with a password.
func final(t *testing.T, challenge, password string) string {
	t.Helper()
	return finalOver(t, challenge, password, "n,,")
}

// finalOver is final of a client that has bound its login to something.
func finalOver(t *testing.T, challenge, password, binding string) string {
	t.Helper()
	parts := strings.Split(challenge, ",")
	var iterations int
	if _, err := fmt.Sscanf(parts[2], "i=%d", &iterations); err != nil {
		t.Fatal(err)
	}
	salt, err := base64.StdEncoding.DecodeString(parts[1][2:])
	if err != nil {
		t.Fatal(err)
	}
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		t.Fatal(err)
	}
	key := mac(salted, "Client Key")
	stored := sha256.Sum256(key)
	without := "c=" + base64.StdEncoding.EncodeToString([]byte(binding)) + "," + parts[0]
	for i, b := range mac(stored[:], "n=,r=abc,"+challenge+","+without) {
		key[i] ^= b
	}
	return without + ",p=" + base64.StdEncoding.EncodeToString(key)
}

// logIn tries a password, and returns the name of the authenticator that let it in.
func logIn(t *testing.T, s *ScramServer, user, password, peer string) (by string, x *Exchange, err error) {
	t.Helper()
	x, challenge, err := s.Begin(user, peer, Channel{}, []byte("n,,n=,r=abc"))
	if err != nil {
		t.Fatal(err)
	}
	id, signature, err := x.Finish(t.Context(), []byte(final(t, string(challenge), password)))
	if err != nil {
		return "", x, err
	}
	if id.Name != user || id.Authorizer != "az" || !strings.HasPrefix(string(signature), "v=") {
		t.Errorf("%+v %s", id, signature)
	}
	return id.By, x, nil
}

func TestScramServer(t *testing.T) {
	first := loaded(t, Options{PassOn: true}, map[string]string{"bob": "p", "both": "of first", "new": ""})
	second := loaded(t, Options{}, map[string]string{"ann": "q", "both": "of second", "new": "r"})
	first.name, second.name = "first", "second"
	for _, tt := range []struct{ user, password, want string }{
		{"bob", "p", "first"}, {"ann", "q", "second"}, {"both", "of first", "first"}, {"both", "of second", ""}, {"new", "r", "second"},
		{"bob", "q", ""}, {"nobody", "p", ""}, {"", "", ""}, {"Bob", "p", ""},
	} {
		by, _, err := logIn(t, serverOf(first, second), tt.user, tt.password, "10.0.0.1:1")
		if by != tt.want || (err == nil) != (by != "") {
			t.Errorf("%s with %s: by %q, %v", tt.user, tt.password, by, err)
		}
		if f := fault.Find(err); err != nil && (f == nil || f.Message != "User authentication failed." ||
			f.Category != fault.CategoryUnauthorized) {
			t.Errorf("%s: %v", tt.user, err)
		}
	}
	if _, _, err := logIn(t, serverOf(second, first), "bob", "p", ""); err == nil {
		t.Error("the first authenticator passes nobody on, but the second was asked")
	}
	if s := serverOf(); s.Any() || s.Whole() {
		t.Error("there are users in an empty chain")
	}
	mixed := NewScramServer([]auth.Authenticator{&Filter{Validator: first}, &Filter{}})
	if s := serverOf(first); !s.Whole() || !mixed.Any() || mixed.Whole() {
		t.Error("what the chain has is not known")
	}
}

// Users that don't exist, or have no password, get the same questions as others.
func TestTheExchangeOfUnknownUsersLooksLikeOthers(t *testing.T) {
	a := loaded(t, Options{Iterations: 5000}, map[string]string{"new": ""})
	c, err := NewCredential("p", 5000)
	if err != nil {
		t.Fatal(err)
	}
	old := *c
	old.Scram = nil
	users := map[string]User{"bob": {"bob", c}, "new": {"new", nil}, "old": {"old", &old}}
	a.users.Store(&users)
	s := serverOf(a)
	shape := map[string]string{}
	salts := map[string]bool{}
	for _, user := range []string{"bob", "new", "old", "nobody", "somebody", strings.Repeat("long", 100)} {
		var last string
		for range 2 {
			_, challenge, err := s.Begin(user, "10.0.0.1:1", Channel{}, []byte("n,,n=,r=abc"))
			if err != nil {
				t.Fatal(err)
			}
			parts := strings.Split(string(challenge), ",")
			if last != "" && parts[1] != last {
				t.Errorf("%s: another salt the second time", user)
			}
			last = parts[1]
			shape[user] = fmt.Sprint(len(parts), len(parts[0]), len(parts[1]), parts[2])
		}
		salts[last] = true
		if shape[user] != shape["bob"] {
			t.Errorf("%s: %s, others have %s", user, shape[user], shape["bob"])
		}
		if _, _, err := logIn(t, s, user, "wrong", "10.0.0.1:1"); err == nil {
			t.Errorf("%s logged in", user)
		}
	}
	if len(salts) != 6 {
		t.Errorf("%d salts", len(salts))
	}
}

func TestMessagesThatAreNoScram(t *testing.T) {
	s := serverOf(loaded(t, Options{}, map[string]string{"bob": "p"}))
	for _, first := range []string{
		"", "n", "n,", "n,,", "x,,n=,r=abc", "p=tls-unique,,n=,r=abc", "n,a=ann,n=,r=abc", "n,,r=abc", "n,,n=bob", "n,,n=bob,r=",
		"n,,n=bob,r=a\x00b", "n,,n=bob,r=ä", "n,,m=x,n=bob,r=abc",
	} {
		_, _, err := s.Begin("bob", "", Channel{}, []byte(first))
		if fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryInvalidInput {
			t.Errorf("%q: %v", first, err)
		}
	}
	for _, change := range []func(string) string{
		func(string) string { return "" },
		func(m string) string { return strings.Replace(m, "c=biws", "c=eSws", 1) },
		func(m string) string { return strings.Replace(m, "r=abc", "r=abd", 1) },
		func(m string) string { return strings.Replace(m, ",p=", ",q=", 1) },
		func(m string) string { return m + "A" },
		func(m string) string { return m[:strings.Index(m, ",p=")] + ",p=AAAA" },
		func(m string) string { return strings.Replace(m, "c=biws,", "", 1) },
	} {
		x, challenge, err := s.Begin("bob", "", Channel{}, []byte("n,,n=,r=abc"))
		if err != nil {
			t.Fatal(err)
		}
		m := change(final(t, string(challenge), "p"))
		if _, _, err := x.Finish(t.Context(), []byte(m)); fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryInvalidInput {
			t.Errorf("%q: %v", m, err)
		}
	}
	_, _, err := serverOf(NewAuthenticator("meta", Options{})).Begin("bob", "", Channel{}, []byte("n,,n=,r=abc"))
	if f := fault.Find(err); f == nil || f.Category != fault.CategoryServiceUnavailable {
		t.Errorf("before the users are loaded: %v", err)
	}
}

// An exchange over TLS is bound to the certificate that the client has seen.
func TestExchangesAreBoundToTheChannel(t *testing.T) {
	s := serverOf(loaded(t, Options{}, map[string]string{"bob": "p"}))
	offered, bound := Channel{EndPoint: []byte("hash")}, Channel{EndPoint: []byte("hash"), Bound: true}
	const flag = "p=tls-server-end-point"
	for _, test := range []struct {
		over  Channel
		flag  string
		seen  string // the certificate, of which the client has the hash
		begun bool
		right bool
	}{
		{offered, "n", "", true, true}, {Channel{}, "y", "", true, true}, {bound, flag, "hash", true, true},
		{bound, flag, "other", true, false}, {bound, flag, "", true, false}, {bound, "n", "", false, false}, {bound, "y", "", false, false},
		{bound, "p=tls-unique", "hash", false, false}, {offered, "y", "", false, false}, {offered, flag, "hash", false, false},
	} {
		x, challenge, err := s.Begin("bob", "", test.over, []byte(test.flag+",,n=,r=abc"))
		if (err == nil) != test.begun {
			t.Errorf("%+v: %v", test, err)
		}
		if err != nil {
			continue
		}
		m := finalOver(t, string(challenge), "p", test.flag+",,"+test.seen)
		if _, _, err := x.Finish(t.Context(), []byte(m)); (err == nil) != test.right {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// An exchange proves nothing a second time.
func TestAProofIsGoodOnce(t *testing.T) {
	s := serverOf(loaded(t, Options{}, map[string]string{"bob": "p"}))
	_, challenge, err := s.Begin("bob", "", Channel{}, []byte("n,,n=,r=abc"))
	if err != nil {
		t.Fatal(err)
	}
	heard := final(t, string(challenge), "p")
	x, _, err := s.Begin("bob", "", Channel{}, []byte("n,,n=,r=abc"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := x.Finish(t.Context(), []byte(heard)); err == nil {
		t.Error("a proof was taken again")
	}
}

func TestTheLimiterCountsExchanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, user := range []string{"bob", "nobody"} { // who exists can't be told apart
			a := loaded(t, Options{PassOn: true}, map[string]string{"bob": "p"})
			s := serverOf(a)
			attempt := func(password, peer string, right bool, took time.Duration) {
				t.Helper()
				began := time.Now()
				_, _, err := logIn(t, s, user, password, peer)
				if (err == nil) != right || time.Since(began) != took {
					t.Errorf("%s:%s from %s: %v after %s", user, password, peer, err, time.Since(began))
				}
			}
			for i := range maxFailures {
				attempt("x", fmt.Sprintf("10.0.0.1:%d", i), false, 0)
			}
			attempt("p", "10.0.0.1:99", false, refusalDelay)
			if got, err := a.Verify(t.Context(), user, "p", "10.0.0.1"); got != Wrong || err != nil {
				t.Errorf("over HTTP: %d %v", got, err)
			}
			attempt("p", "10.0.0.2:1", user == "bob", 0)
			time.Sleep(failureWindow)
			attempt("p", "10.0.0.1:1", user == "bob", 0)
		}
	})
}

func TestAnExchangeIsGoodWhileThePasswordStays(t *testing.T) {
	a := loaded(t, Options{}, map[string]string{"bob": "p"})
	_, x, err := logIn(t, serverOf(a), "bob", "p", "")
	if err != nil || x.Still() != nil {
		t.Fatal(err, x.Still())
	}
	a.users.Store(loaded(t, Options{}, map[string]string{"bob": "p"}).users.Load()) // the same password, set again
	if x.Still() == nil {
		t.Error("with another record")
	}
	a.users.Store(&map[string]User{})
	if x.Still() == nil {
		t.Error("without the user")
	}
}
