package role

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/security"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/secret"
)

// userbase is what this process knows of the users and roles of types basic. It is filled while the
// settings of security are read, and opened when the store and the other processes are known.
type userbase struct {
	n *Node
	o security.Options
	// authenticators and authorizers are those of the settings, in their order.
	authenticators []*storedUsers
	authorizers    []*storedRoles
	follower       *basic.Follower
	push           *pusher
	// fetch reads a map from the store, where this process does.
	fetch map[*basic.Part]func(ctx context.Context) ([]byte, error)
}

// storedUsers is an authenticator with what its settings say.
type storedUsers struct {
	of              *basic.Authenticator
	stored          *basic.Users
	iterations      int
	admin, internal secret.Text // initial passwords; none: the user is not created
}

// storedRoles is an authorizer with what its settings say.
type storedRoles struct {
	of                         *basic.Authorizer
	stored                     *basic.Roles
	adminUser, adminRole, maps string
}

// userWait is how long a start waits for users and roles. A process that has none by then starts
// nevertheless, and refuses requests until it has them.
const userWait = 3 * time.Second

// newUserbase returns a userbase that knows nothing yet.
func newUserbase(n *Node) *userbase {
	return &userbase{n: n, fetch: map[*basic.Part]func(context.Context) ([]byte, error){}, o: security.Options{
		Authenticators: map[string]security.Authenticator{}, Authorizers: map[string]security.Authorizer{},
	}}
}

// authenticator builds an authenticator of type basic.
func (u *userbase) authenticator(p auth.Part) (auth.Authenticator, error) {
	by, err := p.Required("authorizerName")
	if err != nil {
		return nil, err
	}
	iterations := p.Int("credentialIterations")
	if iterations < 1000 || iterations > 10_000_000 {
		return nil, fault.InvalidInput("Value [%d] of setting [%scredentialIterations] is not between [1000] and [10000000]",
			iterations, p.Prefix)
	}
	s := &storedUsers{iterations: int(iterations)}
	if s.admin, err = p.Secret("initialAdminPassword"); err != nil {
		return nil, err
	}
	if s.internal, err = p.Secret("initialInternalClientPassword"); err != nil {
		return nil, err
	}
	f := &basic.Filter{Name: p.Name, Authorizer: by, PassOn: p.Bool("skipOnFailure")}
	s.of = basic.NewAuthenticator(p.Name, basic.Options{Iterations: s.iterations, PassOn: f.PassOn, Clock: u.n.o.Clock})
	switch kind := p.Text("credentialsValidator.type"); kind {
	case "metadata":
		f.Validator = s.of
	case "ldap":
		if f.Validator, err = u.n.directoryOf(p); err != nil {
			return nil, err
		}
	default:
		return nil, fault.InvalidInput("Value [%s] of setting [%scredentialsValidator.type] is not a known type; it is one of [ldap, metadata]",
			kind, p.Prefix)
	}
	s.stored = basic.NewUsers(security.NewStore(u.n.store), p.Name, u.n.o.Clock)
	u.authenticators = append(u.authenticators, s)
	u.o.Authenticators[p.Name] = security.Authenticator{Users: s.stored, Iterations: s.iterations, Parts: s.of.Parts()}
	return f, nil
}

// authorizer builds an authorizer of type basic.
func (u *userbase) authorizer(p auth.Part) (auth.Authorizer, error) {
	o := basic.AuthorizerOptions{Log: u.n.o.Log}
	switch kind := p.Text("roleProvider.type"); kind {
	case "metadata":
	case "ldap":
		o.Directory = true
	default:
		return nil, fault.InvalidInput("Value [%s] of setting [%sroleProvider.type] is not a known type; it is one of [ldap, metadata]",
			kind, p.Prefix)
	}
	if p.Settings.IsSet(p.Prefix + "roleProvider.groupFilters") {
		// An empty list lets no group count; a list that is not set lets all.
		o.GroupFilters = append([]string{}, p.Settings.List(p.Prefix+"roleProvider.groupFilters")...)
	}
	a, err := basic.NewAuthorizer(p.Name, o)
	if err != nil {
		return nil, err
	}
	s := &storedRoles{
		of: a, stored: basic.NewRoles(security.NewStore(u.n.store), p.Name, u.n.o.Clock), adminUser: p.Text("initialAdminUser"),
		adminRole: p.Text("initialAdminRole"), maps: p.Text("initialAdminGroupMapping"),
	}
	u.authorizers = append(u.authorizers, s)
	u.o.Authorizers[p.Name] = security.Authorizer{Roles: s.stored, Parts: a.Parts()}
	return a, nil
}

