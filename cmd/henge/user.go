package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

func userCommand() *cobra.Command {
	s := &security{}
	cmd := commandSet(&cobra.Command{
		Use:   "user",
		Short: "Manage users, their passwords and roles",
		Long: `Manage users, their passwords and roles.

A server with an authenticator and an authorizer of type basic stores users (docs/security.md). Log in with --user and --password-file, or
with $HENGE_USER and $HENGE_PASSWORD, as a user with READ and WRITE on CONFIG security, such as admin. A change takes effect on all
processes immediately, and on a process that could not be reached within a minute.`,
		Example: `  henge user add bob --role analyst --user admin
  henge user list --user admin`,
	})
	s.add(cmd)
	cmd.AddCommand(userAdd(s), userPasswd(s), userGrant(s), userRevoke(s), limitSet(s, "user", "bob"), userDelete(s), userList(s))
	return cmd
}

// newPassword is how a command gets the password that a user is to have.
type newPassword struct{ file string }

func (p *newPassword) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.file, "new-password-file", "",
		"file with the new password in its first line; - for standard input (default: a prompt)")
}

// get reads the password, or asks for it twice.
func (p *newPassword) get(cmd *cobra.Command, user string) (secret.Text, error) {
	switch {
	case p.file == "-":
		text, err := readAll(cmd.InOrStdin(), "-")
		if err != nil {
			return secret.Text{}, err
		}
		line, _, _ := strings.Cut(text, "\n")
		if line = strings.TrimSuffix(line, "\r"); line == "" {
			return secret.Text{}, fault.InvalidInput("Standard input has no password in its first line")
		}
		return secret.NewText(line), nil
	case p.file != "":
		return passwordOf(p.file)
	case piped(cmd.InOrStdin()):
		return secret.Text{}, fault.InvalidInput("User [%s] gets no password: give one with --new-password-file FILE, or - for standard input",
			user)
	}
	first, err := askHidden(cmd.ErrOrStderr(), "New password of "+user+": ")
	if err != nil {
		return secret.Text{}, err
	}
	second, err := askHidden(cmd.ErrOrStderr(), "Once more: ")
	if err == nil && first != second {
		err = fault.InvalidInput("The two passwords differ; nothing was changed")
	}
	return first, err
}

// setPassword sends a password to the authenticator.
func (s *security) setPassword(ctx context.Context, user string, password secret.Text) error {
	return s.users(ctx, http.MethodPost, map[string]string{"password": password.Reveal()}, nil, "users", user, "credentials")
}

func userAdd(s *security) *cobra.Command {
	var roles []string
	var password newPassword
	var none bool
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a user with a password and roles",
		Example: `  henge user add bob --role analyst --user admin
  henge user add etl --role loader --new-password-file etl.pw --user admin --password-file admin.pw
  henge user add ann --no-password --role analyst --user admin   # ann logs in through a directory`,
		Args: exactly("the name of the user"),
		PreRunE: func(*cobra.Command, []string) error {
			if none && password.file != "" {
				return fault.InvalidInput("Give --new-password-file or --no-password, not both")
			}
			return nil
		},
		RunE: s.opened(func(cmd *cobra.Command, args []string) error {
			name, ctx := args[0], cmd.Context()
			if err := s.missingRoles(ctx, roles); err != nil {
				return err
			}
			if !none {
				text, err := password.get(cmd, name)
				if err != nil {
					return err
				}
				if err := s.users(ctx, http.MethodPost, nil, nil, "users", name); err != nil {
					return err
				}
				if err := s.setPassword(ctx, name, text); err != nil {
					return fmt.Errorf("user [%s] was added, but has no password yet: %w", name, err)
				}
			}
			if err := s.roles(ctx, http.MethodPost, nil, nil, "users", name); err != nil && (none || !says(err, "already exists.")) {
				return err
			}
			if err := s.grant(ctx, name, roles); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "added user %s%s\n", name, withRoles(roles))
			return nil
		}),
	}
	cmd.Flags().StringArrayVar(&roles, "role", nil, "role that the user gets; may be repeated")
	cmd.Flags().BoolVar(&none, "no-password", false, "only assign roles: the user belongs to another authenticator, such as a directory")
	password.add(cmd)
	return cmd
}

