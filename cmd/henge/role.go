package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

func roleCommand() *cobra.Command {
	s := &security{rolesOnly: true}
	cmd := commandSet(&cobra.Command{
		Use:   "role",
		Short: "Manage roles and their permissions",
		Long: `Manage roles and their permissions.

A permission allows READ or WRITE on the resources of a type whose complete name matches a regular expression. WRITE does not include READ.
The types are DATASOURCE (its name), STATE (STATE), CONFIG (CONFIG, and security for users and roles), EXTERNAL (EXTERNAL), VIEW,
SYSTEM_TABLE and QUERY_CONTEXT.`,
		Example: `  henge role add analyst --user admin
  henge role grant analyst READ DATASOURCE 'wiki.*' --user admin
  henge role show analyst --user admin`,
	})
	s.add(cmd)
	cmd.AddCommand(roleAdd(s), roleGrant(s), limitSet(s, "role", "analyst"), roleShow(s), roleDelete(s), roleList(s))
	return cmd
}

func roleAdd(s *security) *cobra.Command {
	return &cobra.Command{
		Use:     "add NAME",
		Short:   "Add a role without permissions",
		Example: `  henge role add analyst --user admin`,
		Args:    exactly("the name of the role"),
		RunE: s.opened(func(cmd *cobra.Command, args []string) error {
			if err := s.roles(cmd.Context(), http.MethodPost, nil, nil, "roles", args[0]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "added role %s without permissions (add them with henge role grant)\n", args[0])
			return nil
		}),
	}
}

// permission is one as the interface takes it.
type permission struct {
	Resource auth.Resource `json:"resource"`
	Action   auth.Action   `json:"action"`
	Policy   *auth.Rule    `json:"policy,omitempty"`
}

// roleBody is a role as the interface shows it with simple permissions.
type roleBody struct {
	Users       []string     `json:"users"`
	Permissions []permission `json:"permissions"`
	Limits      auth.Limits  `json:"limits"`
}

