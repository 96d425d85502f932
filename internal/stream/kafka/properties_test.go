package kafka

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/stream"
)

func environment(name string) (string, bool) {
	value, ok := map[string]string{"SET": "stones", "JAAS": plainEntry}[name]
	return value, ok
}

const plainEntry = `org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="stones";`

func given(t testing.TB, text string) map[string]json.RawMessage {
	t.Helper()
	out := map[string]json.RawMessage{"bootstrap.servers": json.RawMessage(`"127.0.0.1:9092"`)}
	var more map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &more); err != nil {
		t.Fatal(text, err)
	}
	maps.Copy(out, more)
	return out
}

func TestPropertiesAreRead(t *testing.T) {
	s, err := readSettings(given(t, `{
		"bootstrap.servers": ["a:1", "PLAINTEXT://[::1]:2"], "security.protocol": "sasl_ssl", "isolation.level": "read_uncommitted",
		"exclude.internal.topics": false, "fetch.min.bytes": 7, "fetch.max.bytes": "8", "max.partition.fetch.bytes": "9",
		"fetch.max.wait.ms": 10, "max.poll.records": 11, "request.timeout.ms": 12, "default.api.timeout.ms": 13,
		"socket.connection.setup.timeout.ms": 14, "connections.max.idle.ms": 15, "client.id": "c", "client.rack": "r",
		"receive.buffer.bytes": -1, "send.buffer.bytes": 16, "sasl.mechanism": "PLAIN", "sasl.username": "u",
		"sasl.password": {"type": "environment", "variable": "SET"}, "sasl.kerberos.service.name": "kafka",
		"ssl.truststore.location": "l", "ssl.truststore.password": {"type": "default", "password": "p"}, "ssl.truststore.type": "pem",
		"ssl.endpoint.identification.algorithm": "", "ssl.enabled.protocols": "TLSv1.3", "ssl.key.password": null,
		"druid.dynamic.config.provider": {"type": "environment", "variables": {"sasl.jaas.config": "JAAS"}},
		"service.dynamic.config.provider": {"type": "mapString", "config": {"client.id": "of the provider"}},
		"group.id": "g", "key.deserializer": "x", "auto.offset.reset": "latest"}`), environment)
	if err != nil {
		t.Fatal(err)
	}
	ms := time.Millisecond
	for name, ok := range map[string]bool{
		"servers":  slices.Equal(s.servers, []string{"a:1", "[::1]:2"}),
		"protocol": s.protocol == "SASL_SSL" && s.uncommitted && s.internal,
		"sizes":    s.fetchMin == 7 && s.fetchMax == 8 && s.partitionMax == 9 && s.pollRecords == 11,
		"times":    s.fetchWait == 10*ms && s.request == 12*ms && s.answer == 13*ms && s.connect == 14*ms && s.idle == 15*ms,
		"names":    s.clientID == "of the provider" && s.rack == "r" && s.receiveBuffer == -1 && s.sendBuffer == 16,
		"login": s.login.mechanism == "PLAIN" && s.login.user == "u" && s.login.password.Reveal() == "stones" && s.login.service == "kafka" &&
			s.login.jaas.options["username"] == "alice",
		"tls": s.tls.trust.Path == "l" && s.tls.trust.Password.Reveal() == "p" && s.tls.trust.Kind == "PEM" && s.tls.anyHost &&
			s.tls.least == 0x304 && s.tls.most == 0x304,
		"unused": slices.Equal(s.unused, []string{"auto.offset.reset", "key.deserializer"}),
	} {
		if !ok {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestEachPropertyWrong gives each property a value that can't be used. What is said names it, and
// never shows the value of a secret.
func TestEachPropertyWrong(t *testing.T) {
	tested := map[string]bool{"group.id": true, "client.id": true, "client.rack": true, "sasl.username": true, "sasl.oauthbearer.scope": true}
	const number = `it must be a whole number from `
	for _, c := range []struct{ given, name, why string }{
		{`{"bootstrap.servers": "a"}`, "bootstrap.servers", "[a] is not host:port"},
		{`{"bootstrap.servers": "a:0"}`, "bootstrap.servers", "[a:0] is not host:port"},
		{`{"bootstrap.servers": ["a:1", ":2"]}`, "bootstrap.servers", "[:2] is not host:port"},
		{`{"bootstrap.servers": {}}`, "bootstrap.servers", "it must be a string"},
		{`{"bootstrap.servers": [1]}`, "bootstrap.servers", "it must be a string"},
		{`{"security.protocol": "TLS"}`, "security.protocol", "one of [PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL]"},
		{`{"isolation.level": "x"}`, "isolation.level", "one of [read_committed, read_uncommitted]"},
		{`{"exclude.internal.topics": "x"}`, "exclude.internal.topics", "[true] or [false]"},
		{`{"fetch.min.bytes": "x"}`, "fetch.min.bytes", number + "0"},
		{`{"fetch.max.bytes": 0}`, "fetch.max.bytes", number + "1"},
		{`{"max.partition.fetch.bytes": 1.5}`, "max.partition.fetch.bytes", number + "1"},
		{`{"fetch.max.wait.ms": -1}`, "fetch.max.wait.ms", number + "0"},
		{`{"max.poll.records": 0}`, "max.poll.records", number + "1"},
		{`{"request.timeout.ms": "PT1S"}`, "request.timeout.ms", number + "1"},
		{`{"default.api.timeout.ms": 99999999999}`, "default.api.timeout.ms", number + "1"},
		{`{"socket.connection.setup.timeout.ms": true}`, "socket.connection.setup.timeout.ms", number + "1"},
		{`{"connections.max.idle.ms": -2}`, "connections.max.idle.ms", number + "-1"},
		{`{"receive.buffer.bytes": "a"}`, "receive.buffer.bytes", number + "-1"},
		{`{"send.buffer.bytes": "a"}`, "send.buffer.bytes", number + "-1"},
		{`{"sasl.mechanism": "NTLM"}`, "sasl.mechanism", "one of [PLAIN, SCRAM-SHA-256"},
		{`{"sasl.jaas.config": "secret"}`, "sasl.jaas.config", "is not one of [PlainLoginModule"},
		{`{"sasl.jaas.config": {"type":"secret"}}`, "sasl.jaas.config", "a type of [default, environment]"},
		{`{"sasl.password": {"type":"environment","variable":"UNSET"}}`, "sasl.password", "'UNSET' is not set"},
		{`{"sasl.kerberos.service.name": {}}`, "sasl.kerberos.service.name", "it must be a string"},
		{`{"sasl.oauthbearer.token.endpoint.url": "ftp://x"}`, "sasl.oauthbearer.token.endpoint.url", "not an HTTP address"},
		{`{"security.protocol": "SASL_SSL"}`, "sasl.jaas.config", "[GSSAPI] needs it"},
		{`{"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}`, "sasl.jaas.config", "[PLAIN] needs it"},
		{`{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": "a.PlainLoginModule required username=u;"}`,
			"sasl.jaas.config", "needs its options [username] and [password]"},
		{`{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": "a.Krb5LoginModule required;"}`,
			"sasl.jaas.config", "[Krb5LoginModule] is not one of mechanism [PLAIN]"},
		{`{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": "a.OAuthBearerLoginModule required;"}`,
			"sasl.jaas.config", "needs one of its options [token"},
		{`{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER",
			"sasl.jaas.config": "a.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=a unsecuredLoginLifetimeSeconds=secret;"}`,
			"sasl.jaas.config", "must be a number of seconds"},
		{`{"security.protocol": "SASL_PLAINTEXT", "sasl.jaas.config": "a.Krb5LoginModule required;"}`,
			"sasl.kerberos.service.name", "needs the name"},
		{`{"security.protocol": "SSL", "ssl.truststore.location": "/none"}`, "ssl.truststore.location", "[/none] is not readable"},
		{`{"security.protocol": "SSL", "ssl.truststore.location": "/"}`, "ssl.truststore.location", "[/] is not readable"},
		{`{"ssl.truststore.type": "BCFKS"}`, "ssl.truststore.type", "one of [JKS, PKCS12, PEM]"},
		{`{"ssl.truststore.password": 1}`, "ssl.truststore.password", "it must be a string"},
		{`{"security.protocol": "SSL", "ssl.truststore.certificates": "secret"}`, "ssl.truststore.certificates", "no certificate in PEM format"},
		{`{"ssl.keystore.type": "x"}`, "ssl.keystore.type", "one of [JKS"},
		{`{"security.protocol": "SSL", "ssl.keystore.location": "/none"}`, "ssl.keystore.location", "[/none] is not readable"},
		{`{"ssl.keystore.password": ["a"]}`, "ssl.keystore.password", "it must be a string"},
		{`{"security.protocol": "SSL", "ssl.keystore.key": "secret"}`, "ssl.keystore.key", "go together"},
		{`{"security.protocol": "SSL", "ssl.keystore.certificate.chain": "a", "ssl.keystore.key": "secret"}`,
			"ssl.keystore.key", "no certificate in PEM"},
		{`{"ssl.keystore.certificate.chain": {}}`, "ssl.keystore.certificate.chain", "it must be a string"},
		{`{"ssl.key.password": {"type":"default","password":1}}`, "ssl.key.password", "it must be a string"},
		{`{"ssl.endpoint.identification.algorithm": "LDAPS"}`, "ssl.endpoint.identification.algorithm", "it must be [https]"},
		{`{"ssl.enabled.protocols": "TLSv1.2,SSLv3"}`, "ssl.enabled.protocols", "of [TLSv1.2, TLSv1.3]"},
		{`{"ssl.protocol": "SSL"}`, "ssl.protocol", "of [TLSv1.2, TLSv1.3]"},
	} {
		tested[c.name] = true
		err := Check(stream.Config{Name: "t", Properties: given(t, c.given)}, &ingest.Access{Getenv: environment})
		f := fault.Find(err)
		if f == nil || !strings.HasPrefix(f.Message, "Property ["+c.name+"] of consumerProperties can't be used: ") ||
			!strings.Contains(f.Message, c.why) || strings.Contains(f.Message, "secret") && !strings.Contains(c.given, "jaas.config\": \"secret") {
			t.Errorf("%s: %v, want [%s] .. %s", c.given, err, c.name, c.why)
		}
	}
	for name := range properties {
		if !tested[name] {
			t.Errorf("property [%s] has no wrong value in this test", name)
		}
	}
	_, err := readSettings(map[string]json.RawMessage{}, nil)
	if f := fault.Find(err); f == nil || f.Message != "consumerProperties must contain entry for [bootstrap.servers]" {
		t.Error(err)
	}
	if err := Check(stream.Config{Pattern: "(", Properties: given(t, `{}`)}, nil); fault.Find(err) == nil {
		t.Error("a pattern that is none is taken")
	}
}

func TestUnusedPropertiesAreWarnedOf(t *testing.T) {
	var out strings.Builder
	s, err := Open(stream.Config{Name: "t", Properties: given(t, `{"value.deserializer": "x", "heartbeat.interval.ms": 1}`)}, nil,
		slog.New(slog.NewTextHandler(&out, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"value.deserializer", "heartbeat.interval.ms"} {
		if strings.Count(out.String(), "property="+name) != 1 {
			t.Errorf("[%s] is not warned of once: %s", name, out.String())
		}
	}
}

func TestJAAS(t *testing.T) {
	for _, c := range []struct {
		text, problem, module string
		options               map[string]string
	}{
		{text: plainEntry, module: plainModule, options: map[string]string{"username": "alice", "password": "stones"}},
		{text: "ScramLoginModule  REQUIRED\n username = 'a' /* who */ password=\"p\\\"w\\\\;\" // what\n;", module: scramModule,
			options: map[string]string{"username": "a", "password": `p"w\;`}},
		{text: "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab=\"/k.keytab\" principal=\"u@R\";",
			module: kerberosModule, options: map[string]string{"useKeyTab": "true", "keyTab": "/k.keytab", "principal": "u@R"}},
		{text: "a.PlainLoginModule required; a.ScramLoginModule required;", module: plainModule, options: map[string]string{}},
		{text: "", problem: "it needs a login module"},
		{text: ";", problem: "it needs a login module"},
		{text: "a.FileLoginModule required;", problem: "[FileLoginModule] is not one of"},
		{text: "a.PlainLoginModule username=u;", problem: "followed by one of [required"},
		{text: "a.PlainLoginModule required username=u", problem: "it must end with ';'"},
		{text: `a.PlainLoginModule required username="u;`, problem: "a quote in it is not closed"},
		{text: `a.PlainLoginModule required "u`, problem: "a quote in it is not closed"},
		{text: "a.PlainLoginModule required username;", problem: "has no '='"},
		{text: "a.PlainLoginModule required username=;", problem: "option [username] of it has no value"},
	} {
		entry, problem := parseJAAS(c.text)
		if c.problem != "" {
			if !strings.Contains(problem, c.problem) {
				t.Errorf("%s: %q, want %q", c.text, problem, c.problem)
			}
			continue
		}
		if problem != "" || entry.module != c.module || !maps.Equal(entry.options, c.options) {
			t.Errorf("%s: %+v %s", c.text, entry, problem)
		}
	}
}

func FuzzJAAS(f *testing.F) {
	f.Add(plainEntry)
	f.Add("a.ScramLoginModule required // x\n 'a'=b;")
	f.Fuzz(func(t *testing.T, text string) {
		if entry, problem := parseJAAS(text); (entry == nil) != (problem != "") {
			t.Fatalf("%q: %v, %q", text, entry, problem)
		}
	})
}

func TestKerberosSettings(t *testing.T) {
	folder := t.TempDir()
	conf := filepath.Join(folder, "krb5.conf")
	if err := os.WriteFile(conf, []byte("[libdefaults]\n default_realm = R\n[realms]\n R = {\n kdc = 127.0.0.1:88\n }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) { return conf, name == "KRB5_CONFIG" }
	for options, why := range map[string]string{
		`useKeyTab=true`:                                 "needs its option [principal]",
		`principal="u@R"`:                                "needs its option [keyTab]",
		`principal="u" keyTab="/none"`:                   "the keytab [/none] is not readable",
		`principal="u" keyTab="` + conf + `"`:            "the keytab [" + conf + "] is not readable",
		`useTicketCache=true ticketCache="/none"`:        "the cache of tickets [/none] is not readable",
		`useTicketCache=true ticketCache="` + conf + `"`: "the cache of tickets [" + conf + "] is not readable",
	} {
		config, _ := json.Marshal("a.Krb5LoginModule required serviceName=kafka " + options + ";")
		properties := given(t, `{"security.protocol":"SASL_PLAINTEXT","sasl.jaas.config":`+string(config)+`}`)
		err := Check(stream.Config{Name: "t", Properties: properties}, &ingest.Access{Getenv: env})
		if f := fault.Find(err); f == nil || !strings.Contains(f.Message, why) {
			t.Errorf("%s: %v, want %s", options, err, why)
		}
	}
}
