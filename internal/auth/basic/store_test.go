package basic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/documents"
)

func TestUsers(t *testing.T) {
	store, by, ctx := documents.New(), &basic.Author{Identity: "admin"}, t.Context()
	u := basic.NewUsers(store, "meta", clock.System())
	step := func(what string, err error, want string) {
		t.Helper()
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && got != want {
			t.Errorf("%s: %v instead of %q", what, err, want)
		}
	}
	if names, err := u.Names(ctx); err != nil || names == nil || len(names) > 0 {
		t.Errorf("names of nothing: %v, %v", names, err)
	}
	step("create", u.Create(ctx, by, "bob"), "")
	step("create again", u.Create(ctx, by, "bob"), "User [bob] already exists.")
	step("empty password", u.SetPassword(ctx, by, "bob", "", 1000), "Cannot assign empty password.")
	step("password", u.SetPassword(ctx, by, "bob", "topsecret", 1000), "")
	step("password of nobody", u.SetPassword(ctx, by, "ann", "p", 1000), "User [ann] does not exist.")
	step("ensure", u.Ensure(ctx, "admin", "pw1", 1000), "")
	admin, err := u.Get(ctx, "admin")
	step("get", err, "")
	step("ensure again", u.Ensure(ctx, "admin", "pw2", 1000), "")
	if again, err := u.Get(ctx, "admin"); err != nil || !cmp.Equal(admin, again) {
		t.Errorf("an initial password replaced the one that was there: %v", err)
	}
	step("delete", u.Delete(ctx, by, "bob"), "")
	step("delete again", u.Delete(ctx, by, "bob"), "User [bob] does not exist.")
	_, err = u.Get(ctx, "bob")
	step("get nobody", err, "User [bob] does not exist.")
	var texts []string
	for _, c := range store.Changes() {
		texts = append(texts, c.Kind+" "+c.Key+" "+c.By.Identity+": "+c.Text)
	}
	want := []string{
		"basic.authenticator meta admin: Create user[bob]", "basic.authenticator meta admin: Set credentials for user[bob]",
		"basic.authenticator meta admin: Delete user[bob]",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
	text := string(store.Kept("basic_authentication_meta_users"))
	if strings.Contains(text, "topsecret") || !strings.Contains(text, `"iterations":1000`) {
		t.Errorf("stored: %s", text)
	}
	a := basic.NewAuthenticator("meta", basic.Options{Iterations: 1000, Clock: clock.System()})
	stored, err := u.Read(ctx)
	step("read", errors.Join(err, a.Load(stored)), "")
	if got, err := a.Verify(ctx, "admin", "pw1", ""); got != basic.Right || err != nil {
		t.Errorf("the initial password: %d, %v", got, err)
	}
	store.Put("basic_authentication_meta_users", json.RawMessage(`[]`))
	err = u.Create(ctx, by, "x")
	if err == nil || !strings.Contains(err.Error(), "The stored value of [basic_authentication_meta_users] can't be read") {
		t.Error(err)
	}
	down := errors.New("down")
	store.Fail(down)
	if err := u.Create(ctx, by, "x"); !errors.Is(err, down) {
		t.Error(err)
	}
}

func TestRoles(t *testing.T) {
	store, by, ctx := documents.New(), &basic.Author{Identity: "admin"}, t.Context()
	r := basic.NewRoles(store, "az", clock.System())
	for i, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return r.CreateUser(ctx, by, "bob") }, ""},
		{func() error { return r.CreateUser(ctx, by, "bob") }, "User [bob] already exists."},
		{func() error { return r.DeleteUser(ctx, by, "ann") }, "User [ann] does not exist."},
		{func() error { return r.Grant(ctx, by, "ann", "reader") }, "Role [reader] does not exist."},
		{func() error { return r.Revoke(ctx, by, "ann", "reader") }, "Role [reader] does not exist."},
		{func() error { return r.CreateRole(ctx, by, "reader") }, ""},
		{func() error { return r.CreateRole(ctx, by, "reader") }, "Role [reader] already exists."},
		{func() error { return r.CreateRole(ctx, by, "writer") }, ""},
		{func() error { return r.Grant(ctx, by, "ann", "reader") }, "User [ann] does not exist."},
		{func() error { return r.Revoke(ctx, by, "ann", "reader") }, "User [ann] does not exist."},
		{func() error { return r.Revoke(ctx, by, "bob", "reader") }, "User [bob] does not have role [reader]."},
		{func() error { return r.Grant(ctx, by, "bob", "writer") }, ""},
		{func() error { return r.Grant(ctx, by, "bob", "reader") }, ""},
		{func() error { return r.Grant(ctx, by, "bob", "reader") }, "User [bob] already has role [reader]."},
		{
			func() error { return r.CreateGroup(ctx, by, basic.GroupMapping{Name: "g", Pattern: "*"}) },
			"Configuration problem - Invalid groupMapping '*': a comma and a name must follow the asterisk",
		},
		{func() error {
			return r.CreateGroup(ctx, by, basic.GroupMapping{Name: "g", Pattern: "*,dc=corp", Roles: []string{"reader", "later", "reader"}})
		}, ""},
		{func() error { return r.CreateGroup(ctx, by, basic.GroupMapping{Name: "g", Pattern: "dc=corp"}) }, "Group mapping [g] already exists."},
		{func() error { return r.GrantGroup(ctx, by, "g", "reader") }, "Group mapping [g] already has role [reader]."},
		{func() error { return r.GrantGroup(ctx, by, "x", "gone") }, "Role [gone] does not exist."},
		{func() error { return r.GrantGroup(ctx, by, "x", "reader") }, "Group mapping [x] does not exist."},
		{func() error { return r.RevokeGroup(ctx, by, "x", "reader") }, "Group mapping [x] does not exist."},
		{func() error { return r.RevokeGroup(ctx, by, "g", "gone") }, "Role [gone] does not exist."},
		{func() error { return r.RevokeGroup(ctx, by, "g", "writer") }, "Group mapping [g] does not have role [writer]."},
		{func() error { return r.GrantGroup(ctx, by, "g", "writer") }, ""},
		{func() error { return r.RevokeGroup(ctx, by, "g", "writer") }, ""},
		{func() error {
			return r.SetPermissions(ctx, by, "reader", []basic.Permission{basic.MakePermission(auth.Datasource, "wiki.*", auth.Read)})
		}, ""},
		{func() error { return r.SetPermissions(ctx, by, "gone", nil) }, "Role [gone] does not exist."},
		{func() error { return r.Revoke(ctx, by, "bob", "writer") }, ""},
		{func() error { return r.DeleteRole(ctx, by, "gone") }, "Role [gone] does not exist."},
		{func() error { return r.DeleteGroup(ctx, by, "x") }, "Group mapping [x] does not exist."},
	} {
		if err := step.do(); step.want == "" && err != nil || step.want != "" && fmt.Sprint(err) != step.want {
			t.Errorf("step %d: %v instead of %q", i, err, step.want)
		}
	}
	want := basic.Policy{
		Users:  map[string]basic.Member{"bob": {Name: "bob", Roles: []string{"reader"}}},
		Groups: map[string]basic.GroupMapping{"g": {"g", "*,dc=corp", []string{"later", "reader"}}},
		Roles: map[string]basic.Role{
			"reader": {Name: "reader", Permissions: []basic.Permission{basic.MakePermission(auth.Datasource, "wiki.*", auth.Read)}},
			"writer": {Name: "writer", Permissions: []basic.Permission{}},
		},
	}
	got, err := r.All(ctx)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if users, groups := got.Having("reader"); fmt.Sprint(users, groups) != "[bob] [g]" {
		t.Errorf("who has the role: %v %v", users, groups)
	}
	if err := errors.Join(r.DeleteRole(ctx, by, "reader"), r.DeleteGroup(ctx, by, "g")); err != nil {
		t.Error(err)
	}
	got, err = r.All(ctx)
	if users, groups := got.Having("reader"); err != nil || len(users)+len(groups) > 0 || len(got.Groups) > 0 {
		t.Errorf("after the deletion: %v %v, %v", users, groups, err)
	}
	last := store.Changes()[len(store.Changes())-1]
	if last.Kind != "basic.authorizer" || last.Key != "az" || last.Text != "Delete groupMapping[g]" {
		t.Errorf("%+v", last)
	}
	found := false
	for _, c := range store.Changes() {
		found = found || c.Text == `Set permissions[{"resource":{"name":"wiki.*","type":"DATASOURCE"},"action":"READ"}] for role[reader]`
	}
	if !found {
		t.Errorf("the audit of the permissions is not among %+v", store.Changes())
	}
}

