package kafka

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/testkit/certs"
	"github.com/hengedb/henge/internal/testkit/kafkaserver"
	"github.com/hengedb/henge/internal/testkit/kdc"
)

// withTickets starts a Kafka that takes tickets of a real server of Kerberos.
func withTickets(t *testing.T) (k *kafkaserver.Server, tickets *kdc.Server) {
	tickets = kdc.Start(t)
	keys := tickets.Keytab(t, "kafka/127.0.0.1")
	t.Setenv("JAVA_TOOL_OPTIONS", "-Djava.security.krb5.conf="+tickets.Config)
	k = kafkaserver.Start(t, strings.Join([]string{
		"listener.name.sasl_plaintext.sasl.enabled.mechanisms=PLAIN,GSSAPI", "listener.name.sasl_plaintext.sasl.kerberos.service.name=kafka",
		`listener.name.sasl_plaintext.gssapi.sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true ` +
			`storeKey=true keyTab="` + keys + `" principal="kafka/127.0.0.1@` + kdc.Realm + `";`,
	}, "\n"))
	return k, tickets
}

// TestServerTickets logs in to a real Kafka with tickets of a real server.
func TestServerTickets(t *testing.T) {
	k, tickets := withTickets(t)
	p := producer(t, []string{k.Address("PLAINTEXT")})
	admin := adminOf(t, k)
	create(t, admin, "tickets", 1)
	produce(t, p, "tickets", 0, "a", "b")
	good := tickets.Keytab(t, "reader", "other")
	old := tickets.Keytab(t, "changed")
	tickets.Keytab(t, "changed") // has other keys now
	tickets.Login(t, good, "reader")
	cache := filepath.Join(filepath.Dir(tickets.Config), "cc")
	short := filepath.Join(t.TempDir(), "short")
	tickets.Run(t, "kinit", "-l", "1s", "-c", short, "-k", "-t", good, "reader")
	away := certs.Write(t, t.TempDir(), "krb5.conf", "[libdefaults]\n default_realm = "+kdc.Realm+
		"\n dns_lookup_kdc = false\n udp_preference_limit = 1\n[realms]\n "+kdc.Realm+" = {\n  kdc = 127.0.0.1:1\n }\n")
	opened := func(config, service, options string) (*Source, error) {
		text := func(s string) json.RawMessage { out, _ := json.Marshal(s); return out }
		return Open(stream.Config{Type: "kafka", Name: "tickets", Properties: map[string]json.RawMessage{
			"bootstrap.servers": text(k.Address("SASL_PLAINTEXT")), "security.protocol": text("SASL_PLAINTEXT"), "sasl.mechanism": text("GSSAPI"),
			"sasl.kerberos.service.name": text(service), "default.api.timeout.ms": text("10000"),
			"sasl.jaas.config": text("com.sun.security.auth.module.Krb5LoginModule required " + options + ";"),
		}}, &ingest.Access{Getenv: secret.Environment(func(name string) (string, bool) { return config, name == "KRB5_CONFIG" })}, nil)
	}
	for _, c := range []struct {
		name, config, service, options string
		want                           string // of the error; "": none
	}{
		{name: "a keytab", options: `useKeyTab=true storeKey=true keyTab="` + good + `" principal="reader@` + kdc.Realm + `"`},
		{name: "the realm is the usual one", options: `useKeyTab=true keyTab="` + good + `" principal="reader"`},
		{name: "a cache of tickets", options: `useTicketCache=true ticketCache="` + cache + `"`},
		{name: "a principal that nobody knows", options: `keyTab="` + good + `" principal="nobody"`,
			want: "the Kerberos server does not know principal [nobody@HENGE.TEST]"},
		{name: "a principal without a key", options: `keyTab="` + old + `" principal="other"`,
			want: "the keytab [" + old + "] has no key of principal [other@HENGE.TEST]"},
		{name: "an old key", options: `keyTab="` + old + `" principal="changed"`,
			want: "the key of principal [changed@HENGE.TEST] is not the one that the Kerberos server has"},
		{name: "another service", service: "storm", options: `keyTab="` + good + `" principal="reader"`,
			want: "the Kerberos server does not know the brokers' principal [storm/127.0.0.1]"},
		{name: "a ticket that has expired", options: `useTicketCache=true ticketCache="` + short + `"`,
			want: "the ticket in the cache [" + short + "] has expired; get another one with kinit"},
		{name: "no server", config: away, options: `keyTab="` + good + `" principal="reader"`,
			want: "no Kerberos server of principal [reader@HENGE.TEST] answers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.config == "" {
				c.config = tickets.Config
			}
			if c.service == "" {
				c.service = "kafka"
			}
			s, err := opened(c.config, c.service, c.options)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			if strings.Contains(c.name, "expired") {
				awaitExpiry(t, short)
			}
			partitions, err := s.Partitions(t.Context())
			if c.want == "" {
				if err != nil || len(partitions) != 1 {
					t.Fatalf("%v, %v", partitions, err)
				}
				if got := until(t, read(t, s, stream.Positions{"0": "0"}), stream.Positions{"0": "2"}); !slices.Equal(got["0"], []string{"a", "b"}) {
					t.Errorf("read %v", got)
				}
				return
			}
			class, message := stream.ClassOf(err)
			if class != errorClasses+"SaslAuthenticationException" || !strings.Contains(message, c.want) {
				t.Errorf("%s: %s (%v), want %s", class, message, err, c.want)
			}
		})
	}
	t.Run("a ticket that is renewed", func(t *testing.T) {
		s, err := opened(tickets.Config, "kafka", `useTicketCache=true ticketCache="`+short+`"`)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		if _, err := s.Partitions(t.Context()); err == nil {
			t.Error("an expired ticket is taken")
		}
		tickets.Run(t, "kinit", "-c", short, "-k", "-t", good, "reader")
		if _, err := s.Partitions(t.Context()); err != nil {
			t.Errorf("with another ticket: %v", err)
		}
	})
	if _, err := opened(tickets.Config, "kafka", `keyTab="/is/not/there" principal="reader"`); err == nil ||
		!errors.As(err, new(*fault.Error)) || !strings.Contains(err.Error(), "the keytab [/is/not/there] is not readable") {
		t.Errorf("without a keytab: %v", err)
	}
}

func adminOf(t *testing.T, k *kafkaserver.Server) *kadm.Client {
	return kadm.NewClient(producer(t, []string{k.Address("PLAINTEXT")}))
}

// awaitExpiry waits until the ticket in a cache is not valid any more.
func awaitExpiry(t *testing.T, path string) {
	t.Helper()
	cache, err := credentials.LoadCCache(path)
	if err != nil {
		t.Fatal(err)
	}
	for !expired(cache, clock.System()) {
		if err := clock.System().Sleep(t.Context(), 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}
