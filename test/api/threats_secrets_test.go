package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/testkit/server"
)

// Passwords and keys of all kinds are sent through every door, to sources that can be read and to
// those that fail, so that errors and logs tell of them. Then everything that the server shows or
// keeps is read: none of them is there. (spec/security.md, section 12, rows 7, 8 and 10)
func TestNoSecretShows(t *testing.T) {
	t.Parallel()
	for name, sealed := range map[string]bool{"as it comes": false, "sealed metastore": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			noSecretShows(t, sealed)
		})
	}
}

// planter makes secrets that can be found again.
type planter struct {
	secrets []string
}

// plant returns a new secret.
func (p *planter) plant(kind string) string {
	s := fmt.Sprintf("pl4nt-%s-%02d", kind, len(p.secrets))
	p.secrets = append(p.secrets, s)
	return s
}

// syncBuffer is a log that may be written and read at once.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns what was written.
func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func noSecretShows(t *testing.T, sealed bool) {
	p := &planter{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/fail") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte("2026-01-01T00:00:00Z,a\n2026-01-02T00:00:00Z,b\n"))
	}))
	defer web.Close()
	log := &syncBuffer{}
	settings := []string{
		"service.ingestion.http.allowedHeaders=Authorization,X-Api-Key", "service.s3.secretKey=" +
			p.plant("s3"), "service.s3.accessKey=" + p.plant("s3id"),
		"service.google.secretKey=" + p.plant("google"), "service.azure.key=" + p.plant("azure"),
		"service.azure.sharedAccessStorageToken=" + p.plant("sas"),
		"service.emitter.http.recipientBaseUrl=http://me:" + p.plant("emitter") + "@localhost:1/",
		"service.metadata.storage.connector.password=" + p.plant("connector"), "service.ingestion.http.allowPrivate=true",
	}
	if sealed {
		settings = append(settings, "service.metadata.secrets.keyFile="+keyFile(t, 1))
	}
	logger, err := obs.NewLogger(log, obs.LogOptions{Level: "debug"})
	if err != nil {
		t.Fatal(err)
	}
	s := server.Start(t, server.Options{Settings: settings, Log: logger})
	d := &doors{t: t, s: s, p: p, web: web.URL, dead: "http://127.0.0.1:1"}
	d.tasks()
	d.statements()
	d.lookups()
	d.supervisors()
	d.samples()
	d.broken()
	if len(p.secrets) < 40 {
		t.Fatalf("only [%d] secrets were planted", len(p.secrets))
	}
	answers := d.readAll()
	answers["refusals and answers"] = d.heard.String()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	answers["log"] = log.String()
	found := filesBelow(t, s.Dir)
	for name, text := range found {
		if sealed || !strings.HasPrefix(name, "metastore.db") {
			answers["file "+name] = text
		}
	}
	if !sealed && !strings.Contains(found["metastore.db"]+found["metastore.db-wal"], p.secrets[len(p.secrets)-1-d.unkept]) {
		t.Error("not even the metastore has what it needs: the test looks in the wrong place")
	}
	if len(answers) < 100 || !strings.Contains(answers["log"], "request") {
		t.Fatalf("only [%d] answers and files were read", len(answers))
	}
	for _, secret := range p.secrets {
		forms := []string{secret, url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
			base64.StdEncoding.EncodeToString([]byte("me:" + secret))}
		for where, text := range answers {
			for _, form := range forms {
				if at := strings.Index(text, form); at >= 0 {
					t.Errorf("secret [%s] shows in %s: %q", secret, where, text[max(0, at-200):min(len(text), at+len(form)+50)])
					break
				}
			}
		}
	}
}

// keyFile writes a key as the documentation says.
func keyFile(t *testing.T, seed byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "metastore.key")
	text := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{seed}, 32)) + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// doors are the ways in.
type doors struct {
	t     *testing.T
	s     *server.Server
	p     *planter
	web   string
	dead  string // where nobody listens
	heard bytes.Buffer
	ids   []string // of tasks
	// unkept is how many of the last secrets the metastore never needs.
	unkept int
}

