package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// limitSet makes the command that changes the limits of a user or a role.
func limitSet(s *security, noun, example string) *cobra.Command {
	var given []string
	cmd := &cobra.Command{
		Use:   "set NAME --limit NAME=VALUE",
		Short: "Limit what a " + noun + " may use",
		Long: "Limit what a " + noun + ` may use: concurrentQueries and requestsPerSecond of a user, and the rows,
bytes and cpuSeconds of one query.
NAME=none removes a limit. If several roles set a limit, the most generous value applies; limits of the user override limits of roles.`,
		Example: fmt.Sprintf(`  henge %s set %s --limit concurrentQueries=2 --limit rows=100000 --user admin
  henge %[1]s set %[2]s --limit rows=none --user admin`, noun, example),
		Args: exactly("the name of the " + noun),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(given) == 0 {
			return fault.InvalidInput("There is nothing to set%s", forExample(cmd))
		}
		changes, err := limitsOf(given)
		if err != nil {
			return err
		}
		if err := s.open(cmd); err != nil {
			return err
		}
		limits := auth.Limits{}
		if err := s.roles(cmd.Context(), http.MethodGet, nil, &limits, noun+"s", args[0], "limits"); err != nil {
			return err
		}
		for name, most := range changes {
			if most == 0 {
				delete(limits, name)
			} else {
				limits[name] = most
			}
		}
		if err := s.roles(cmd.Context(), http.MethodPost, limits, nil, noun+"s", args[0], "limits"); err != nil {
			return err
		}
		shown := "none"
		if len(limits) > 0 {
			shown = strings.Join(limitTexts(limits), ", ")
		}
		fmt.Fprintf(cmd.OutOrStdout(), "limits of %s %s: %s\n", noun, args[0], shown)
		return nil
	}
	cmd.Flags().StringArrayVar(&given, "limit", nil, "NAME=VALUE, or NAME=none; may be repeated")
	return cmd
}

// limitsOf reads the flags; 0 stands for none. What values a limit can have is the server's to say.
func limitsOf(given []string) (auth.Limits, error) {
	out := auth.Limits{}
	for _, text := range given {
		name, value, found := strings.Cut(text, "=")
		if !found || !slices.Contains(auth.LimitNames, auth.LimitName(name)) {
			return nil, fault.InvalidInput("Limit [%s] is not of the form NAME=VALUE with one of the names %s", text,
				strings.Trim(fmt.Sprint(auth.LimitNames), "[]"))
		}
		most := 0.0
		if value != "none" {
			var err error
			if most, err = strconv.ParseFloat(value, 64); err != nil || !(most > 0) {
				return nil, fault.InvalidInput("Value [%s] of limit [%s] is not a number above 0, or none", value, name)
			}
		}
		out[auth.LimitName(name)] = most
	}
	return out, nil
}

// limitTexts shows limits as henge role set takes them.
func limitTexts(limits auth.Limits) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		out = append(out, string(name)+"="+strconv.FormatFloat(limits[name], 'f', -1, 64))
	}
	return out
}