// open makes what loads the maps, and starts it. A Coordinator creates the initial users first.
func (u *userbase) open(ctx, background context.Context) error {
	set := u.n.settings
	u.o.Coordinator = u.n.has(cluster.Coordinator)
	u.o.ExposeHashes = set.Bool("service.auth.basic.exposeHashes")
	u.o.MaxBytes = set.Bytes("service.server.http.maxConfigBytes", 0)
	if u.n.security != nil && set.Text("service.escalator.type") != "noop" {
		u.o.Internal = u.n.security.Escalator().Identity().Name
	}
	var parts []*basic.Part
	for _, a := range u.authenticators {
		own := u.o.Authenticators[a.of.Name()].Parts
		parts = append(parts, own...)
		u.fetch[own[0]] = func(ctx context.Context) ([]byte, error) {
			text, err := a.stored.Read(ctx)
			if text == nil {
				text = json.RawMessage("{}")
			}
			return text, err
		}
	}
	for _, a := range u.authorizers {
		own := u.o.Authorizers[a.of.Name()].Parts
		parts = append(parts, own...)
		for i, serialize := range []func(basic.Policy) ([]byte, error){basic.Policy.SerializedUsers, basic.Policy.SerializedGroups} {
			u.fetch[own[i]] = func(ctx context.Context) ([]byte, error) {
				p, err := a.stored.All(ctx)
				if err != nil {
					return nil, err
				}
				return serialize(p)
			}
		}
	}
	if len(parts) == 0 {
		return nil
	}
	period, delay := set.Int("service.auth.basic.common.pollingPeriod"), set.Int("service.auth.basic.common.maxRandomDelay")
	if !set.IsSet("service.auth.basic.common.maxRandomDelay") {
		delay = period / 10
	}
	if period < 1 {
		return fault.InvalidInput("Value [%d] of setting [service.auth.basic.common.pollingPeriod] is not a time in milliseconds", period)
	}
	o := basic.FollowerOptions{
		Parts: parts, Fetch: u.ask, Directory: set.Text("service.auth.basic.common.cacheDirectory"),
		Period: time.Duration(period) * time.Millisecond, Delay: time.Duration(delay) * time.Millisecond,
		Retries: int(set.Int("service.auth.basic.common.maxSyncRetries")),
		Clock:   u.n.o.Clock, Log: u.n.o.Log,
	}
	if u.o.Coordinator {
		o.Fetch, o.Changed, o.Directory = u.read, u.n.store.SettingsChanged, ""
		if err := u.ensure(ctx); err != nil {
			return err
		}
	}
	u.follower = basic.NewFollower(o)
	u.push = &pusher{n: u.n, pushed: map[*basic.Part]string{}, patience: u.patience()}
	u.o.Follower, u.o.Changed, u.o.Refresh = u.follower, u.changed, u.refreshAll
	if u.o.Coordinator {
		if err := u.follower.Refresh(ctx); err != nil {
			return err
		}
	}
	u.n.roles.Go(func() error { return u.follower.Run(background) })
	return nil
}

// settle waits until users and roles are loaded, for a while.
func (u *userbase) settle(ctx context.Context) {
	if u.follower == nil {
		return
	}
	timer := u.n.o.Clock.NewTimer(userWait)
	defer timer.Stop()
	select {
	case <-u.follower.Loaded():
	case <-timer.C():
		u.n.o.Log.WarnContext(ctx, "users and roles are not loaded yet; rejecting requests until they are")
	case <-ctx.Done():
	}
}

// systemUser is the name of the internal user that is created at the first start: that of the
// escalator where it has the form of one.
func (u *userbase) systemUser() string {
	const suffix = "_system"
	if name, found := strings.CutSuffix(u.o.Internal, suffix); found && slices.Contains(u.n.settings.Aliases(), name) {
		return u.o.Internal
	}
	return obs.Product + suffix
}

// adminName is the name of the first user and of the first role.
const adminName = "admin"