// send posts a body, however it is answered.
func (d *doors) send(role, path, body string) string {
	d.t.Helper()
	status, answer, err := d.s.Send(d.t.Context(), role, http.MethodPost, path, body)
	if err != nil {
		d.t.Fatal(err)
	}
	fmt.Fprintf(&d.heard, "%s: %d %s\n", path, status, answer)
	return string(answer)
}

func (d *doors) sql(path, statement string, more ...string) string {
	text, err := json.Marshal(map[string]any{"query": statement})
	if err != nil {
		d.t.Fatal(err)
	}
	body := string(text)
	for _, m := range more {
		body = strings.TrimSuffix(body, "}") + "," + m + "}"
	}
	return d.send("router", "/service/v2/sql"+path, body)
}

// sources returns input sources with secrets; the first can be read.
func (d *doors) sources() []string {
	p := d.p
	good := func(user string) string {
		return strings.Replace(d.web, "http://", "http://"+user+"@", 1)
	}
	return []string{
		`{"type":"http","uris":["` + good("me:"+p.plant("urlpw")) + `/ok?sig=` + p.plant("sig") + `"],"httpAuthenticationUsername":"me",` +
			`"httpAuthenticationPassword":{"type":"default","password":"` + p.plant("http") + `"},` +
			`"requestHeaders":{"X-Api-Key":"` + p.plant("header") + `"}}`,
		`{"type":"http","uris":["` + d.web + `/fail?token=` + p.plant("token") + `"],"requestHeaders":{"Authorization":"Bearer ` +
			p.plant("bearer") + `"}}`,
		`{"type":"http","uris":["` + d.dead + `/x"],"httpAuthenticationUsername":"me","httpAuthenticationPassword":"` +
			p.plant("plain") + `"}`,
		`{"type":"s3","uris":["s3://b/k"],"endpointConfig":{"url":"` + d.web + `/fail","signingRegion":"us-east-1"},"properties":{` +
			`"accessKeyId":"` +
			p.plant("s3id") + `","secretAccessKey":{"type":"default","password":"` + p.plant("s3") + `"},"sessionToken":"` +
			p.plant("session") + `"}}`,
		`{"type":"azureStorage","uris":["azureStorage://127.0.0.1:1/c/k"],"properties":{"key":"` +
			base64.StdEncoding.EncodeToString([]byte(p.plant("azkey"))) + `"}}`,
		`{"type":"azureStorage","uris":["azureStorage://127.0.0.1:1/c/k"],"properties":{"sharedAccessStorageToken":"sv=1&sig=` +
			p.plant("azsas") + `"}}`,
		`{"type":"sql","sqls":["SELECT 1"],"database":{"type":"mysql","connectorConfig":{` +
			`"connectURI":"jdbc:mysql://127.0.0.1:1/db?password=` +
			p.plant("jdbcuri") + `","user":"me","password":"` + p.plant("jdbc") + `"}}}`,
	}
}

func (d *doors) tasks() {
	for i, source := range d.sources() {
		spec := fmt.Sprintf(`{"type":"index_parallel","id":"secret_%d","spec":{"dataSchema":{"dataSource":"loaded_%d",`+
			`"timestampSpec":{"column":"t"},`+
			`"dimensionsSpec":{"dimensions":["a"]},"granularitySpec":{"segmentGranularity":"year"}},"ioConfig":{`+
			`"type":"index_parallel","inputSource":%s,`+
			`"inputFormat":{"type":"csv","columns":["t","a"]}}}}`, i, i, source)
		d.send("overlord", "/service/indexer/v1/task", spec)
		d.ids = append(d.ids, fmt.Sprintf("secret_%d", i))
	}
	d.awaitAll()
}

func (d *doors) awaitAll() {
	for _, id := range d.ids {
		if _, err := d.s.Await(d.t.Context(), id); err != nil {
			fmt.Fprintf(&d.heard, "%v\n", err) // it was refused
		}
	}
}