func TestEnsure(t *testing.T) {
	store, ctx := documents.New(), t.Context()
	r := basic.NewRoles(store, "az", clock.System())
	initial := basic.Initial{
		Users: map[string][]string{"admin": {"admin"}, "service_system": {"service_system"}, "boss": {"chiefs"}},
		Full:  []string{"admin", "service_system", "chiefs"}, Widened: []string{"admin", "service_system"},
		Groups: []basic.GroupMapping{{Name: "adminGroupMapping", Pattern: "cn=admins,dc=corp", Roles: []string{"admin"}}},
	}
	if err := r.Ensure(ctx, initial); err != nil {
		t.Fatal(err)
	}
	// What an older release has left: fewer types. An own role is not widened.
	few := []basic.Permission{basic.MakePermission(auth.Datasource, ".*", auth.Read), basic.MakePermission(auth.Datasource, "own", auth.Read)}
	by := &basic.Author{}
	if err := errors.Join(r.SetPermissions(ctx, by, "admin", few), r.SetPermissions(ctx, by, "chiefs", few),
		r.Revoke(ctx, by, "boss", "chiefs"), r.Ensure(ctx, initial), r.Ensure(ctx, initial)); err != nil {
		t.Fatal(err)
	}
	p, err := r.All(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all := 2 * len(auth.Kinds)
	if n := len(p.Roles["admin"].Permissions); n != all+1 {
		t.Errorf("admin has [%d] permissions", n)
	}
	if n, own := len(p.Roles["service_system"].Permissions), len(p.Roles["chiefs"].Permissions); n != all || own != 2 {
		t.Errorf("service_system has [%d] permissions, chiefs [%d]", n, own)
	}
	if len(p.Users["boss"].Roles) != 0 || p.Groups["adminGroupMapping"].Pattern == "" || p.Users["admin"].Roles[0] != "admin" {
		t.Errorf("%+v %+v", p.Users, p.Groups)
	}
	if len(store.Changes()) != 3 {
		t.Errorf("the start wrote audit entries: %+v", store.Changes())
	}
	initial.Groups[0].Pattern = "*"
	if err := r.Ensure(ctx, initial); err == nil {
		t.Error("a pattern that is not valid is taken")
	}
}

// TestOneOfTwoCreatesAUser has two processes create the same user, and many create others.
func TestOneOfTwoCreatesAUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, by := documents.New(), &basic.Author{}
		keepers := []*basic.Users{basic.NewUsers(store, "meta", clock.System()), basic.NewUsers(store, "meta", clock.System())}
		var all sync.WaitGroup
		var mu sync.Mutex
		outcomes := map[string]int{}
		for i, u := range keepers {
			all.Go(func() {
				err := u.Create(t.Context(), by, "bob")
				mu.Lock()
				defer mu.Unlock()
				outcomes[fmt.Sprint(err)]++
			})
			for n := range 10 { // in one process no two get into each other's way
				all.Go(func() {
					if err := u.Create(t.Context(), by, fmt.Sprintf("u%d-%d", i, n)); err != nil && !strings.Contains(err.Error(), "contention") {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		if outcomes["<nil>"] != 1 || outcomes["User [bob] already exists."] != 1 {
			t.Errorf("%v", outcomes)
		}
		if names, err := keepers[0].Names(t.Context()); err != nil || len(names) != 1+len(store.Changes())-1 {
			t.Errorf("%d users by %d changes, %v", len(names), len(store.Changes()), err)
		}
	})
}

func TestContentionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, tries := documents.New(), 0
		store.Before = func() {
			tries++
			store.Put("basic_authentication_meta_users", json.RawMessage(fmt.Sprintf(`{"u%d":{"name":"u%d"}}`, tries, tries)))
		}
		err := basic.NewUsers(store, "meta", clock.System()).Create(t.Context(), nil, "x")
		if fmt.Sprint(err) != "Could not create user[x] due to concurrent update contention." || tries != 5 {
			t.Errorf("%v after %d tries", err, tries)
		}
	})
}

