package basic

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// The vectors were computed by Python's hashlib.pbkdf2_hmac("sha512", ...).
func TestHash(t *testing.T) {
	for _, tt := range []struct {
		password, salt string
		iterations     int
		want           string
	}{
		{"password", "salt", 1, "867f70cf1ade02cff3752599a3a53dc4af34c7a669815ae5d513554e1c8cf252" +
			"c02d470a285a0501bad999bfe943c08f050235d7d68b1da55e63f73b60a57fce"},
		{"password", "salt", 2, "e1d9c16aa681708a45f5c7c4e215ceb66e011a2e9f0040713f18aefdb866d53c" +
			"f76cab2868a39b9f7840edce4fef5a82be67335c77a6068e04112754f27ccf4e"},
	} {
		got, err := hash(tt.password, []byte(tt.salt), tt.iterations)
		if err != nil || hex.EncodeToString(got) != tt.want {
			t.Errorf("%s, %d: %x, %v", tt.password, tt.iterations, got, err)
		}
	}
}

// scramFor returns the verifier of a user; nil: nobody can log in as such.
func scramFor(a *Authenticator, user string) *Scram {
	s := NewScramServer([]auth.Authenticator{&Filter{Validator: a}})
	at, err := s.find(user)
	if err != nil {
		return nil
	}
	return at.scram
}