func withRoles(roles []string) string {
	switch len(roles) {
	case 0:
		return " without roles (add them with henge user grant)"
	case 1:
		return " with role " + roles[0]
	}
	return " with roles " + strings.Join(roles, ", ")
}

// grant gives roles to a user; those that the user has stay.
func (s *security) grant(ctx context.Context, user string, roles []string) error {
	for _, role := range roles {
		err := s.roles(ctx, http.MethodPost, nil, nil, "users", user, "roles", role)
		if err != nil && !says(err, "already has role ["+role+"].") {
			return err
		}
	}
	return nil
}

func userPasswd(s *security) *cobra.Command {
	var password newPassword
	cmd := &cobra.Command{
		Use:   "passwd NAME",
		Short: "Change the password of a user",
		Example: `  henge user passwd bob --user admin
  pwgen 20 1 | henge user passwd etl --new-password-file - --user admin --password-file admin.pw`,
		Args: exactly("the name of the user"),
		RunE: s.opened(func(cmd *cobra.Command, args []string) error {
			text, err := password.get(cmd, args[0])
			if err != nil {
				return err
			}
			if err := s.setPassword(cmd.Context(), args[0], text); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "user %s has a new password\n", args[0])
			return nil
		}),
	}
	password.add(cmd)
	return cmd
}

func userGrant(s *security) *cobra.Command {
	return &cobra.Command{
		Use:     "grant NAME ROLE...",
		Short:   "Give roles to a user",
		Example: `  henge user grant bob analyst --user admin`,
		Args:    atLeast("the name of the user", "the role"),
		RunE: s.opened(func(cmd *cobra.Command, args []string) error {
			if err := s.missingRoles(cmd.Context(), args[1:]); err != nil {
				return err
			}
			if err := s.grant(cmd.Context(), args[0], args[1:]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "user %s has %s\n", args[0], strings.Join(args[1:], ", "))
			return nil
		}),
	}
}

func userRevoke(s *security) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke NAME ROLE...",
		Short:   "Take roles from a user",
		Example: `  henge user revoke bob analyst --user admin`,
		Args:    atLeast("the name of the user", "the role"),
		RunE: s.opened(func(cmd *cobra.Command, args []string) error {
			for _, role := range args[1:] {
				if err := s.roles(cmd.Context(), http.MethodDelete, nil, nil, "users", args[0], "roles", role); err != nil {
					return err
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "user %s no longer has %s\n", args[0], strings.Join(args[1:], ", "))
			return nil
		}),
	}
}

func userDelete(s *security) *cobra.Command {
	return s.deleting("user", "Delete users", func(ctx context.Context, name string) error {
		// A user may be known by one of the two only.
		first := s.users(ctx, http.MethodDelete, nil, nil, "users", name)
		second := s.roles(ctx, http.MethodDelete, nil, nil, "users", name)
		const absent = "does not exist."
		switch {
		case first != nil && !says(first, absent):
			return first
		case second != nil && !says(second, absent):
			return second
		case first != nil && second != nil:
			return first
		}
		return nil
	})
}

func userList(s *security) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List users with their roles",
		Example: `  henge user list --user admin`,
		Args:    noArguments,
		RunE: s.opened(func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			var credentials map[string]struct {
				Credentials *struct{} `json:"credentials"`
			}
			if err := s.users(ctx, http.MethodGet, nil, &credentials, "cachedSerializedUserMap"); err != nil {
				return err
			}
			var all struct {
				Users map[string]struct {
					Roles []string `json:"roles"`
				} `json:"userMap"`
			}
			if err := s.roles(ctx, http.MethodGet, nil, &all, "cachedSerializedUserMap"); err != nil {
				return err
			}
			names := []string{}
			for name := range credentials {
				names = append(names, name)
			}
			for name := range all.Users {
				if _, known := credentials[name]; !known {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			rows := [][]string{{"user", "password", "roles"}}
			for _, name := range names {
				password := "no"
				if credentials[name].Credentials != nil {
					password = "yes"
				}
				rows = append(rows, []string{name, password, strings.Join(all.Users[name].Roles, ", ")})
			}
			return printColumns(cmd.OutOrStdout(), rows)
		}),
	}
}