func roleGrant(s *security) *cobra.Command {
	var replace bool
	var rows string
	var masks, hidden []string
	cmd := &cobra.Command{
		Use:   "grant NAME READ|WRITE|READ,WRITE TYPE PATTERN",
		Short: "Add a permission to a role",
		Long: `Add a permission to a role: an action, a resource type and a regular expression that must match the complete name.

With --rows, --mask and --hide the role sees only a part of the datasource.`,
		Example: `  henge role grant analyst READ DATASOURCE 'wiki.*' --user admin
  henge role grant analyst READ STATE STATE --user admin
  henge role grant loader READ,WRITE DATASOURCE 'events|events_.*' --user admin
  henge role grant eu READ DATASOURCE orders --rows "region = 'eu'" --mask "card=SUBSTRING(card, 13)" --hide email --user admin`,
		Args: exactly("the name of the role", "the action", "the type", "the pattern"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		policy, err := policyOf(rows, masks, hidden)
		if err != nil {
			return err
		}
		added, err := permissionsOf(args[1], args[2], args[3], policy)
		if err != nil {
			return err
		}
		if err := s.open(cmd); err != nil {
			return err
		}
		role, err := s.role(cmd, args[0])
		if err != nil {
			return err
		}
		list := role.Permissions
		if replace {
			list = []permission{}
		}
		for _, p := range added {
			if !slices.ContainsFunc(list, func(q permission) bool { return q.text() == p.text() }) {
				list = append(list, p)
			}
		}
		if err := s.roles(cmd.Context(), http.MethodPost, list, nil, "roles", args[0], "permissions"); err != nil {
			return err
		}
		for _, p := range added {
			fmt.Fprintf(cmd.OutOrStdout(), "role %s allows %s\n", args[0], p.text())
		}
		return nil
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "replace all permissions of the role with this one")
	cmd.Flags().StringVar(&rows, "rows", "", "SQL condition of the visible rows")
	cmd.Flags().StringArrayVar(&masks, "mask", nil, "COLUMN=SQL expression that replaces the column; may be repeated")
	cmd.Flags().StringArrayVar(&hidden, "hide", nil, "column to hide; may be repeated")
	return cmd
}

// policyOf reads the rules on rows and columns; nil: there are none.
func policyOf(rows string, masks, hidden []string) (*auth.Rule, error) {
	if rows == "" && len(masks)+len(hidden) == 0 {
		return nil, nil //nolint:nilnil // no rules are nil
	}
	rule := &auth.Rule{Rows: rows, Columns: map[string]auth.Cover{}}
	for _, text := range masks {
		column, mask, found := strings.Cut(text, "=")
		if !found || column == "" || mask == "" {
			return nil, fault.InvalidInput("Mask [%s] is not of the form COLUMN=EXPRESSION", text)
		}
		rule.Columns[column] = auth.Cover{Mask: mask}
	}
	for _, column := range hidden {
		if _, found := rule.Columns[column]; found {
			return nil, fault.InvalidInput("Column [%s] is both masked and hidden", column)
		}
		rule.Columns[column] = auth.Cover{Hide: true}
	}
	return rule, nil
}

func permissionsOf(actions, kind, pattern string, policy *auth.Rule) (out []permission, err error) {
	known := slices.Contains(auth.Kinds, auth.Kind(strings.ToUpper(kind)))
	if !known {
		return nil, fault.InvalidInput("Type [%s] is unknown; the types are %s", kind, strings.Trim(fmt.Sprint(auth.Kinds), "[]"))
	}
	for action := range strings.SplitSeq(strings.ToUpper(actions), ",") {
		a := auth.Action(action)
		if a != auth.Read && a != auth.Write {
			return nil, fault.InvalidInput("Action [%s] is unknown; use READ, WRITE or READ,WRITE", action)
		}
		out = append(out, permission{auth.Resource{Name: pattern, Kind: auth.Kind(strings.ToUpper(kind))}, a, policy})
	}
	return out, nil
}

// text shows a permission as henge role grant takes it.
func (p permission) text() string {
	out := string(p.Action) + " " + string(p.Resource.Kind) + " " + p.Resource.Name
	if p.Policy == nil {
		return out
	}
	if p.Policy.Rows != "" {
		out += ", rows: " + p.Policy.Rows
	}
	columns := []string{}
	for name, c := range p.Policy.Columns {
		if c.Hide {
			columns = append(columns, name+" hidden")
		} else {
			columns = append(columns, name+" as "+c.Mask)
		}
	}
	slices.Sort(columns)
	if len(columns) > 0 {
		out += ", columns: " + strings.Join(columns, ", ")
	}
	return out
}

// role asks for a role with the users that have it.
func (s *security) role(cmd *cobra.Command, name string) (role roleBody, err error) {
	path := s.prefix + "/authorization/db/" + escaped(s.authorizer, []string{"roles", name}) + "?full&simplifyPermissions"
	return role, s.client.call(cmd.Context(), http.MethodGet, path, nil, &role)
}

func roleShow(s *security) *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Short:   "Show the permissions of a role, and its users",
		Example: `  henge role show analyst --user admin`,
		Args:    exactly("the name of the role"),
		RunE: s.opened(func(cmd *cobra.Command, args []string) error {
			role, err := s.role(cmd, args[0])
			if err != nil {
				return err
			}
			var more struct {
				Groups []string `json:"groups"`
			}
			path := s.prefix + "/authorization/db/" + escaped(s.authorizer, []string{"roles", args[0]}) + "?full"
			if err := s.client.call(cmd.Context(), http.MethodGet, path, nil, &more); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "users:  %s\n", orNone(role.Users))
			fmt.Fprintf(out, "groups: %s\n", orNone(more.Groups))
			if len(role.Permissions) == 0 {
				fmt.Fprintln(out, "allows: nothing")
			}
			for _, p := range role.Permissions {
				fmt.Fprintln(out, "allows: "+p.text())
			}
			for _, text := range limitTexts(role.Limits) {
				fmt.Fprintln(out, "limit:  "+text)
			}
			return nil
		}),
	}
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func roleDelete(s *security) *cobra.Command {
	const short = "Delete roles, also from the users and group mappings that have them"
	return s.deleting("role", short, func(ctx context.Context, name string) error {
		return s.roles(ctx, http.MethodDelete, nil, nil, "roles", name)
	})
}

func roleList(s *security) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List roles",
		Example: `  henge role list --user admin`,
		Args:    noArguments,
		RunE: s.opened(func(cmd *cobra.Command, _ []string) error {
			var names []string
			if err := s.roles(cmd.Context(), http.MethodGet, nil, &names, "roles"); err != nil {
				return err
			}
			for _, name := range names {
				fmt.Fprintln(cmd.OutOrStdout(), name)
			}
			return nil
		}),
	}
}

// printColumns prints rows in columns; the first row is the header.
func printColumns(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return w.Flush()
}
