package kafka

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/keystore"
	"github.com/hengedb/henge/internal/secret"
)

// settings are the consumerProperties of a stream, read.
type settings struct {
	servers     []string
	protocol    string // PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
	uncommitted bool
	internal    bool // patterns match names of topics of Kafka's own, too

	fetchMin, fetchMax, partitionMax int32
	fetchWait                        time.Duration
	pollRecords                      int // 0: no limit

	request, answer, connect, idle time.Duration
	clientID, rack                 string
	receiveBuffer, sendBuffer      int

	login login
	tls   stores

	// unused are the names of properties that change nothing here.
	unused []string
}

// login is how a client says who it is.
type login struct {
	mechanism string
	jaas      *jaas
	user      string
	password  secret.Text
	service   string // of Kerberos
	tokenURL  string
	scope     string
}

// property reads one property into settings; what it returns, if not "", is what is wrong with it.
type property func(s *settings, text string) (problem string)

// properties are those that mean something here, by name. Names and meanings are those of Kafka's
// own consumer, and two of librdkafka (sasl.username, sasl.password).
var properties = map[string]property{
	"bootstrap.servers": func(s *settings, text string) string { return s.readServers(text) },
	"security.protocol": oneOf(func(s *settings) *string { return &s.protocol }, "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
	"isolation.level": func(s *settings, text string) string {
		switch text {
		case "read_committed", "read_uncommitted":
			s.uncommitted = text == "read_uncommitted"
			return ""
		}
		return "it must be one of [read_committed, read_uncommitted]"
	},
	"exclude.internal.topics": boolean(func(s *settings, yes bool) { s.internal = !yes }),

	"fetch.min.bytes":           size(func(s *settings) *int32 { return &s.fetchMin }, 0),
	"fetch.max.bytes":           size(func(s *settings) *int32 { return &s.fetchMax }, 1),
	"max.partition.fetch.bytes": size(func(s *settings) *int32 { return &s.partitionMax }, 1),
	"fetch.max.wait.ms":         millis(func(s *settings) *time.Duration { return &s.fetchWait }, 0),
	"max.poll.records":          count(func(s *settings) *int { return &s.pollRecords }, 1),

	"request.timeout.ms":                 millis(func(s *settings) *time.Duration { return &s.request }, 1),
	"default.api.timeout.ms":             millis(func(s *settings) *time.Duration { return &s.answer }, 1),
	"socket.connection.setup.timeout.ms": millis(func(s *settings) *time.Duration { return &s.connect }, 1),
	"connections.max.idle.ms":            millis(func(s *settings) *time.Duration { return &s.idle }, -1),
	"client.id":                          text(func(s *settings) *string { return &s.clientID }),
	"client.rack":                        text(func(s *settings) *string { return &s.rack }),
	"receive.buffer.bytes":               count(func(s *settings) *int { return &s.receiveBuffer }, -1),
	"send.buffer.bytes":                  count(func(s *settings) *int { return &s.sendBuffer }, -1),

	"sasl.mechanism":             oneOf(func(s *settings) *string { return &s.login.mechanism }, mechanisms...),
	"sasl.jaas.config":           func(s *settings, text string) string { return s.login.readJAAS(text) },
	"sasl.username":              text(func(s *settings) *string { return &s.login.user }),
	"sasl.password":              hidden(func(s *settings) *secret.Text { return &s.login.password }),
	"sasl.kerberos.service.name": text(func(s *settings) *string { return &s.login.service }),
	"sasl.oauthbearer.token.endpoint.url": func(s *settings, text string) string {
		s.login.tokenURL = text
		return urlProblem(text)
	},
	"sasl.oauthbearer.scope": text(func(s *settings) *string { return &s.login.scope }),

	"ssl.truststore.type":         oneOf(func(s *settings) *string { return &s.tls.trust.Kind }, keystore.Kinds...),
	"ssl.truststore.location":     text(func(s *settings) *string { return &s.tls.trust.Path }),
	"ssl.truststore.password":     hidden(func(s *settings) *secret.Text { return &s.tls.trust.Password }),
	"ssl.truststore.certificates": text(func(s *settings) *string { return &s.tls.trust.Chain }),
	"ssl.keystore.type":           oneOf(func(s *settings) *string { return &s.tls.key.Kind }, keystore.Kinds...),
	"ssl.keystore.location":       text(func(s *settings) *string { return &s.tls.key.Path }),
	"ssl.keystore.password":       hidden(func(s *settings) *secret.Text { return &s.tls.key.Password }),
	"ssl.keystore.certificate.chain": text(func(s *settings) *string {
		return &s.tls.key.Chain
	}),
	"ssl.keystore.key": hidden(func(s *settings) *secret.Text { return &s.tls.key.Key }),
	"ssl.key.password": hidden(func(s *settings) *secret.Text { return &s.tls.key.KeyPassword }),
	"ssl.endpoint.identification.algorithm": func(s *settings, text string) string {
		if s.tls.anyHost = text == ""; text != "" && !strings.EqualFold(text, "https") {
			return "it must be [https], or empty for hosts that need no name in their certificate"
		}
		return ""
	},
	"ssl.enabled.protocols": func(s *settings, text string) string { return s.tls.readProtocols(text) },
	"ssl.protocol":          func(s *settings, text string) string { return s.tls.readProtocols(text) },

	"group.id": func(*settings, string) string { return "" }, // there is no group, and nobody need be told
}

// passwords are the properties whose value may be a provider, and is never shown.
var passwords = map[string]bool{
	"ssl.truststore.password": true, "ssl.keystore.password": true, "ssl.key.password": true, "ssl.keystore.key": true,
	"sasl.password": true, "sasl.jaas.config": true,
}

// invalid is the fault of a property. It never holds a secret.
func invalid(name, why string, args ...any) *fault.Error {
	return fault.InvalidInput("Property [%s] of consumerProperties can't be used: "+why, append([]any{name}, args...)...)
}

// readSettings reads consumerProperties.
func readSettings(given map[string]json.RawMessage, env secret.Environment) (*settings, error) {
	s := &settings{
		protocol: "PLAINTEXT", login: login{mechanism: "GSSAPI"},
		fetchMin: 1, fetchMax: fetchBytes, partitionMax: partitionBytes, fetchWait: fetchWait,
		request: requestTimeout, connect: connectTimeout, idle: idleTimeout,
		tls: newStores(),
	}
	texts, err := readTexts(given, env)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) { // so that of two faults it is always the same one
		read, known := properties[name]
		if !known {
			s.unused = append(s.unused, name)
			continue
		}
		value := texts[name]
		if name != "sasl.password" {
			value = strings.TrimSpace(value)
		}
		if problem := read(s, value); problem != "" {
			return nil, invalid(name, "%s", problem)
		}
	}
	if len(s.servers) == 0 {
		return nil, fault.InvalidInput("consumerProperties must contain entry for [bootstrap.servers]")
	}
	if s.answer == 0 {
		s.answer = max(s.request, answerTimeout)
		if _, ok := texts["request.timeout.ms"]; ok {
			s.answer = s.request
		}
	}
	return s, nil
}

