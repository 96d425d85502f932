package basic

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// The kinds of the audit entries of Users and of Roles.
const (
	AuditUsers = "basic.authenticator"
	AuditRoles = "basic.authorizer"
)

// User is a user of an authenticator. A user without credentials can't log in.
type User struct {
	Name       string      `json:"name"`
	Credential *Credential `json:"credentials"`
}

// Users changes the stored users of an authenticator. It is safe for concurrent use.
type Users struct{ keeper }

// NewUsers returns the users of an authenticator in a store.
func NewUsers(store Store, name string, c clock.Clock) *Users {
	u := &Users{}
	u.store, u.clock, u.kind, u.name = store, c, AuditUsers, name
	u.keys = []string{"basic_authentication_" + name + "_users"}
	return u
}

// Read returns the stored map unchanged; nil: nothing was ever stored.
func (u *Users) Read(ctx context.Context) (json.RawMessage, error) {
	stored, err := u.store.Read(ctx, u.keys...)
	if err != nil {
		return nil, err
	}
	return stored[0], nil
}

// All returns the stored users.
func (u *Users) All(ctx context.Context) (map[string]User, error) {
	text, err := u.Read(ctx)
	if err != nil {
		return nil, err
	}
	return decodeMap[User](text, u.keys[0])
}

// Names returns the sorted names of the stored users.
func (u *Users) Names(ctx context.Context) ([]string, error) {
	all, err := u.All(ctx)
	return Names(all), err
}

// Get returns a stored user.
func (u *Users) Get(ctx context.Context, name string) (User, error) {
	all, err := u.All(ctx)
	if err != nil {
		return User{}, err
	}
	user, found := all[name]
	if !found {
		return User{}, noUser(name)
	}
	return user, nil
}

// Create adds a user without a password.
func (u *Users) Create(ctx context.Context, by *Author, name string) error {
	return u.change(ctx, by, "Create user["+name+"]", "create user["+name+"]", func(all map[string]User) error {
		if _, found := all[name]; found {
			return fault.InvalidInput("User [%s] already exists.", name)
		}
		all[name] = User{Name: name}
		return nil
	})
}

// Delete removes a user.
func (u *Users) Delete(ctx context.Context, by *Author, name string) error {
	return u.change(ctx, by, "Delete user["+name+"]", "delete user["+name+"]", func(all map[string]User) error {
		if _, found := all[name]; !found {
			return noUser(name)
		}
		delete(all, name)
		return nil
	})
}

// SetPassword sets the password of a user.
func (u *Users) SetPassword(ctx context.Context, by *Author, name, password string, iterations int) error {
	if _, err := u.Get(ctx, name); err != nil { // before the work of hashing
		return err
	}
	credential, err := NewCredential(password, iterations)
	if err != nil {
		return err
	}
	return u.change(ctx, by, "Set credentials for user["+name+"]", "set credentials for user["+name+"]", func(all map[string]User) error {
		user, found := all[name]
		if !found {
			return noUser(name)
		}
		user.Credential = credential
		all[name] = user
		return nil
	})
}

// Ensure creates a user with a password if the user does not exist.
func (u *Users) Ensure(ctx context.Context, name, password string, iterations int) error {
	all, err := u.All(ctx)
	if err != nil {
		return err
	}
	if _, found := all[name]; found {
		return nil
	}
	credential, err := NewCredential(password, iterations)
	if err != nil {
		return err
	}
	return u.change(ctx, nil, "", "create user["+name+"]", func(all map[string]User) error {
		if _, found := all[name]; !found {
			all[name] = User{Name: name, Credential: credential}
		}
		return nil
	})
}

func (u *Users) change(ctx context.Context, by *Author, text, what string, change func(map[string]User) error) error {
	var all map[string]User
	return u.update(ctx, edit{by, text, what, func(stored []json.RawMessage) (err error) {
		all, err = decodeMap[User](stored[0], u.keys[0])
		return err
	}, func() ([]any, error) { return []any{all}, change(all) }})
}

func noUser(name string) error { return fault.InvalidInput("User [%s] does not exist.", name) }

// Names returns the sorted keys of a map; never nil.
func Names[V any](m map[string]V) []string {
	out := slices.Sorted(maps.Keys(m))
	if out == nil {
		out = []string{}
	}
	return out
}