// ensure creates the initial users and roles that are not there.
func (u *userbase) ensure(ctx context.Context) error {
	system := u.systemUser()
	for _, a := range u.authenticators {
		for name, password := range map[string]secret.Text{adminName: a.admin, system: a.internal} {
			if password.IsZero() {
				continue
			}
			if err := a.stored.Ensure(ctx, name, password.Reveal(), a.iterations); err != nil {
				return err
			}
		}
	}
	for _, a := range u.authorizers {
		initial := basic.Initial{
			Users: map[string][]string{adminName: {adminName}, system: {system}}, Full: []string{adminName, system},
			Widened: []string{adminName, system},
		}
		role := adminName
		if a.adminRole != "" {
			role = a.adminRole
			initial.Full = append(initial.Full, role)
		}
		if a.adminUser != "" && a.adminUser != adminName {
			initial.Users[a.adminUser] = append(slices.Clone(initial.Users[a.adminUser]), role)
		}
		if a.maps != "" {
			initial.Groups = []basic.GroupMapping{{Name: "adminGroupMapping", Pattern: a.maps, Roles: []string{role}}}
		}
		if err := a.stored.Ensure(ctx, initial); err != nil {
			return err
		}
	}
	return nil
}

// patience is how long a push waits for the other processes; 0: nothing is pushed.
func (u *userbase) patience() map[string]time.Duration {
	out := map[string]time.Duration{}
	note := func(prefix, name string) {
		if u.n.settings.Bool(prefix + name + ".enableCacheNotifications") {
			out[prefix+name] = time.Duration(u.n.settings.Int(prefix+name+".cacheNotificationTimeout")) * time.Millisecond
		}
	}
	for _, a := range u.authenticators {
		note("service.auth.authenticator.", a.of.Name())
	}
	for _, a := range u.authorizers {
		note("service.auth.authorizer.", a.of.Name())
	}
	return out
}

// read reads a map from the store.
func (u *userbase) read(ctx context.Context, p *basic.Part, tag string) ([]byte, error) {
	text, err := u.fetch[p](ctx)
	if err != nil || basic.Tag(text) == tag {
		return nil, err
	}
	return text, nil
}

// ask asks the leading Coordinator for a map.
func (u *userbase) ask(ctx context.Context, p *basic.Part, tag string) ([]byte, error) {
	leader := u.n.peers.leaders[cluster.Coordinator].Leader()
	if leader == "" {
		return nil, fault.Unavailable("No Coordinator leads at the moment; it is being chosen")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, leader+p.Path, nil)
	if err != nil {
		return nil, err
	}
	if tag != "" {
		r.Header.Set("If-None-Match", `"`+tag+`"`)
	}
	resp, err := u.n.peers.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotModified:
		return nil, nil
	default:
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200)) // what could be read of an error is all there is
		return nil, fault.Unavailable("The Coordinator answered [%d] to [%s]: %s", resp.StatusCode, p.Path, text)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, basic.MaxMapBytes+1))
	if err == nil && len(text) > basic.MaxMapBytes {
		err = fault.Runtime("The answer of the Coordinator to [%s] has more than [%d] bytes", p.Path, basic.MaxMapBytes)
	}
	return text, err
}

// changed loads and pushes maps that an endpoint has changed.
func (u *userbase) changed(ctx context.Context, parts []*basic.Part) {
	ctx = context.WithoutCancel(ctx) // the change is made, whether or not its client waits
	if err := u.follower.Refresh(ctx); err != nil {
		u.n.o.Log.WarnContext(ctx, "failed to read changed users and roles; the next poll retries", "error", err)
		return
	}
	u.push.send(ctx, parts, false)
}

func (u *userbase) refreshAll(ctx context.Context) error {
	if err := u.follower.Refresh(ctx); err != nil {
		return err
	}
	var all []*basic.Part
	for p := range u.fetch {
		all = append(all, p)
	}
	u.push.send(context.WithoutCancel(ctx), all, true)
	return nil
}

// userRoutes adds the endpoints of users and roles to a port's mux: all of them where they are
// answered, else those that are about this process.
func (s *services) userRoutes(mux *edge.Mux, all bool) {
	o := s.n.users.o
	if !all {
		security.New(o).LocalRoutes(mux)
		return
	}
	if !s.n.peers.alone {
		o.Lead = func(h edge.Handler) edge.Handler {
			return s.n.led(cluster.Coordinator, mux.Errors.Handle(h), s.n.redirect(cluster.Coordinator))
		}
	}
	security.New(o).Routes(mux)
}
