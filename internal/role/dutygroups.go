package role

import (
	"slices"
	"time"

	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/duty/clean"
	"github.com/hengedb/henge/internal/fault"
)

// Duties that operators may put into groups of their own.
const (
	compactSegments = "compactSegments"
	killSupervisors = "killSupervisors"
)

// dutyGroup are duties with a period of their own, which operators have made by
// service.coordinator.dutyGroups.
type dutyGroup struct {
	name   string
	duties []string
	period time.Duration
	// retain is how old records of supervisors must be that killSupervisors forgets.
	retain time.Duration
}

// dutyGroups reads the groups of the settings. A duty stands in one group at most: who wants it
// twice as often sets its period.
func dutyGroups(set *config.Settings) ([]dutyGroup, error) {
	const prefix = "service.coordinator."
	var out []dutyGroup
	for _, name := range set.List(prefix + "dutyGroups") {
		duties, period, retain := prefix+name+".duties", prefix+name+".period", prefix+name+".duty."+killSupervisors+".durationToRetain"
		g := dutyGroup{name: name, duties: set.List(duties), period: set.Duration(period)}
		if len(g.duties) == 0 {
			return nil, fault.InvalidInput("Group [%s] of setting [%sdutyGroups] has no duties: set [%s]", name, prefix, duties)
		}
		if g.period <= 0 {
			return nil, fault.InvalidInput("Value [%s] of setting [%s] is not above zero", set.Text(period), period)
		}
		for _, d := range g.duties {
			if d != compactSegments && d != killSupervisors {
				return nil, fault.InvalidInput("Duty [%s] of setting [%s] is unknown: it must be [%s] or [%s]", d, duties, compactSegments, killSupervisors)
			}
			if other := groupOf(out, d); other != nil {
				return nil, fault.InvalidInput("Duty [%s] of setting [%s] is also in group [%s]", d, duties, other.name)
			}
		}
		if g.retain = set.Duration(prefix + "kill." + clean.Supervisors + ".durationToRetain"); set.IsSet(retain) {
			g.retain = set.Duration(retain)
		}
		out = append(out, g)
	}
	return out, nil
}

// groupOf returns the group that has a duty; nil: none has.
func groupOf(groups []dutyGroup, duty string) *dutyGroup {
	if i := slices.IndexFunc(groups, func(g dutyGroup) bool { return slices.Contains(g.duties, duty) }); i >= 0 {
		return &groups[i]
	}
	return nil
}
