package kafkaserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// Users of all mechanisms, and what opens the stores of certificates.
const (
	User     = "alice"
	Password = "st;nes 1"
	Secret   = "stones"
)

// Server is a Kafka of this test run.
type Server struct {
	// Directory holds its data, and beside it the stores: server.jks, client.jks, client.p12 (each
	// with a key), trust.jks, trust.p12 (what signs them), trust.pem.
	Directory string
	ports     map[string]int
	lib       string
	cmd       *exec.Cmd
	ended     chan struct{}
	missing   string // why there is none
}

// Listeners are the names of the listeners, which are their security protocols.
var Listeners = []string{"PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL"}

var (
	mu      sync.Mutex
	running []*Server
	shared  = sync.OnceValue(func() *Server { return begin("") })
)

// Shared returns the server that the tests of a package have in common, or skips the test.
func Shared(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no Kafka")
	}
	s := shared()
	if s.missing != "" {
		t.Skip(s.missing)
	}
	return s
}

// Start returns a server of a test's own, with further lines of its settings, or skips the test.
func Start(t testing.TB, settings string) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no Kafka")
	}
	s := begin(settings)
	t.Cleanup(s.remove)
	if s.missing != "" {
		t.Skip(s.missing)
	}
	return s
}

// Open returns a server for a program that is no test, which closes it.
func Open() (*Server, error) {
	s := begin("")
	if s.missing != "" {
		s.Close()
		return nil, errors.New(s.missing)
	}
	return s, nil
}

// Close ends the server and removes what it has.
func (s *Server) Close() { s.remove() }

// StopAll ends all servers. TestMain calls it after the tests.
func StopAll() {
	mu.Lock()
	all := running
	running = nil
	mu.Unlock()
	for _, s := range all {
		s.remove()
	}
}

func (s *Server) remove() {
	s.Kill()
	if s.Directory != "" {
		_ = os.RemoveAll(s.Directory) // it is a temporary folder
	}
}

func begin(settings string) *Server {
	s := &Server{ports: map[string]int{}}
	var err error
	if s.lib, err = Jars(); err != nil {
		s.missing = err.Error()
		return s
	}
	if s.Directory, err = os.MkdirTemp("", "henge-kafka-"); err != nil {
		s.missing = err.Error()
		return s
	}
	mu.Lock()
	running = append(running, s)
	mu.Unlock()
	if err := errors.Join(s.choosePorts(), s.makeStores()); err == nil {
		err = s.format(settings)
		if err == nil {
			err = s.Begin()
		}
		if err != nil {
			s.missing = err.Error()
		}
	} else {
		s.missing = err.Error()
	}
	return s
}

// choosePorts finds a free port for each listener. Restarts take the same ones.
func (s *Server) choosePorts() error {
	for _, name := range append([]string{"CONTROLLER"}, Listeners...) {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer func() { _ = free.Close() }() // all at the end, so that they differ
		s.ports[name] = free.Addr().(*net.TCPAddr).Port
	}
	return nil
}

// Address returns where a listener is: host:port.
func (s *Server) Address(listener string) string {
	return "127.0.0.1:" + strconv.Itoa(s.ports[listener])
}

// makeStores makes a key that signs itself for the server and for its clients, in all formats.
func (s *Server) makeStores() error {
	for _, line := range []string{
		"-genkeypair -alias server -keyalg RSA -keysize 2048 -validity 3650 -dname CN=localhost -ext san=dns:localhost,ip:127.0.0.1 " +
			"-storetype JKS -keystore server.jks -storepass stones -keypass stones",
		"-genkeypair -alias client -keyalg EC -groupname secp256r1 -validity 3650 -dname CN=client " +
			"-storetype JKS -keystore client.jks -storepass stones -keypass pebbles",
		"-importkeystore -srckeystore client.jks -srcstorepass stones -srckeypass pebbles -srcalias client " +
			"-destkeystore client.p12 -deststoretype PKCS12 -deststorepass stones -destkeypass stones -noprompt",
		"-exportcert -rfc -alias server -keystore server.jks -storepass stones -file trust.pem",
		"-exportcert -rfc -alias client -keystore client.jks -storepass stones -file client.pem",
		"-importcert -alias server -file trust.pem -storetype JKS -keystore trust.jks -storepass stones -noprompt",
		"-importcert -alias server -file trust.pem -storetype PKCS12 -keystore trust.p12 -storepass stones -noprompt",
		"-importcert -alias client -file client.pem -storetype JKS -keystore clients.jks -storepass stones -noprompt",
	} {
		if err := s.run("keytool", strings.Fields(line)...); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) run(program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = s.Directory
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, args[0], err, bytes.TrimSpace(out))
	}
	return nil
}

