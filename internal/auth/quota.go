package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

// LimitName names the quantity that a limit bounds (docs/security.md).
type LimitName string

// The limits. Rows, bytes and CPU seconds are limited per query.
const (
	ConcurrentQueries LimitName = "concurrentQueries"
	ReturnedRows      LimitName = "rows"
	ScannedBytes      LimitName = "bytes"
	CPUSeconds        LimitName = "cpuSeconds"
	RequestsPerSecond LimitName = "requestsPerSecond"
)

// LimitNames are the names of all limits.
var LimitNames = []LimitName{ConcurrentQueries, ReturnedRows, ScannedBytes, CPUSeconds, RequestsPerSecond}

// Limits are the limits of a user or a role itself. A missing limit means unlimited.
type Limits map[LimitName]float64

// ParseLimits parses a JSON object of limits. null and {} mean no limits.
func ParseLimits(text []byte) (Limits, error) {
	var out Limits
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fault.InvalidInput("The limits are not a JSON object of numbers: %s", fault.JSONProblem(err))
	}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if err := out.check(name); err != nil {
			return nil, fault.InvalidInput("Limit [%s] %s", name, err)
		}
	}
	return out, nil
}

func (l Limits) check(name LimitName) error {
	most := l[name]
	switch {
	case !slices.Contains(LimitNames, name):
		return fmt.Errorf("is unknown; the limits are %s", strings.Trim(fmt.Sprint(LimitNames), "[]"))
	case most <= 0 || math.IsInf(most, 0) || most > 1<<53:
		return errors.New("must be a number above 0; leave it out for no limit")
	case name != CPUSeconds && name != RequestsPerSecond && most != math.Trunc(most):
		return errors.New("must be a whole number")
	}
	return nil
}

// Bound is an effective limit and its origin: "role [clerk]" or "user [ann]".
type Bound struct {
	Most float64
	Of   string
}

// Bounds are the effective limits of a user. Nil Bounds limit nothing.
type Bounds struct {
	User string
	Of   map[LimitName]Bound
}

// RoleLimits are the limits of a role.
type RoleLimits struct {
	Role   string
	Limits Limits
}

// BoundsOf combines limits: a limit of the user overrides the limits of the roles, and the highest
// of the role limits applies. nil: there are no limits.
func BoundsOf(user string, own Limits, roles []RoleLimits) *Bounds {
	var out *Bounds
	set := func(name LimitName, b Bound) {
		if out == nil {
			out = &Bounds{User: user, Of: map[LimitName]Bound{}}
		}
		out.Of[name] = b
	}
	for _, r := range roles {
		for name, most := range r.Limits {
			if out == nil || out.Of[name].Most < most {
				set(name, Bound{most, "role [" + r.Role + "]"})
			}
		}
	}
	for name, most := range own {
		set(name, Bound{most, "user [" + user + "]"})
	}
	return out
}

// Find returns a limit, or false if it is not set.
func (b *Bounds) Find(name LimitName) (Bound, bool) {
	if b == nil {
		return Bound{}, false
	}
	of, is := b.Of[name]
	return of, is
}

// reached begins what somebody is told whom a limit stops.
func (b Bound) reached(name LimitName) string {
	return fmt.Sprintf("Limit [%s] of %s is reached: ", name, b.Of)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// TooMany returns the fault of a query of a user who already runs the maximum number of queries.
func (b *Bounds) TooMany() error {
	of := b.Of[ConcurrentQueries]
	return fault.Capacity("%suser [%s] may run [%s] queries at a time. Try again when one of them has ended.",
		of.reached(ConcurrentQueries), b.User, number(of.Most)).With(fault.RetryAfter, "1")
}

// TooFast returns the fault of a request that exceeds the request rate. wait is the time until the
// next request is accepted.
func (b *Bounds) TooFast(wait time.Duration) error {
	of, seconds := b.Of[RequestsPerSecond], strconv.Itoa(int(math.Ceil(wait.Seconds())))
	return fault.Capacity("%suser [%s] may send [%s] requests a second. Try again in [%s] seconds.",
		of.reached(RequestsPerSecond), b.User, number(of.Most), seconds).With(fault.RetryAfter, seconds)
}

// TooLarge returns the fault of a query that exceeds a limit of rows, bytes or CPU time.
func (b *Bounds) TooLarge(name LimitName) error {
	of := b.Of[name]
	what := map[LimitName]string{
		ReturnedRows: "may return [%s] rows, and this query has more. Reduce the number of rows",
		ScannedBytes: "may read segments of [%s] bytes, and this query reads more. Reduce the time range",
		CPUSeconds:   "may compute for [%s] seconds, and this query has exceeded that. Simplify the query",
	}[name]
	return fault.ResourceLimit("%sone query of user [%s] "+what, of.reached(name), b.User, number(of.Most))
}

// bounder is an Authorizer that knows limits.
type bounder interface{ Bounds(*Identity) *Bounds }

// Bounds returns the limits of the identity; nil: unlimited.
func (a *Access) Bounds() *Bounds {
	if a == nil || a.id == nil {
		return nil
	}
	if by, ok := a.by.(bounder); ok {
		return by.Bounds(a.id)
	}
	return nil
}

// Key returns a name of the user that is unique among all authorizers, for counters.
func (a *Access) Key() string {
	if a == nil || a.id == nil {
		return ""
	}
	return a.id.Authorizer + "\x00" + a.id.Name
}
