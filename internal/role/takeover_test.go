package role

import (
	"testing"
	"time"

	"github.com/hengedb/henge/internal/config"
)

// A leader is followed within a lease and a sixth of one (cluster,
// TestALeaderIsFollowedWithinALeaseAndALook), by the settings that nobody changed in less than five
// seconds; requests wait for longer than that.
func TestALeaderIsFollowedInTime(t *testing.T) {
	set, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	lease := set.Duration("service.leader.leaseDuration")
	if most := lease + lease/6; most >= 5*time.Second || most >= findLeader {
		t.Errorf("a leader is followed after up to %s, and requests wait for %s", most, findLeader)
	}
}
