package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/fault"
)

// security is the command's view of the endpoints of users and roles.
type security struct {
	who                       login
	authenticator, authorizer string
	// rolesOnly is the view of commands that need no authenticator.
	rolesOnly bool
	client    *client
	prefix    string
}

// add adds the flags that all commands about users and roles have.
func (s *security) add(cmd *cobra.Command) {
	s.who.add(cmd.PersistentFlags(), "address of the server (its Router, or the leading Coordinator)")
	flags := cmd.PersistentFlags()
	if s.rolesOnly {
		// Scripts name it, since releases before this one wanted it.
		flags.StringVar(&s.authenticator, "authenticator", "", "not needed")
		_ = flags.MarkHidden("authenticator") // it was just added
	} else {
		flags.StringVar(&s.authenticator, "authenticator", "", "authenticator that stores the passwords; required if there are several")
	}
	flags.StringVar(&s.authorizer, "authorizer", "", "authorizer that stores the roles; required if there are several")
}

// open logs in and finds the names of the authorizer and, where it is needed, the authenticator.
func (s *security) open(cmd *cobra.Command) (err error) {
	if s.client, err = s.who.client(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	const base = "/service-ext/basic-security"
	var names map[string]bool
	for _, s.prefix = range []string{"/proxy/coordinator" + base, base} { // of a Router, of a Coordinator
		err = s.client.call(ctx, http.MethodGet, s.prefix+"/authorization/loadStatus", nil, &names)
		if f := fault.Find(err); f == nil || !strings.HasPrefix(f.Message, "the server answered 404") {
			break
		}
	}
	if err != nil {
		return err
	}
	if s.authorizer, err = choose(s.authorizer, "authorizer", names); err != nil || s.rolesOnly {
		return err
	}
	names = nil
	if err := s.client.call(ctx, http.MethodGet, s.prefix+"/authentication/loadStatus", nil, &names); err != nil {
		return err
	}
	s.authenticator, err = choose(s.authenticator, "authenticator", names)
	return err
}

// opened makes what a command does of a function that needs the connection.
func (s *security) opened(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := s.open(cmd); err != nil {
			return err
		}
		return f(cmd, args)
	}
}

// deleting makes the command that deletes the things of a noun by their names.
func (s *security) deleting(noun, short string, remove func(ctx context.Context, name string) error) *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME...",
		Short:   short,
		Example: "  henge " + noun + " delete NAME --user admin",
		Args:    atLeast("the name of the " + noun),
		RunE: s.opened(func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				if err := remove(cmd.Context(), name); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "deleted %s %s\n", noun, name)
			}
			return nil
		}),
	}
}

// choose returns the name that was given, or the only one that there is.
func choose(given, noun string, names map[string]bool) (string, error) {
	known := strings.Join(slices.Sorted(maps.Keys(names)), ", ")
	switch {
	case len(names) == 0:
		return "", fault.InvalidInput("The server has no %s of type basic, so it does not store users; docs/security.md describes how to "+
			"configure one",
			noun)
	case given == "" && len(names) > 1:
		return "", fault.InvalidInput("The server has several: choose one with --%s: %s", noun, known)
	case given == "":
		return known, nil
	}
	if _, found := names[given]; !found {
		return "", fault.InvalidInput("The server has no %s [%s] of type basic; it has %s", noun, given, known)
	}
	return given, nil
}

// users and roles send requests below the authenticator and the authorizer. Parts of the path are
// names.
func (s *security) users(ctx context.Context, method string, body, out any, path ...string) error {
	return s.client.call(ctx, method, s.prefix+"/authentication/db/"+escaped(s.authenticator, path), body, out)
}

func (s *security) roles(ctx context.Context, method string, body, out any, path ...string) error {
	return s.client.call(ctx, method, s.prefix+"/authorization/db/"+escaped(s.authorizer, path), body, out)
}

func escaped(name string, path []string) string {
	parts := []string{url.PathEscape(name)}
	for _, part := range path {
		parts = append(parts, url.PathEscape(part))
	}
	return strings.Join(parts, "/")
}

// says reports whether an error is a refusal with an ending, such as "already exists.".
func says(err error, ending string) bool {
	f := fault.Find(err)
	return f != nil && strings.HasSuffix(f.Message, ending)
}

// missingRoles refuses roles that don't exist, before anything is changed.
func (s *security) missingRoles(ctx context.Context, roles []string) error {
	if len(roles) == 0 {
		return nil
	}
	var known []string
	if err := s.roles(ctx, http.MethodGet, nil, &known, "roles"); err != nil {
		return err
	}
	var errs []error
	for _, role := range roles {
		if !slices.Contains(known, role) {
			errs = append(errs, fault.InvalidInput("Role [%s] does not exist; the roles are %s", role, strings.Join(known, ", ")))
		}
	}
	return errors.Join(errs...)
}