// Limits stay when other things of their user or role are changed, and other processes know them.
func TestLimitsAreKept(t *testing.T) {
	r := basic.NewRoles(documents.New(), "az", clock.System())
	ctx, by := t.Context(), &basic.Author{}
	for _, err := range []error{
		r.CreateRole(ctx, by, "clerk"), r.CreateRole(ctx, by, "other"), r.CreateUser(ctx, by, "ann"), r.Grant(ctx, by, "ann", "clerk"),
		r.SetRoleLimits(ctx, by, "clerk", auth.Limits{auth.ReturnedRows: 5}),
		r.SetUserLimits(ctx, by, "ann", auth.Limits{auth.ConcurrentQueries: 1}),
		r.SetPermissions(ctx, by, "clerk", []basic.Permission{basic.MakePermission(auth.Datasource, "x", auth.Read)}),
		r.Grant(ctx, by, "ann", "other"), r.Revoke(ctx, by, "ann", "other"), r.Grant(ctx, by, "ann", "other"), r.DeleteRole(ctx, by, "other"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := r.SetRoleLimits(ctx, by, "gone", nil); err == nil {
		t.Error("a role that does not exist has limits")
	}
	if err := r.SetUserLimits(ctx, by, "gone", nil); err == nil {
		t.Error("a user that does not exist has limits")
	}
	p, err := r.All(ctx)
	if err != nil {
		t.Fatal(err)
	}
	a := basic.MakeDecider(t, basic.AuthorizerOptions{}, p)
	want := map[auth.LimitName]auth.Bound{
		auth.ReturnedRows: {Most: 5, Of: "role [clerk]"}, auth.ConcurrentQueries: {Most: 1, Of: "user [ann]"},
	}
	if b := a.Bounds(&auth.Identity{Name: "ann"}); b == nil || !cmp.Equal(b.Of, want) {
		t.Errorf("got %+v", b)
	}
	if b := a.Bounds(&auth.Identity{Name: "key", Roles: []string{"clerk"}}); b == nil || len(b.Of) != 1 {
		t.Errorf("a role that a key brings along: got %+v", b)
	}
	if b := a.Bounds(&auth.Identity{Name: "bob"}); b != nil {
		t.Errorf("somebody else: got %+v", b)
	}
}
