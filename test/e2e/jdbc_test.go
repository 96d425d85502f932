package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/maven"
)

// jdbcAnswers is what the client prints, whatever the encoding.
const jdbcAnswers = `catalogs: TABLE_CAT VARCHAR
  service
  rows: 1
schemas: TABLE_SCHEM VARCHAR TABLE_CATALOG VARCHAR
  INFORMATION_SCHEMA service
  rows: 1
tables: TABLE_CAT VARCHAR TABLE_SCHEM VARCHAR TABLE_NAME VARCHAR TABLE_TYPE VARCHAR REMARKS VARCHAR TYPE_CAT VARCHAR ` +
	`TYPE_SCHEM VARCHAR TYPE_NAME VARCHAR SELF_REFERENCING_COL_NAME VARCHAR REF_GENERATION VARCHAR
  service service jdbc_t TABLE null null null null null null
  rows: 1
  column __time 93 TIMESTAMP
  column v -5 BIGINT
types: i INTEGER s CHAR b BOOLEAN dt DATE t TIMESTAMP arr ARRAY d DOUBLE l BIGINT n VARCHAR f FLOAT
  1 x true 2020-01-02 2020-01-02 03:04:05.0 [1, 2] 1.5 9007199254740993 null 3.0
  rows: 1
got: 1 2020-01-02 2020-01-02 03:04:05.0 3.0 1.5
parameters: BIGINT TIMESTAMP
from 2: v BIGINT y BIGINT
  2 20
  3 30
  rows: 2
from 5: v BIGINT y BIGINT
  5 50
  6 60
  rows: 2
text: s CHAR
  ä'b
  rows: 1
frames: n BIGINT
  0
  rows: 1000
most: v BIGINT
  0
  rows: 7
error: QueryInterruptedException: Column 'nope' not found in any table (line [1], column [8])
closed
`

// TestJDBC runs a client with the unmodified driver of Avatica, of an old and a new release, in
// both encodings, through the Router and the Broker.
func TestJDBC(t *testing.T) {
	p := launch(t, exec.Command(henge, append([]string{"server", "--data", t.TempDir()}, ports()...)...))
	var rows bytes.Buffer
	for v := range 10 {
		fmt.Fprintf(&rows, "{\"t\":\"2024-01-01T00:00:%02d\",\"v\":%d}\n", v, v)
	}
	if r := tool(t, rows.String(), "ingest", "-", "--into", "jdbc_t", "--server", p.Addresses["router"]); r.code != 0 {
		t.Fatalf("the load ends with %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	for i, release := range []string{"1.23.0", "1.26.0"} {
		pom := []byte(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>t</groupId>` +
			`<artifactId>t</artifactId><version>1</version><dependencies><dependency><groupId>org.apache.calcite.avatica</groupId>` +
			`<artifactId>avatica-core</artifactId><version>` + release + `</version></dependency></dependencies></project>`)
		lib, err := maven.Jars("", "avatica-"+release, pom, "java", "javac")
		if err != nil {
			t.Skipf("the driver can't be had: %v", err)
		}
		classes := t.TempDir()
		if out, err := exec.Command("javac", "-encoding", "UTF-8", "-d", classes, "testdata/Jdbc.java").CombinedOutput(); err != nil {
			t.Fatalf("javac: %v\n%s", err, out)
		}
		for encoding, suffix := range map[string]string{"avatica/": "", "avatica-protobuf/": ";serialization=protobuf"} {
			t.Run(release+" "+encoding, func(t *testing.T) {
				role := []string{"router", "broker"}[i]
				cmd := exec.CommandContext(t.Context(), "java", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-Duser.timezone=UTC",
					"-cp", classes+":"+filepath.Join(lib, "*"), "Jdbc", "jdbc:avatica:remote:url="+p.Addresses[role]+"/service/v2/sql/"+encoding+suffix)
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				if err := cmd.Run(); err != nil {
					t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
				}
				if got := strings.ReplaceAll(stdout.String(), "\r", ""); got != jdbcAnswers {
					t.Errorf("got\n%s\nwant\n%s", got, jdbcAnswers)
				}
			})
		}
	}
}
