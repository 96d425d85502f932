package basic

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

func permission(kind auth.Kind, pattern string, action auth.Action) Permission {
	return Permission{Need: auth.Need{Resource: auth.Resource{Name: pattern, Kind: kind}, Action: action}}
}

// decider returns an authorizer that has loaded a policy.
func decider(t testing.TB, o AuthorizerOptions, p Policy) *Authorizer {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	a, err := NewAuthorizer("az", o)
	if err != nil {
		t.Fatal(err)
	}
	load(t, a, p)
	return a
}

func load(t testing.TB, a *Authorizer, p Policy) {
	t.Helper()
	for _, m := range []*map[string]GroupMapping{&p.Groups} {
		if *m == nil {
			*m = map[string]GroupMapping{}
		}
	}
	users, err := p.SerializedUsers()
	if err != nil {
		t.Fatal(err)
	}
	groups, err := p.SerializedGroups()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.LoadUsers(users); err != nil {
		t.Fatal(err)
	}
	if err := a.LoadGroups(groups); err != nil {
		t.Fatal(err)
	}
}

func TestDecide(t *testing.T) {
	many := Role{Name: "many"}
	for i := range 50 {
		many.Permissions = append(many.Permissions, permission(auth.Datasource, fmt.Sprintf("t%d_.*_x", i), auth.Read))
	}
	a := decider(t, AuthorizerOptions{}, Policy{
		Users: map[string]Member{
			"admin": {Name: "admin", Roles: []string{"all"}}, "bob": {Name: "bob", Roles: []string{"wiki", "gone"}},
			"ann": {Name: "ann", Roles: []string{}},
			"eve": {Name: "eve", Roles: []string{"many", "state"}},
		},
		Roles: map[string]Role{
			"all": {Name: "all", Permissions: []Permission{
				permission(auth.Datasource, ".*", auth.Read), permission(auth.Datasource, ".*", auth.Write),
			}},
			"wiki": {Name: "wiki", Permissions: []Permission{
				permission(auth.Datasource, "wiki", auth.Read), permission(auth.Datasource, "log|audit", auth.Write), permission("NEW", "x", auth.Read),
			}},
			"state": {Name: "state", Permissions: []Permission{permission(auth.State, "STATE", auth.Read)}},
			"many":  many,
		},
	})
	for _, tt := range []struct {
		user string
		need auth.Need
		want bool
	}{
		{"admin", auth.Reads(auth.Datasource, "x"), true}, {"admin", auth.Writes(auth.Datasource, "x"), true},
		{"admin", auth.Reads(auth.State, "x"), false},
		{"bob", auth.Reads(auth.Datasource, "wiki"), true}, {"bob", auth.Reads(auth.Datasource, "wikipedia"), false},
		{"bob", auth.Writes(auth.Datasource, "wiki"), false}, {"bob", auth.Writes(auth.Datasource, "audit"), true},
		{"bob", auth.Writes(auth.Datasource, "audits"), false}, {"bob", auth.Reads(auth.Datasource, "log"), false},
		{"ann", auth.Reads(auth.Datasource, "wiki"), false}, {"nobody", auth.Reads(auth.Datasource, "wiki"), false},
		{"", auth.Reads(auth.Datasource, "wiki"), false}, {"Bob", auth.Reads(auth.Datasource, "wiki"), false},
		{"eve", auth.Reads(auth.State, "STATE"), true}, {"eve", auth.Reads(auth.Datasource, "t7_a_x"), true},
		{"eve", auth.Reads(auth.Datasource, "t7_a"), false},
	} {
		for range 2 { // also out of what is remembered
			got, err := a.Decide(t.Context(), &auth.Identity{Name: tt.user}, tt.need)
			if err != nil || got.Allowed != tt.want || got.Rules != nil {
				t.Errorf("%s, %s: %+v, %v", tt.user, tt.need, got, err)
			}
		}
	}
	if got, err := a.Decide(t.Context(), nil, auth.Reads(auth.State, "STATE")); err != nil || got.Allowed {
		t.Errorf("nobody: %+v, %v", got, err)
	}
	got, err := a.Decide(t.Context(), &auth.Identity{Name: "token", Roles: []string{"state"}}, auth.Reads(auth.State, "STATE"))
	if err != nil || !got.Allowed {
		t.Errorf("a role of a token: %+v, %v", got, err)
	}
}

