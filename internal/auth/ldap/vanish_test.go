package ldap

import (
	"testing"
	"time"

	goldap "github.com/go-ldap/ldap/v3"

	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/testkit/slapd"
)

// A user whose entry is gone is let in as long as the password counts as verified, and no longer;
// with another password at no time.
func TestUsersThatVanish(t *testing.T) {
	s := slapd.Start(t)
	clock := fakeclock.New(time.UnixMilli(1_700_000_000_000))
	o := options(s.URL)
	o.Clock = clock
	d := directory(t, o)
	verify := func(what, password string, want Verdict) {
		t.Helper()
		if verdict, _ := d.Verify(t.Context(), "bob", password); verdict != want {
			t.Errorf("%s: %d instead of %d", what, verdict, want)
		}
	}
	const right = "bob" + slapd.PasswordEnd
	verify("there", right, Right)
	s.Do(t, func(c *goldap.Conn) error { return c.Del(goldap.NewDelRequest(slapd.DN("bob"), nil)) })
	verify("gone, another password", "x", Unknown)
	verify("gone, remembered", right, Right)
	clock.Advance(11 * time.Minute)
	verify("gone", right, Unknown)
	verify("gone, asked again", right, Unknown)
}