var taskID = regexp.MustCompile(`"(?:taskId|queryId)":"([^"]+)"`)

func (d *doors) statements() {
	extern := func(source string) string {
		return `TABLE(EXTERN('` + strings.ReplaceAll(source, "'", "''") + `','{"type":"csv","columns":["t","a"]}')) EXTEND (t ` +
			`VARCHAR, a VARCHAR)`
	}
	for i, source := range d.sources() {
		d.sql("", "SELECT * FROM "+extern(source))
		d.sql("", "EXPLAIN PLAN FOR SELECT COUNT(*) FROM "+extern(source))
		answer := d.sql("/task", fmt.Sprintf("INSERT INTO made_%d SELECT TIME_PARSE(t) AS __time, a FROM %s PARTITIONED BY YEAR", i,
			extern(source)))
		answer += d.sql("/statements", "SELECT * FROM "+extern(source), `"context":{"executionMode":"ASYNC"}`)
		for _, m := range taskID.FindAllStringSubmatch(answer, -1) {
			d.ids = append(d.ids, m[1])
		}
	}
	source := `{"type":"http","uris":["` + d.dead + `/x"],"httpAuthenticationUsername":"me","httpAuthenticationPassword":"` +
		d.p.plant("param") + `"}`
	quoted, _ := json.Marshal(source) // text always encodes
	d.sql("", `SELECT * FROM TABLE(EXTERN(?, '{"type":"csv","columns":["t"]}')) EXTEND (t VARCHAR)`,
		`"parameters":[{"type":"VARCHAR","value":`+string(quoted)+`}]`)
	d.sql("", `SELECT * FROM TABLE(HTTP(userName => 'me', password => '`+d.p.plant("argument")+`', uris => ARRAY['`+d.dead+`/y'], `+
		`format => 'csv')) EXTEND (t VARCHAR)`)
	d.sql("", `SELECT COUNT(*) FROM sys.segments WHERE datasource = 'x' AND "datasource" <> 'y' OR "password" = '`+
		d.p.plant("condition")+`'`)
	d.sql("", `SELECT 1 FROM nowhere -- Authorization: Bearer `+d.p.plant("comment"))
	d.send("broker", "/service/v2", `{"queryType":"timeseries","dataSource":"nowhere","intervals":"bad","granularity":"all",`+
		`"context":{"password":"`+
		d.p.plant("context")+`"}}`)
	d.awaitAll()
}

func (d *doors) lookups() {
	p := d.p
	d.send("coordinator", "/service/coordinator/v1/lookups/config", "{}")
	d.send("coordinator", "/service/coordinator/v1/lookups/config", `{"__default":{
		"db":{"version":"v1","lookupExtractorFactory":{"type":"cachedNamespace","extractionNamespace":{"type":"jdbc","connectorConfig":{
			"connectURI":"jdbc:postgresql://127.0.0.1:1/x","user":"me","password":"`+p.plant("lookup")+`"},"table":"t",`+
		`"keyColumn":"k","valueColumn":"v"}}},
		"web":{"version":"v1","lookupExtractorFactory":{"type":"cachedNamespace","extractionNamespace":{"type":"uri",`+
		`"uri":"http://me:`+p.plant("uri")+
		`@127.0.0.1:1/x?sig=`+p.plant("urisig")+`","namespaceParseSpec":{"format":"simpleJson"}}}},
		"topic":{"version":"v1","lookupExtractorFactory":{"type":"kafka","kafkaTopic":"t","kafkaProperties":{`+
		`"bootstrap.servers":"127.0.0.1:1",
			"sasl.password":"`+p.plant("klookup")+`","sasl.username":"me","sasl.mechanism":"PLAIN",`+
		`"security.protocol":"SASL_PLAINTEXT"}}}}}`)
	d.send("coordinator", "/service/coordinator/v1/lookups/config/__default/db", `{"version":"v0","lookupExtractorFactory":{`+
		`"type":"map","map":{}}}`)
	for _, name := range []string{"db", "web", "topic"} {
		d.sql("", "SELECT * FROM lookup."+name)
	}
}

