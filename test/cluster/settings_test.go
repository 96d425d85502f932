package cluster

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// A rule of the blocklist is obeyed by every Broker as soon as it is written, and no longer when it
// is gone. The clock of all stands still meanwhile: none comes by it because it looks now and then.
func TestTheBlocklistIsObeyedAtOnce(t *testing.T) {
	clock := server.NewStepped(t)
	c := server.StartCluster(t, server.ClusterOptions{
		Clock: clock, Metastore: metastore.Options{URL: postgres.URL(t)},
		Processes: [][]string{{"coordinator", "overlord", "worker"}, {"historical"}, {"broker"}, {"router", "broker"}},
	})
	days(t, c, "wiki", 0, 2)
	goOn := clock.Hold()
	defer goOn()
	for _, rule := range []string{`{"type":"default","ruleName":"not now","dataSources":["wiki"]}`, ""} {
		status, text, err := c.Send(t.Context(), "router", http.MethodPost, "/service/coordinator/v1/broker/config", `{"queryBlocklist":[`+rule+`]}`)
		if err != nil || status != http.StatusOK {
			t.Fatalf("%d %s %v", status, text, err)
		}
		for _, p := range c.Nodes[2:] {
			broker := server.Client{Addresses: p.Addresses}
			c.Until("the Broker obeys ["+rule+"]", func() bool {
				status, text, err := broker.Send(t.Context(), "broker", http.MethodPost, "/service/v2/sql", `{"query":"SELECT COUNT(*) FROM wiki"}`)
				if err != nil {
					t.Fatal(err)
				}
				if rule == "" {
					return status == http.StatusOK
				}
				return status == http.StatusForbidden && strings.Contains(string(text), "not now")
			})
		}
	}
}

// A Router that knows no Broker says so with the status of the interface, in the shape of its
// errors.
func TestARouterWithoutABrokerSaysSo(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{{"coordinator", "overlord"}, {"router"}}})
	for _, request := range []struct{ path, body string }{
		{"/service/v2/sql", `{"query":"SELECT 1"}`},
		{"/service/v2", `{"queryType":"timeBoundary","dataSource":"wiki"}`},
	} {
		status, text, err := c.Send(t.Context(), "router", http.MethodPost, request.path, request.body)
		if err != nil || status != http.StatusInternalServerError || !strings.Contains(string(text), "No Broker of service [service/broker] is available") {
			t.Errorf("%s: %d %s %v", request.path, status, text, err)
		}
		for _, member := range []string{`"error"`, `"errorMessage"`, `"errorClass"`, `"host"`} {
			if !strings.Contains(string(text), member) {
				t.Errorf("%s: %s has no %s", request.path, text, member)
			}
		}
	}
}

// A Coordinator that is told to be is the Overlord too, and one that is told to wait leads without
// doing anything.
func TestACoordinatorMayBeOverlordAndMayWait(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{
		Processes: [][]string{{"historical"}, {"worker"}, {"router", "broker"}},
		Settings:  []string{"service.coordinator.asOverlord.enabled=true", "service.coordinator.startDelay=PT1H"},
	})
	c.Start("coordinator")
	c.Until("it leads as both", func() bool {
		for _, path := range []string{"/service/coordinator/v1/isLeader", "/service/indexer/v1/isLeader"} {
			if status, _, err := c.Send(t.Context(), "router", http.MethodGet, path, ""); err != nil || status != http.StatusOK {
				return false
			}
		}
		return true
	})
	ran := func(group string) bool {
		t.Helper()
		var duties struct {
			DutyGroups []struct{ Name, LastRunStart string }
		}
		if err := c.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/duties", nil, &duties); err != nil {
			t.Fatal(err)
		}
		for _, d := range duties.DutyGroups {
			if d.Name == group {
				return d.LastRunStart != ""
			}
		}
		t.Fatalf("there is no group %s of %+v", group, duties)
		return false
	}
	c.Until("duties of the Overlord run", func() bool { return ran("IndexingServiceDuties") })
	if ran("HistoricalManagementDuties") {
		t.Error("the Coordinator has not waited")
	}
}
