package clients

import (
	"bufio"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/maven"
	"github.com/hengedb/henge/internal/testkit/server"
)

// avaticaPom asks Maven for the driver.
const avaticaPom = `<project ` +
	`xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>t</groupId><artifactId>t</artifactId>` +
	`<version>1</version><dependencies><dependency><groupId>org.apache.calcite.avatica</groupId><artifactId>avatica-core</artifactId>` +
	`<version>1.26.0</version></dependency></dependencies></project>`

// A Broker leaves, once in order and once without a word, while a driver of Avatica has a
// connection on it by the Router: the next statement runs on another Broker.
func TestABrokerLeavesUnderADriver(t *testing.T) {
	t.Parallel()
	lib, err := maven.Jars("", "avatica-1.26.0", []byte(avaticaPom), "java", "javac")
	if err != nil {
		t.Skipf("the driver can't be had: %v", err)
	}
	classes := t.TempDir()
	path := classes + ":" + filepath.Join(lib, "*")
	if out, err := exec.Command("javac", "-encoding", "UTF-8", "-cp", path, "-d", classes, "java/Stay.java").CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	c := server.StartCluster(t, server.ClusterOptions{
		Processes: [][]string{{"coordinator", "overlord", "historical", "worker"}, {"broker"}, {"broker"}, {"broker"}, {"router"}},
		Settings:  []string{`service.api.aliases=["druid"]`},
	})
	for encoding, suffix := range map[string]string{"avatica/": "", "avatica-protobuf/": ";serialization=protobuf"} {
		cmd := exec.CommandContext(t.Context(), "java", "-XX:TieredStopAtLevel=1", "-cp", path, "Stay",
			"jdbc:avatica:remote:url="+c.Addresses["router"]+"/druid/v2/sql/"+encoding+";transparent_reconnection=true"+suffix)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		next := func() string {
			if !lines.Scan() {
				t.Fatalf("the driver's program ended: %v", lines.Err())
			}
			return lines.Text()
		}
		id, connected := strings.CutPrefix(next(), "connection ")
		if !connected {
			t.Fatal("there is no connection: " + id)
		}
		run := func() string {
			fmt.Fprintln(in, "SELECT * FROM (VALUES (1), (2)) AS v(x)")
			return next()
		}
		const rows = "rows 1 2 and 42"
		if got := run(); got != rows {
			t.Fatalf("%s: %s", encoding, got)
		}
		holder := holderOf(t, c, id)
		if suffix == "" {
			if err := c.Stop(holder); err != nil {
				t.Fatal(err)
			}
		} else {
			c.Kill(holder)
		}
		// Who was killed is asked until its announcement runs out.
		server.Until(t, encoding+" goes on", func() bool { return run() == rows })
		if now := holderOf(t, c, id); now == holder {
			t.Error("the connection is on the Broker that left")
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the driver's program ends with %v", err)
		}
	}
}

// holderOf returns the Broker that knows a connection.
func holderOf(t *testing.T, c *server.Cluster, id string) *server.Process {
	t.Helper()
	for _, p := range c.Nodes {
		if address := p.Addresses["broker"]; address != "" && p.Runs() {
			request := `{"request":"connectionSync","connectionId":"` + id + `","connProps":{"connProps":"connPropsImpl","dirty":false}}`
			if status, _, _ := get(t, http.MethodPost, address+"/druid/v2/sql/avatica/", request); status == http.StatusOK {
				return p
			}
		}
	}
	t.Fatalf("no Broker knows connection [%s]", id)
	return nil
}