func (d *doors) supervisors() {
	p := d.p
	schema := func(name string) string {
		return `"dataSchema":{"dataSource":"` + name + `","timestampSpec":{"column":"t"},"dimensionsSpec":{"dimensions":["a"]},` +
			`"granularitySpec":{}}`
	}
	d.send("overlord", "/service/indexer/v1/supervisor", `{"type":"kafka","spec":{`+schema("sk")+`,"ioConfig":{"topic":"t",`+
		`"period":"PT0.2S","startDelay":"PT0S",
		"inputFormat":{"type":"avro_stream","avroBytesDecoder":{"type":"schema_registry",`+
		`"url":"http://me:`+p.plant("registry")+`@127.0.0.1:1","config":{
			"basic.auth.credentials.source":"USER_INFO","basic.auth.user.info":"me:`+p.plant("userinfo")+`"},"headers":{`+
		`"X-Any":"`+p.plant("regheader")+`"}}},
		"consumerProperties":{"bootstrap.servers":"127.0.0.1:1","security.protocol":"SASL_PLAINTEXT","sasl.mechanism":"PLAIN",
			"sasl.jaas.config":"org.apache.kafka.common.security.plain.PlainLoginModule required username=\"me\" `+
		`password=\"`+p.plant("jaas")+`\";",
			"ssl.truststore.password":"`+p.plant("trust")+`","ssl.keystore.password":{"type":"default",`+
		`"password":"`+p.plant("keystore")+`"},
			"ssl.key.password":"`+p.plant("keypw")+`","ssl.keystore.key":"`+p.plant("pem")+`"}}}}`)
	d.send("overlord", "/service/indexer/v1/supervisor", `{"type":"kafka","spec":{`+schema("sd")+`,"ioConfig":{"topic":"t",`+
		`"period":"PT0.2S","startDelay":"PT0S",
		"inputFormat":{"type":"json"},"consumerProperties":{"bootstrap.servers":"127.0.0.1:1","security.protocol":"SASL_PLAINTEXT",`+
		`"sasl.mechanism":"PLAIN",
			"service.dynamic.config.provider":{"type":"mapString","config":{"sasl.username":"`+p.plant("user")+`",`+
		`"sasl.password":"`+p.plant("provided")+`"}}}}}}`)
	d.send("overlord", "/service/indexer/v1/supervisor", `{"type":"kinesis","spec":{`+schema("si")+`,"ioConfig":{"stream":"s",`+
		`"endpoint":"127.0.0.1:1",
		"inputFormat":{"type":"json"},"awsAssumedRoleArn":"arn:aws:iam::1:role/r","awsExternalId":"`+p.plant("external")+`"}}}`)
	d.send("overlord", "/service/indexer/v1/supervisor/sd/suspend", "")
	server.Until(d.t, "a supervisor that has met errors", func() bool {
		status, answer, err := d.s.Send(context.Background(), "overlord", http.MethodGet, "/service/indexer/v1/supervisor/sk/status", "")
		return err == nil && (status != http.StatusOK || bytes.Contains(answer, []byte(`"exceptionClass"`)))
	})
}

func (d *doors) samples() {
	for _, source := range d.sources() {
		d.send("overlord", "/service/indexer/v1/sampler", `{"type":"index_parallel","spec":{"dataSchema":{"dataSource":"s",`+
			`"timestampSpec":{"column":"t"},`+
			`"dimensionsSpec":{}},"ioConfig":{"type":"index_parallel","inputSource":`+source+`,"inputFormat":{"type":"csv",`+
			`"columns":["t","a"]}}},`+
			`"samplerConfig":{"numRows":5,"timeoutMs":2000}}`)
		d.unkept = len(d.p.secrets)
	}
	d.send("overlord", "/service/indexer/v1/sampler", `{"type":"kafka","spec":{"ioConfig":{"topic":"t","inputFormat":{"type":"json"},`+
		`"consumerProperties":{`+
		`"bootstrap.servers":"127.0.0.1:1","security.protocol":"SASL_PLAINTEXT","sasl.mechanism":"PLAIN","sasl.jaas.config":"x `+
		`required username=\"me\" password=\"`+
		d.p.plant("sample")+`\";"}},"dataSchema":{"dataSource":"s","timestampSpec":{"column":"t"},"dimensionsSpec":{}}},`+
		`"samplerConfig":{"timeoutMs":1000}}`)
}

