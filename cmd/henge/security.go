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
	client                    *client
	prefix                    string
}

// add adds the flags that all commands about users and roles have.
func (s *security) add(cmd *cobra.Command) {
	s.who.add(cmd.PersistentFlags(), "address of the server (its Router, or the leading Coordinator)")
	flags := cmd.PersistentFlags()
	flags.StringVar(&s.authenticator, "authenticator", "", "authenticator that keeps the passwords; needed if there are several")
	flags.StringVar(&s.authorizer, "authorizer", "", "authorizer that keeps the roles; needed if there are several")
}

// open logs in and finds the names of the authenticator and the authorizer.
func (s *security) open(cmd *cobra.Command) (err error) {
	if s.client, err = s.who.client(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	const base = "/service-ext/basic-security"
	var names map[string]bool
	for _, s.prefix = range []string{"/proxy/coordinator" + base, base} { // of a Router, of a Coordinator
		err = s.client.call(ctx, http.MethodGet, s.prefix+"/authentication/loadStatus", nil, &names)
		if f := fault.Find(err); f == nil || !strings.HasPrefix(f.Message, "the server answered 404") {
			break
		}
	}
	if err != nil {
		return err
	}
	if s.authenticator, err = choose(s.authenticator, "authenticator", names); err != nil {
		return err
	}
	names = nil
	if err := s.client.call(ctx, http.MethodGet, s.prefix+"/authorization/loadStatus", nil, &names); err != nil {
		return err
	}
	s.authorizer, err = choose(s.authorizer, "authorizer", names)
	return err
}

// choose returns the name that was given, or the only one that there is.
func choose(given, noun string, names map[string]bool) (string, error) {
	known := strings.Join(slices.Sorted(maps.Keys(names)), ", ")
	switch {
	case len(names) == 0:
		return "", fault.InvalidInput("The server has no %s of type basic, so it keeps no users; docs/security.md says how to configure one",
			noun)
	case given == "" && len(names) > 1:
		return "", fault.InvalidInput("The server has several of them: choose one with --%s: %s", noun, known)
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

// commandSet makes a command of which only its subcommands do something.
func commandSet(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("unknown command %q; %s --help lists the commands", args[0], cmd.CommandPath())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// atLeast checks the number of arguments and says which are missing.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return fmt.Errorf("%s is missing; for example: %s", names[len(args)], firstExample(cmd))
		}
		return nil
	}
}

// exactly is atLeast that takes nothing more.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return fmt.Errorf("%q is one argument too many; for example: %s", args[len(names)], firstExample(cmd))
		}
		return atLeast(names...)(cmd, args)
	}
}

func firstExample(cmd *cobra.Command) string {
	line, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	return line
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