// TestScram plays the exchange of RFC 7677, section 3.
func TestScram(t *testing.T) {
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	s, err := scramOf("pencil", salt, 4096)
	if err != nil {
		t.Fatal(err)
	}
	message := "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096," +
		"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
	if got := base64.StdEncoding.EncodeToString(mac(s.ServerKey, message)); got != "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=" {
		t.Errorf("the server's signature is %s", got)
	}
	proof, err := base64.StdEncoding.DecodeString("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
	if err != nil {
		t.Fatal(err)
	}
	signature := mac(s.StoredKey, message)
	for i := range proof {
		proof[i] ^= signature[i]
	}
	if got := sha256.Sum256(proof); string(got[:]) != string(s.StoredKey) {
		t.Error("the client's proof is not that of the stored key")
	}
}

func TestNewCredential(t *testing.T) {
	a, err := NewCredential("p:ä", 1000)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewCredential("p:ä", 1000)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Salt) != 32 || len(a.Hash) != 64 || string(a.Salt) == string(b.Salt) || a.Scram == nil || a.Scram.Iterations != 4096 {
		t.Errorf("%+v", a)
	}
	for name, tt := range map[string]struct {
		password   string
		iterations int
		want       string
	}{
		"empty": {"", 10000, "Cannot assign empty password."},
		"few":   {"p", 999, "Value [999] of [iterations] is not between [1000] and [10000000]"},
		"many":  {"p", 10_000_001, "is not between"},
		"none":  {"p", 0, "is not between"},
	} {
		if _, err := NewCredential(tt.password, tt.iterations); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// loaded returns an authenticator with users whose passwords have few iterations.
func loaded(t testing.TB, o Options, passwords map[string]string) *Authenticator {
	t.Helper()
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Iterations == 0 {
		o.Iterations = 1000
	}
	a := NewAuthenticator("meta", o)
	users := map[string]User{}
	for name, password := range passwords {
		users[name] = User{Name: name}
		if password == "" {
			continue
		}
		c, err := NewCredential(password, 1000)
		if err != nil {
			t.Fatal(err)
		}
		users[name] = User{name, c}
	}
	text, err := marshal(users)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Load(text); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestVerify(t *testing.T) {
	for _, passOn := range []bool{false, true} {
		a := loaded(t, Options{PassOn: passOn}, map[string]string{"bob": "se:cret", "ünal": "пароль", "new": ""})
		for _, tt := range []struct {
			user, password string
			want           Outcome
		}{
			{"bob", "se:cret", Right}, {"bob", "se:cret", Right}, {"bob", "se", Wrong}, {"bob", "", Wrong}, {"bob", "se:cret ", Wrong},
			{"Bob", "se:cret", Unknown}, {"ünal", "пароль", Right}, {"ünal", "pароль", Wrong}, {"new", "", Unknown}, {"new", "x", Unknown},
			{"", "", Unknown}, {"nobody", "se:cret", Unknown}, {"nobody", "se:cret", Unknown},
		} {
			if got, err := a.Verify(t.Context(), tt.user, tt.password, "10.0.0.1"); got != tt.want || err != nil {
				t.Errorf("%s:%s: %d instead of %d, %v", tt.user, tt.password, got, tt.want, err)
			}
		}
	}
}

func TestNothingIsVerifiedBeforeTheUsersAreLoaded(t *testing.T) {
	a := NewAuthenticator("meta", Options{Iterations: 1000, Clock: clock.System()})
	_, err := a.Verify(t.Context(), "bob", "p", "")
	if f := fault.Find(err); f == nil || f.Category != fault.CategoryServiceUnavailable {
		t.Error(err)
	}
	if scramFor(a, "bob") != nil {
		t.Error("a verifier of nobody")
	}
	for name, text := range map[string]string{
		"null": `null`, "text": `"x"`, "no hash": `{"a":{"name":"a","credentials":{"salt":"","hash":"","iterations":1}}}`,
		"endless": fmt.Sprintf(`{"a":{"name":"a","credentials":{"salt":"AA==","hash":"%s","iterations":999999999}}}`,
			base64.StdEncoding.EncodeToString(make([]byte, 64))),
	} {
		if err := a.Load([]byte(text)); err == nil || a.Loaded() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestANewPasswordCountsAtOnce(t *testing.T) {
	a := loaded(t, Options{}, map[string]string{"bob": "old"})
	verify := func(password string, want Outcome) {
		t.Helper()
		if got, err := a.Verify(t.Context(), "bob", password, ""); got != want || err != nil {
			t.Errorf("%s: %d, %v", password, got, err)
		}
	}
	verify("old", Right)
	c, err := NewCredential("new", 1000)
	if err != nil {
		t.Fatal(err)
	}
	text, err := marshal(map[string]User{"bob": {"bob", c}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Load(text); err != nil {
		t.Fatal(err)
	}
	verify("old", Wrong)
	verify("new", Right)
	if err := a.Load([]byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	verify("new", Unknown)
	if scramFor(a, "bob") != nil {
		t.Error("a deleted user has a verifier")
	}
}

// TestTheCache looks for the password in the keys of the cache, and lets entries run out.
func TestTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := loaded(t, Options{}, map[string]string{"bob": "correct horse"})
		ask := func() {
			t.Helper()
			if got, err := a.Verify(t.Context(), "bob", "correct horse", ""); got != Right || err != nil {
				t.Errorf("%d, %v", got, err)
			}
		}
		ask()
		if n := a.hasher.mu.used.Len(); n != 1 {
			t.Fatalf("%d entries", n)
		}
		for key := range a.hasher.mu.known {
			if strings.Contains(key, "horse") || strings.Contains(key, "bob") {
				t.Error("the cache has a password, or a name")
			}
			time.Sleep(50 * time.Minute)
			ask()
			time.Sleep(50 * time.Minute)
			if !a.hasher.recall(key) {
				t.Error("an entry that was used has run out")
			}
			time.Sleep(time.Hour + time.Second)
			if a.hasher.recall(key) {
				t.Error("an entry has not run out")
			}
		}
		for i := range cachedVerifications + 10 {
			a.hasher.remember(fmt.Sprint(i))
		}
		if n := len(a.hasher.mu.known); n != cachedVerifications || a.hasher.recall("3") || !a.hasher.recall("12") {
			t.Errorf("%d entries", n)
		}
	})
}

func TestWrongPasswordsAreNotRemembered(t *testing.T) {
	a := loaded(t, Options{}, map[string]string{"bob": "p"})
	for i := range 5 {
		if got, err := a.Verify(t.Context(), "bob", fmt.Sprint(i), fmt.Sprint(i)); got != Wrong || err != nil {
			t.Errorf("%d, %v", got, err)
		}
	}
	if n := a.hasher.mu.used.Len(); n != 0 {
		t.Errorf("%d entries", n)
	}
}

func TestTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, user := range []string{"bob", "nobody"} { // who exists can't be told apart
			a := loaded(t, Options{}, map[string]string{"bob": "p", "ann": "q"})
			attempt := func(user, password, peer string, want Outcome, took time.Duration) {
				t.Helper()
				began := time.Now()
				got, err := a.Verify(t.Context(), user, password, peer)
				if got != want || err != nil || time.Since(began) != took {
					t.Errorf("%s:%s from %s: %d, %v after %s", user, password, peer, got, err, time.Since(began))
				}
			}
			for range maxFailures {
				want := Wrong
				if user == "nobody" {
					want = Unknown
				}
				attempt(user, "x", "10.0.0.1", want, 0)
			}
			attempt(user, "p", "10.0.0.1", Wrong, refusalDelay)
			if user == "bob" {
				attempt("bob", "p", "10.0.0.2", Right, 0)
				attempt("ann", "q", "10.0.0.1", Right, 0)
				time.Sleep(failureWindow)
				attempt("bob", "p", "10.0.0.1", Right, 0)
				if n := len(a.limit.mu.failures); n != 0 {
					t.Errorf("%d pairs are left", n)
				}
			}
		}
	})
}

func TestUsersOfTheNextAuthenticatorAreNotLimited(t *testing.T) {
	a := loaded(t, Options{PassOn: true}, nil)
	for range maxFailures * 2 {
		if got, err := a.Verify(t.Context(), "bob", "p", "10.0.0.1"); got != Unknown || err != nil {
			t.Fatalf("%d, %v", got, err)
		}
	}
	if n := a.hasher.mu.used.Len(); n != 1 {
		t.Errorf("%d entries", n)
	}
}

func TestTheLimiterIsBounded(t *testing.T) {
	l := newLimiter(clock.System())
	for i := range limitedPairs + 100 {
		l.failed(fmt.Sprint(i), "10.0.0.1")
	}
	if n := len(l.mu.failures); n > limitedPairs {
		t.Errorf("%d pairs", n)
	}
}

func TestManyLogInAtOnce(t *testing.T) {
	a := loaded(t, Options{}, map[string]string{"bob": "p"})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			password, want := "p", Right
			if i%2 == 1 {
				password, want = "q", Wrong
			}
			if got, err := a.Verify(context.Background(), "bob", password, fmt.Sprint(i)); got != want || err != nil {
				t.Errorf("%s: %d, %v", password, got, err)
			}
		})
	}
	all.Wait()
}

