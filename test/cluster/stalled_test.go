package cluster

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// A client that reads nothing of what a Router passes on is left by both when the Broker's query is
// too late, or is cancelled.
func TestTheRouterLeavesClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	c := server.StartCluster(t, server.ClusterOptions{Processes: server.Small})
	days(t, c, "wiki", 0, 5)
	for name, timeout := range map[string]int{"late": 5000, "cancelled": 100_000} {
		u, err := url.Parse(c.Addresses["router"])
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"query":"SELECT REPEAT('x', 10000) AS s FROM wiki a CROSS JOIN wiki b CROSS JOIN wiki c","context":{"sqlQueryId":"%s","timeout":%d}}`, name, timeout)
		_, err = fmt.Fprintf(conn, "POST /service/v2/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if err != nil {
			t.Fatal(err)
		}
		begun := make([]byte, len("HTTP/1.1 200"))
		if _, err := io.ReadFull(conn, begun); err != nil || string(begun) != "HTTP/1.1 200" {
			t.Fatalf("%s: %s %v", name, begun, err)
		}
		if name == "cancelled" {
			c.Until("the query is cancelled", func() bool {
				status, _, err := c.Send(t.Context(), "router", http.MethodDelete, "/service/v2/sql/cancelled", "")
				return err == nil && status == http.StatusAccepted
			})
		}
		c.Until(name+": the Router gives the connection up", func() bool {
			_, err := conn.Write([]byte(" "))
			return err != nil
		})
	}
}
