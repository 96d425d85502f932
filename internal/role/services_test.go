package role

import (
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/cluster"
)

// A process opens what its roles need and nothing else.
func TestServicesOfRoles(t *testing.T) {
	all := "timeline lookups storage segments rules inventory live queries tasks management"
	for roles, want := range map[string]string{
		cluster.Router:                   "rules routing",
		cluster.Historical:               "timeline lookups storage segments inventory live queries",
		cluster.Broker:                   all,
		cluster.Indexer:                  all,
		cluster.Coordinator:              all,
		cluster.Overlord:                 all,
		"router historical":              "timeline lookups storage segments rules inventory live queries routing",
		strings.Join(cluster.Roles, " "): all + " routing",
	} {
		var got []string
		for _, v := range servicesOf(strings.Fields(roles)) {
			got = append(got, v.name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s opens %v, want %s", roles, got, want)
		}
	}
}

// Each service stands behind those that it needs.
func TestServicesAreOpenedInOrder(t *testing.T) {
	var opened []string
	for _, v := range serviceList {
		for _, need := range v.needs {
			if !slices.Contains(opened, need) {
				t.Errorf("service [%s] needs [%s], which is not opened before it", v.name, need)
			}
		}
		if slices.Contains(opened, v.name) {
			t.Errorf("service [%s] is there twice", v.name)
		}
		opened = append(opened, v.name)
	}
}