func TestParseHeader(t *testing.T) {
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for header, want := range map[string]string{
		"":                               "0",
		"Basic":                          "0",
		"Basic ":                         "0",
		"Bearer abc.def":                 "0",
		"Basic" + encode("bob:p"):        "0",
		"Basic " + encode("bob:p"):       "4 bob p",
		"basic " + encode("bob:p"):       "4 bob p",
		"BASIC " + encode("bob:p"):       "4 bob p",
		"Basic  " + encode("bob:p"):      "4 bob p",
		"Basic " + encode("bob:p:q:"):    "4 bob p:q:",
		"Basic " + encode("bob:"):        "4 bob ",
		"Basic " + encode(":p"):          "4  p",
		"Basic " + encode("ünal:пароль"): "4 ünal пароль",
		"Basic " + encode("bob"):         "1",
		"Basic !!!!":                     "1",
		"Basic " + encode("bob:p") + "?": "1",
		"Basic Ym9iOnA":                  "4 bob p", // without padding
		// What is not UTF-8 is Latin-1.
		"Basic " + encode("bob\xff:p\xfe"):          "4 bobÿ pþ",
		"Basic " + encode("j\xfcrg:stra\xdfe:\xe9"): "4 jürg straße:é",
		"Basic " + encode("j\xfcrg:\xc3\xbc"):       "4 jürg Ã¼", // all of it
		"Basic " + encode("bob\xff"):                "1",
	} {
		user, password, outcome := ParseHeader(header)
		got := fmt.Sprint(outcome)
		if outcome == Right {
			got += " " + user + " " + password
		}
		if got != want {
			t.Errorf("%q: %q instead of %q", header, got, want)
		}
	}
}

func FuzzParseHeader(f *testing.F) {
	f.Add("Basic Ym9iOnA=")
	f.Add("basic Og==")
	f.Fuzz(func(t *testing.T, header string) {
		user, _, outcome := ParseHeader(header)
		if outcome != Right && user != "" || strings.Contains(user, ":") {
			t.Errorf("%q: user %q, %d", header, user, outcome)
		}
	})
}