func TestDecisionsNeedRoles(t *testing.T) {
	for _, directory := range []bool{false, true} {
		a, err := NewAuthorizer("az", AuthorizerOptions{Directory: directory, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Decide(t.Context(), &auth.Identity{Name: "bob"}, auth.Reads(auth.State, "STATE"))
		if f := fault.Find(err); f == nil || f.Category != fault.CategoryServiceUnavailable {
			t.Error(err)
		}
		if err := a.LoadUsers([]byte(`{"userMap":{},"roleMap":{}}`)); err != nil || a.Loaded() == directory {
			t.Errorf("directory %v: loaded %v, %v", directory, a.Loaded(), err)
		}
		for _, text := range []string{`null`, `{}`, `{"userMap":{}}`, `[]`, `{"userMap":{},"roleMap":{"a":1}}`} {
			if err := a.LoadUsers([]byte(text)); err == nil {
				t.Errorf("[%s] is taken for users", text)
			}
		}
		for _, text := range []string{`null`, `{}`, `{"groupMappingMap":{}}`, `[]`, `{"groupMappingMap":{},"roleMap":{"a":1}}`} {
			if err := a.LoadGroups([]byte(text)); err == nil {
				t.Errorf("[%s] is taken for group mappings", text)
			}
		}
	}
	if _, err := NewAuthorizer("az", AuthorizerOptions{GroupFilters: []string{"*"}}); err == nil {
		t.Error("a filter that is not valid is taken")
	}
}

func TestRolesOfGroups(t *testing.T) {
	policy := Policy{
		Users: map[string]Member{"bob": {Name: "bob", Roles: []string{"own"}}},
		Groups: map[string]GroupMapping{
			"a": {"a", "cn=analysts,ou=groups,dc=corp", []string{"analyst"}}, "g": {"g", "*,ou=groups,dc=corp", []string{"staff"}},
			"w": {"w", "*", []string{"never"}}, "d": {"d", "cn=admins,*", []string{"admin"}},
		},
		Roles: map[string]Role{},
	}
	id := &auth.Identity{Name: "bob", Groups: []string{"CN=Analysts, OU=groups, DC=corp", "not a name", "CN=admins,OU=other,DC=corp"}}
	for name, tt := range map[string]struct {
		directory bool
		filters   []string
		want      []string
	}{
		"metadata":   {false, nil, []string{"own"}},
		"directory":  {true, nil, []string{"admin", "analyst", "own", "staff"}},
		"filters":    {true, []string{"*,ou=groups,dc=corp"}, []string{"analyst", "own", "staff"}},
		"no filters": {true, []string{}, []string{"own"}},
	} {
		a := decider(t, AuthorizerOptions{Directory: tt.directory, GroupFilters: tt.filters}, policy)
		for range 2 {
			if got := a.Roles(id); !slices.Equal(got, tt.want) {
				t.Errorf("%s: %v", name, got)
			}
		}
		if got := a.Roles(&auth.Identity{Name: "bob"}); !slices.Equal(got, []string{"own"}) {
			t.Errorf("%s: without groups %v", name, got)
		}
	}
}

func TestRules(t *testing.T) {
	rule := func(rows string) *auth.Rule { return &auth.Rule{Rows: rows} }
	limit := func(pattern, rows string) Permission {
		p := permission(auth.Datasource, pattern, auth.Read)
		p.Policy = rule(rows)
		return p
	}
	var filler []Permission
	for i := range 20 {
		filler = append(filler, permission(auth.Datasource, fmt.Sprintf("z%d.*", i), auth.Read))
	}
	for _, more := range [][]Permission{nil, filler} {
		a := decider(t, AuthorizerOptions{}, Policy{
			Users: map[string]Member{
				"one": {Name: "one", Roles: []string{"eu"}}, "two": {Name: "two", Roles: []string{"eu", "us"}},
				"all": {Name: "all", Roles: []string{"eu", "whole"}},
			},
			Roles: map[string]Role{
				"eu":    {Name: "eu", Permissions: slices.Concat(more, []Permission{limit("orders.*", "region = 'eu'")})},
				"us":    {Name: "us", Permissions: slices.Concat(more, []Permission{limit("orders", "region = 'us'"), limit(".*", "FALSE")})},
				"whole": {Name: "whole", Permissions: slices.Concat(more, []Permission{permission(auth.Datasource, "orders", auth.Read)})},
			},
		})
		for user, want := range map[string][]*auth.Rule{
			"one": {{Role: "eu", Rows: "region = 'eu'"}},
			"two": {{Role: "eu", Rows: "region = 'eu'"}, {Role: "us", Rows: "region = 'us'"}, {Role: "us", Rows: "FALSE"}},
			"all": nil,
		} {
			for range 2 {
				got, err := a.Decide(t.Context(), &auth.Identity{Name: user}, auth.Reads(auth.Datasource, "orders"))
				if diff := cmp.Diff(auth.Grant{Allowed: true, Rules: want}, got); diff != "" || err != nil {
					t.Errorf("%s: %v %s", user, err, diff)
				}
			}
		}
	}
}

func TestUsersOfManyRoles(t *testing.T) {
	p := Policy{Users: map[string]Member{}, Roles: map[string]Role{}}
	var names []string
	for i := range 30 {
		name := fmt.Sprintf("r%d", i)
		names = append(names, name)
		p.Roles[name] = Role{Name: name, Permissions: []Permission{permission(auth.Datasource, fmt.Sprintf("t%d", i), auth.Read)}}
	}
	p.Users["bob"], p.Users["ann"] = Member{Name: "bob", Roles: names}, Member{Name: "ann", Roles: names[:20]}
	a := decider(t, AuthorizerOptions{}, p)
	check := func(user, table string, want bool) {
		t.Helper()
		for range 2 {
			if got, err := a.Decide(t.Context(), &auth.Identity{Name: user}, auth.Reads(auth.Datasource, table)); err != nil || got.Allowed != want {
				t.Errorf("%s, %s: %+v, %v", user, table, got, err)
			}
		}
	}
	check("bob", "t25", true)
	check("ann", "t25", false)
	if got, err := a.Decide(t.Context(), &auth.Identity{Name: "bob"}, auth.Writes(auth.Datasource, "t25")); err != nil || got.Allowed {
		t.Errorf("writing: %+v, %v", got, err)
	}
	delete(p.Roles, "r25")
	p.Users["ann"] = Member{Name: "ann", Roles: names}
	load(t, a, p)
	check("bob", "t25", false) // what was remembered before does not count
	check("ann", "t24", true)
}

// TestRolesThatStayKeepTheirPatterns sees that a change of one role compiles nothing of another.
func TestRolesThatStayKeepTheirPatterns(t *testing.T) {
	p := Policy{
		Users: map[string]Member{"bob": {Name: "bob", Roles: []string{"a", "b"}}},
		Roles: map[string]Role{
			"a": {Name: "a", Permissions: []Permission{permission(auth.Datasource, "a.*", auth.Read)}},
			"b": {Name: "b", Permissions: []Permission{permission(auth.Datasource, "b.*", auth.Read)}},
		},
	}
	a := decider(t, AuthorizerOptions{}, p)
	before := a.state.Load().roles
	p.Roles["b"] = Role{Name: "b", Permissions: []Permission{permission(auth.Datasource, "c.*", auth.Read)}}
	load(t, a, p)
	after := a.state.Load().roles
	if before["a"] != after["a"] || before["b"] == after["b"] {
		t.Error("the roles that stayed are not those that were kept")
	}
	for table, want := range map[string]bool{"a1": true, "b1": false, "c1": true} {
		if got, err := a.Decide(t.Context(), &auth.Identity{Name: "bob"}, auth.Reads(auth.Datasource, table)); err != nil || got.Allowed != want {
			t.Errorf("%s: %+v, %v", table, got, err)
		}
	}
}

func TestPatternsOfOtherReleasesAreSkipped(t *testing.T) {
	a := decider(t, AuthorizerOptions{}, Policy{
		Users: map[string]Member{"bob": {Name: "bob", Roles: []string{"a"}}},
		Roles: map[string]Role{
			"a": {Name: "a", Permissions: []Permission{
				permission(auth.Datasource, "(?=a)", auth.Read), permission(auth.Datasource, "b", auth.Read),
			}},
		},
	})
	for table, want := range map[string]bool{"a": false, "(?=a)": false, "b": true} {
		if got, err := a.Decide(t.Context(), &auth.Identity{Name: "bob"}, auth.Reads(auth.Datasource, table)); err != nil || got.Allowed != want {
			t.Errorf("%s: %+v, %v", table, got, err)
		}
	}
}

// BenchmarkDecide decides for 100,000 users with 10,000 roles; the role of those who ask has 1,000
// patterns. "first" decides about names that were not asked for before.
func BenchmarkDecide(b *testing.B) {
	const users, roles, patterns = 100_000, 10_000, 1000
	for name, form := range map[string]string{
		"names": "tenant%d_orders", "prefixes": "tenant%d_.*", "automata": "tenant%d_(orders|items)_[0-9]+", "free": ".*_[a-f]+%d_.*",
	} {
		p := Policy{Users: make(map[string]Member, users), Groups: map[string]GroupMapping{}, Roles: make(map[string]Role, roles)}
		var list []Permission
		for i := range patterns {
			list = append(list, permission(auth.Datasource, fmt.Sprintf(form, i), auth.Read))
		}
		for i := range roles {
			role := fmt.Sprintf("role%d", i)
			p.Roles[role] = Role{Name: role, Permissions: list[:1]}
		}
		p.Roles["asked"] = Role{Name: "asked", Permissions: list}
		for i := range users {
			user := fmt.Sprintf("user%d", i)
			p.Users[user] = Member{Name: user, Roles: []string{fmt.Sprintf("role%d", i%roles), "asked"}}
		}
		a := decider(b, AuthorizerOptions{}, p)
		ask := func(b *testing.B, user, table string) {
			if _, err := a.Decide(context.Background(), &auth.Identity{Name: user}, auth.Reads(auth.Datasource, table)); err != nil {
				b.Fatal(err)
			}
		}
		ask(b, "user7", "warm") // patterns are compiled once
		runtime.GC()
		b.Run(name+"/first", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				ask(b, fmt.Sprintf("user%d", i%users), fmt.Sprintf("tenant%d_other_%d", patterns-1, i))
			}
		})
		b.Run(name+"/again", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				ask(b, fmt.Sprintf("user%d", i%users), fmt.Sprintf("tenant%d_other", i%100))
			}
		})
	}
}

// BenchmarkLoad loads the same policy after one user of it has changed.
func BenchmarkLoad(b *testing.B) {
	p := Policy{Users: map[string]Member{}, Groups: map[string]GroupMapping{}, Roles: map[string]Role{}}
	for i := range 10_000 {
		role := fmt.Sprintf("role%d", i)
		p.Roles[role] = Role{Name: role, Permissions: []Permission{permission(auth.Datasource, role+".*", auth.Read)}}
	}
	for i := range 100_000 {
		user := fmt.Sprintf("user%d", i)
		p.Users[user] = Member{Name: user, Roles: []string{fmt.Sprintf("role%d", i%10_000)}}
	}
	a := decider(b, AuthorizerOptions{}, p)
	text, err := p.SerializedUsers()
	if err != nil {
		b.Fatal(err)
	}
	if !json.Valid(text) {
		b.Fatal("not JSON")
	}
	for b.Loop() {
		if err := a.LoadUsers(text); err != nil {
			b.Fatal(err)
		}
	}
}