// readTexts returns the properties as texts, those that providers tell among them.
func readTexts(given map[string]json.RawMessage, env secret.Environment) (map[string]string, error) {
	texts := map[string]string{}
	for name, raw := range given {
		if secret.IsProvider(name) || string(raw) == "null" {
			continue
		}
		if passwords[name] {
			var p secret.Password
			err := json.Unmarshal(raw, &p)
			if err != nil {
				return nil, invalid(name, "it must be a string, or an object with a type of [default, environment]")
			}
			resolved, err := p.Resolve(env)
			if err != nil {
				return nil, invalid(name, "%s", fault.Find(err).Message)
			}
			texts[name] = resolved.Reveal()
			continue
		}
		text, ok := scalar(raw)
		if !ok {
			return nil, invalid(name, "it must be a string")
		}
		texts[name] = text
	}
	provided, err := secret.Provided(given, env)
	if err != nil {
		return nil, err
	}
	maps.Copy(texts, provided)
	return texts, nil
}

// scalar returns a value as the text that Kafka's client would get: numbers and truth values as
// they are written, lists with commas.
func scalar(raw json.RawMessage) (string, bool) {
	var value any
	if jsontext.Read(raw, &value) != nil {
		return "", false
	}
	switch value := value.(type) {
	case string:
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	case []any:
		var list []string
		if json.Unmarshal(raw, &list) != nil {
			return "", false
		}
		return strings.Join(list, ","), true
	case map[string]any, nil:
		return "", false
	}
	return strings.TrimSpace(string(raw)), true // a number
}

func (s *settings) readServers(text string) string {
	for server := range strings.SplitSeq(text, ",") {
		if server = strings.TrimSpace(server); server == "" {
			continue
		}
		if at := strings.Index(server, "://"); at >= 0 { // PLAINTEXT://host:9092, as listeners are written
			server = server[at+3:]
		}
		at := strings.LastIndexByte(server, ':')
		port, err := strconv.Atoi(server[at+1:])
		if at <= 0 || err != nil || port < 1 || port > 65535 {
			return "[" + server + "] is not host:port"
		}
		s.servers = append(s.servers, server)
	}
	return ""
}

func text(at func(*settings) *string) property {
	return func(s *settings, text string) string {
		*at(s) = text
		return ""
	}
}

func hidden(at func(*settings) *secret.Text) property {
	return func(s *settings, text string) string {
		*at(s) = secret.NewText(text)
		return ""
	}
}

func oneOf(at func(*settings) *string, known ...string) property {
	return func(s *settings, text string) string {
		if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, text) }); i >= 0 {
			*at(s) = known[i]
			return ""
		}
		return "it must be one of [" + strings.Join(known, ", ") + "]"
	}
}

func boolean(set func(*settings, bool)) property {
	return func(s *settings, text string) string {
		yes := strings.EqualFold(text, "true")
		if !yes && !strings.EqualFold(text, "false") {
			return "it must be [true] or [false]"
		}
		set(s, yes)
		return ""
	}
}

func whole(text string, least int64) (int64, string) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > math.MaxInt32 {
		return 0, "it must be a whole number from " + strconv.FormatInt(least, 10) + " to " + strconv.Itoa(math.MaxInt32)
	}
	return n, ""
}

func size(at func(*settings) *int32, least int64) property {
	return func(s *settings, text string) string {
		n, problem := whole(text, least)
		if problem == "" {
			*at(s) = int32(n)
		}
		return problem
	}
}

func count(at func(*settings) *int, least int64) property {
	return func(s *settings, text string) string {
		n, problem := whole(text, least)
		if problem == "" {
			*at(s) = int(n)
		}
		return problem
	}
}

func millis(at func(*settings) *time.Duration, least int64) property {
	return func(s *settings, text string) string {
		n, problem := whole(text, least)
		if problem == "" {
			*at(s) = time.Duration(n) * time.Millisecond
		}
		return problem
	}
}