// format writes the settings and makes an empty log with the users of SCRAM.
func (s *Server) format(settings string) error {
	listeners := []string{"CONTROLLER://127.0.0.1:" + strconv.Itoa(s.ports["CONTROLLER"])}
	protocols := []string{"CONTROLLER:PLAINTEXT"}
	for _, name := range Listeners {
		listeners = append(listeners, name+"://"+s.Address(name))
		protocols = append(protocols, name+":"+name)
	}
	plain := `org.apache.kafka.common.security.plain.PlainLoginModule required user_` + User + `="` + Password + `";`
	scram := "org.apache.kafka.common.security.scram.ScramLoginModule required;"
	bearer := `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`
	lines := []string{
		"process.roles=broker,controller", "node.id=1", "controller.listener.names=CONTROLLER", "inter.broker.listener.name=PLAINTEXT",
		"controller.quorum.voters=1@127.0.0.1:" + strconv.Itoa(s.ports["CONTROLLER"]),
		"listeners=" + strings.Join(listeners, ","), "advertised.listeners=" + strings.Join(listeners[1:], ","),
		"listener.security.protocol.map=" + strings.Join(protocols, ","),
		"log.dirs=" + filepath.Join(s.Directory, "data"),
		"offsets.topic.replication.factor=1", "offsets.topic.num.partitions=1",
		"transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1", "transaction.state.log.num.partitions=1",
		"auto.create.topics.enable=false", "log.cleaner.backoff.ms=200", "message.max.bytes=20000000",
		"sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
		"ssl.keystore.location=" + filepath.Join(s.Directory, "server.jks"), "ssl.keystore.password=" + Secret, "ssl.key.password=" + Secret,
		"ssl.truststore.location=" + filepath.Join(s.Directory, "clients.jks"), "ssl.truststore.password=" + Secret,
		"ssl.client.auth=requested",
		settings,
	}
	for _, name := range []string{"sasl_plaintext", "sasl_ssl"} {
		for mechanism, entry := range map[string]string{"plain": plain, "scram-sha-256": scram, "scram-sha-512": scram, "oauthbearer": bearer} {
			lines = append(lines, "listener.name."+name+"."+mechanism+".sasl.jaas.config="+entry)
		}
	}
	file := filepath.Join(s.Directory, "server.properties")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return err
	}
	id[0] &= 0x7f // a name that begins with "-" is taken for an option
	return s.Java("kafka.tools.StorageTool", "format", "-t", base64.RawURLEncoding.EncodeToString(id), "-c", file,
		"--add-scram", "SCRAM-SHA-256=[name="+User+",password="+Password+"]",
		"--add-scram", "SCRAM-SHA-512=[name="+User+",password="+Password+"]")
}

// Java runs a class of Kafka's.
func (s *Server) Java(class string, args ...string) error {
	return s.run("java", append([]string{"-XX:TieredStopAtLevel=1", "-cp", filepath.Join(s.lib, "*"), class}, args...)...)
}

// Begin starts it, with the data that is there, and waits until it answers.
func (s *Server) Begin() error {
	log, err := os.OpenFile(filepath.Join(s.Directory, "kafka.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own
	cmd := exec.Command("java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(s.lib, "*"), "kafka.Kafka",
		filepath.Join(s.Directory, "server.properties"))
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, s.Directory
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd, s.ended = cmd, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait() // it was killed
		close(ended)
	}(s.ended)
	for range 600 {
		if s.answers() {
			return nil
		}
		select {
		case <-s.ended:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("Kafka ended: %s", text[max(0, len(text)-2000):])
		default:
		}
		if err := clock.System().Sleep(context.Background(), 100*time.Millisecond); err != nil {
			return err
		}
	}
	s.Kill()
	return errors.New("Kafka does not answer within a minute")
}

// answers reports whether all listeners are open: they open one after the other.
func (s *Server) answers() bool {
	for _, name := range Listeners {
		conn, err := net.Dial("tcp", s.Address(name))
		if err != nil {
			return false
		}
		_ = conn.Close() // nothing was sent
	}
	return true
}

// Stop ends it kindly; Kill at once. Begin starts it again.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends it as a loss of its machine would.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

func (s *Server) end(signal syscall.Signal) {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(signal) // it may have ended already
	<-s.ended
	s.cmd = nil
}
