package basic

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/auth"
)

// work is what an attempt to log in makes the process hash.
type work struct{ password, salt, iterations int }

// Unknown users cost what a wrong password does: one hash of the same input and iterations, whether
// it was tried before or not.
func TestUnknownUsersCostAHash(t *testing.T) {
	for _, passOn := range []bool{false, true} {
		a := loaded(t, Options{PassOn: passOn, Iterations: 1000}, map[string]string{"bob": "topsecret", "new": ""})
		var done []work
		inner := a.hasher.hash
		a.hasher.hash = func(password string, salt []byte, iterations int) ([]byte, error) {
			done = append(done, work{len(password), len(salt), iterations})
			return inner(password, salt, iterations)
		}
		want := []work{{5, saltBytes, 1000}}
		for i, user := range []string{"bob", "bob", "nobody", "new", strings.Repeat("n", 1000), "nobody"} {
			done = nil
			password := fmt.Sprintf("wrong%d", i)[1:] // another one each time, of five letters
			if outcome, err := a.Verify(t.Context(), user, password, "10.0.0.1"); err != nil || outcome == Right || !slices.Equal(done, want) {
				t.Errorf("%.20s: %d, %v, hashed %v instead of %v", user, outcome, err, done, want)
			}
		}
	}
}

// BenchmarkRefusals compares the time of wrong passwords with that of unknown users, in turns, so
// that what else the machine does hits both alike. It reports the medians, by how much they differ,
// and by how much those of two halves of the wrong passwords do: the noise.
func BenchmarkRefusals(b *testing.B) {
	a := loaded(b, Options{Iterations: 1000}, map[string]string{"bob": "topsecret"})
	f := &Filter{Name: "meta", Authorizer: "az", Validator: a}
	took := map[string][]float64{}
	try := func(kind, user string, i int) {
		// From another address each time: an address that tries much waits.
		r := auth.BasicRequest(user, fmt.Sprintf("wrong%07d", i), fmt.Sprintf("10.%d.%d.%d:1", i>>16&255, i>>8&255, i&255), nil)
		began := time.Now()
		if _, err := f.Authenticate(context.Background(), r); err == nil {
			b.Fatal("it was let in")
		}
		took[kind] = append(took[kind], float64(time.Since(began).Nanoseconds())/1000)
	}
	for i := 0; b.Loop(); i++ {
		kinds := [][2]string{{"wrong", "bob"}, {"unknown", "nobody"}, {"half", "bob"}}
		for k := range kinds { // each comes first as often as the others
			kind := kinds[(k+i)%len(kinds)]
			try(kind[0], kind[1], i*len(kinds)+k)
		}
	}
	median := func(kind string) float64 {
		slices.Sort(took[kind])
		return took[kind][len(took[kind])/2]
	}
	wrong, unknown, half := median("wrong"), median("unknown"), median("half")
	b.ReportMetric(wrong, "us-wrong")
	b.ReportMetric(unknown, "us-unknown")
	b.ReportMetric(100*(unknown/wrong-1), "%differ")
	b.ReportMetric(100*math.Abs(half/wrong-1), "%noise")
}

// BenchmarkCachedCheck is what each request of a user costs who has logged in before: credentials
// from the header, the password against the cache, and a permission.
func BenchmarkCachedCheck(b *testing.B) {
	a := loaded(b, Options{Iterations: 10_000}, map[string]string{"bob": "topsecret"})
	f := &Filter{Name: "meta", Authorizer: "az", Validator: a}
	z := decider(b, AuthorizerOptions{}, Policy{
		Users: map[string]Member{"bob": {Name: "bob", Roles: []string{"reader"}}}, Groups: map[string]GroupMapping{},
		Roles: map[string]Role{"reader": {Name: "reader", Permissions: []Permission{permission(auth.Datasource, "wiki.*", auth.Read)}}},
	})
	header := http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("bob:topsecret"))}}
	for b.Loop() {
		id, err := f.Authenticate(context.Background(), &auth.Request{Header: header, Peer: "10.0.0.1:1"})
		if err != nil {
			b.Fatal(err)
		}
		if grant, err := z.Decide(context.Background(), id, auth.Reads(auth.Datasource, "wikipedia")); err != nil || !grant.Allowed {
			b.Fatal(grant, err)
		}
	}
}
