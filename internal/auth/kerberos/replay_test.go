package kerberos

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/kdc"
)

// A token is good once, and as long as the clocks of both sides agree within five minutes.
func TestTokensThatComeLateOrTwice(t *testing.T) {
	k := kdc.Start(t)
	t.Setenv("KRB5_CONFIG", k.Config)
	a, err := New(options(k.Keytab(t, "HTTP/localhost")))
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEscalator(EscalatorOptions{
		Prefix: "e.", Principal: "alice@" + kdc.Realm, Host: "localhost", Keytab: k.Keytab(t, "alice"), Authorizer: "az", Clock: clock.System(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.client.Login(); err != nil {
		t.Fatal(err)
	}
	ticket, key, err := e.client.GetServiceTicket("HTTP/localhost")
	if err != nil {
		t.Fatal(err)
	}
	// token says that it was made at a time.
	token := func(at time.Time) string {
		t.Helper()
		by, err := types.NewAuthenticator(e.client.Credentials.Domain(), e.client.Credentials.CName())
		if err != nil {
			t.Fatal(err)
		}
		sum := make([]byte, 24) // RFC 4121, section 4.1.1: no bindings of a channel, no flags
		sum[0] = 16
		by.Cksum = types.Checksum{CksumType: 0x8003, Checksum: sum}
		by.CTime = at
		request, err := messages.NewAPReq(ticket, key, by)
		if err != nil {
			t.Fatal(err)
		}
		body, err := request.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		mechanism := []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02} // 1.2.840.113554.1.2.2
		inner := asn1tools.AddASNAppTag(append(append(mechanism, 1, 0), body...), 0)
		out := spnego.SPNEGOToken{Init: true, NegTokenInit: spnego.NegTokenInit{MechTokenBytes: inner}}
		out.NegTokenInit.MechTypes = append(out.NegTokenInit.MechTypes, gssapi.OIDKRB5.OID())
		text, err := out.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return "Negotiate " + base64.StdEncoding.EncodeToString(text)
	}
	ask := func(header string) (*auth.Identity, error) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)
		return a.Authenticate(t.Context(), auth.RequestOf(r, http.Header{}))
	}
	now := time.Now().UTC()
	good := token(now)
	for _, c := range []struct {
		name, header string
		in           bool
	}{
		{"now", good, true}, {"a second time", good, false}, {"a clock that is four minutes slow", token(now.Add(-4 * time.Minute)), true},
		{"six minutes slow", token(now.Add(-6 * time.Minute)), false}, {"six minutes fast", token(now.Add(6 * time.Minute)), false},
		{"a day old", token(now.Add(-24 * time.Hour)), false}, {"cut off", good[:len(good)/2], false},
	} {
		id, err := ask(c.header)
		if f := fault.Find(err); (id != nil && id.Name == "alice") != c.in || !c.in && (f == nil || f.Category != fault.CategoryForbidden) {
			t.Errorf("%s: %v, %v", c.name, id, err)
		}
	}
}