// broken sends what no endpoint can read, so that refusals quote it.
func (d *doors) broken() {
	for _, path := range []string{
		"/service/indexer/v1/task", "/service/indexer/v1/supervisor", "/service/indexer/v1/sampler", "/service/coordinator/v1/lookups/config",
		"/service/v2/sql",
		"/service/v2/sql/task", "/service/v2/sql/statements", "/service/v2", "/service/coordinator/v1/config",
		"/service/indexer/v1/worker",
	} {
		for _, form := range []string{`{"type":"kafka","password":"%s"`, `{"password":"%s" x}`, `{"type":{` +
			`"password":"%s"}}`, `"password=%s"`, `["http://me:%s@h/"]`} {
			d.send("router", path, fmt.Sprintf(form, d.p.plant("broken")))
		}
	}
}

// readAll asks for everything that can be asked for.
func (d *doors) readAll() map[string]string {
	ids := map[string][]string{
		"{lookup}": {"db", "web", "topic"}, "{tier}": {"__default"}, "{dataSource}": {"loaded_0", "made_0"},
		"{dataSourceName}": {"loaded_0"},
		"{part}":           {"keys", "values", "version"}, "{node}": {"localhost:1"},
	}
	out := map[string]string{}
	for _, role := range []string{"router", "coordinator", "overlord", "broker", "historical", "indexer"} {
		for _, pattern := range d.s.Routes(role) {
			method, path, _ := strings.Cut(pattern, " ")
			if method != http.MethodGet || strings.HasSuffix(path, "/tail") { // which has rows only, and no end
				continue
			}
			for _, path := range fillPaths(strings.ReplaceAll(path, "{$}", ""), ids, d.ids) {
				for _, query := range []string{"", "?full", "?detail=true", "?system", "?detailed=true", "?count=100"} {
					status, answer, err := d.s.Send(d.t.Context(), role, method, path+query, "")
					if err != nil {
						d.t.Errorf("%s: %v", path, err)
					}
					out[fmt.Sprintf("%s of the %s: %d", path+query, role, status)] = string(answer)
				}
			}
		}
	}
	tables, err := d.s.Query(d.t.Context(), "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'sys'")
	if err != nil || len(tables) < 5 {
		d.t.Fatalf("%v, %v", tables, err)
	}
	for _, table := range tables {
		rows, err := d.s.Query(d.t.Context(), fmt.Sprintf("SELECT * FROM sys.%s", table[0]))
		out[fmt.Sprintf("sys.%s", table[0])] = fmt.Sprint(rows, err)
	}
	return out
}

// fillPaths puts what there is into the places of a path.
func fillPaths(path string, known map[string][]string, tasks []string) []string {
	paths := []string{path}
	for _, place := range wildcard.FindAllString(path, -1) {
		values := known[place]
		switch {
		case values != nil:
		case strings.Contains(path, "/supervisor/"):
			values = []string{"sk", "sd", "si"}
		case strings.Contains(path, "/task") || strings.Contains(path, "/statements/") || strings.Contains(path, "/chat/"):
			values = tasks
		default:
			values = []string{"x"}
		}
		var next []string
		for _, p := range paths {
			for _, v := range values {
				next = append(next, strings.Replace(p, place, url.PathEscape(v), 1))
			}
		}
		paths = next
	}
	return slices.Compact(paths)
}
