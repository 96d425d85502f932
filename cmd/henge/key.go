package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// keysPath is where the endpoints of API keys are.
const keysPath = "/service-ext/access/keys"

// apiKey is a key as the server shows it.
type apiKey struct {
	ID            string      `json:"id"`
	Key           secret.Text `json:"key"`
	Description   string      `json:"description"`
	Roles         []string    `json:"roles"`
	Networks      []string    `json:"networks"`
	Expires       *string     `json:"expires"`
	Created       *string     `json:"created"`
	CreatedBy     string      `json:"createdBy"`
	Rotated       *string     `json:"rotated"`
	PreviousUntil *string     `json:"previousUntil"`
	LastUsed      *string     `json:"lastUsed"`
	Expired       bool        `json:"expired"`
}

func keyCommand() *cobra.Command {
	cmd := commandSet(&cobra.Command{
		Use:   "key",
		Short: "Create, list, rotate and revoke API keys for programs",
		Long: `Create, list, rotate and revoke API keys, with which programs log in. The server needs an authenticator of type keys.

The complete key is shown once, when it is created or rotated. henge itself reads a key from the variable ` + keyVariable + `.`,
		Example: `  henge key create --role loader --description "nightly load" --lifetime P90D
  henge key list
  henge key rotate 4f1c0a9be2d35577 --overlap PT1H
  henge key revoke 4f1c0a9be2d35577`,
	})
	who := &login{}
	who.add(cmd.PersistentFlags(), "address of the server")
	cmd.AddCommand(keyCreateCommand(who), keyListCommand(who), keyRotateCommand(who), keyRevokeCommand(who))
	return cmd
}

func keyCreateCommand(who *login) *cobra.Command {
	var roles, networks []string
	var description, expires, lifetime string
	cmd := &cobra.Command{
		Use: "create --role ROLE", Short: "Create an API key and print it", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if expires != "" && lifetime != "" {
				return fmt.Errorf("%w%w", errUsage, fault.InvalidInput("Give either --expires or --lifetime, not both"))
			}
			if len(roles) == 0 {
				return fault.InvalidInput("An API key needs at least one role; name it with --role")
			}
			body := map[string]any{"roles": roles}
			for name, value := range map[string]string{"description": description, "expires": expires, "lifetime": lifetime} {
				if value != "" {
					body[name] = value
				}
			}
			if len(networks) > 0 {
				body["networks"] = networks
			}
			var key apiKey
			c, err := who.client(cmd)
			if err != nil {
				return err
			}
			if err := c.call(cmd.Context(), http.MethodPost, keysPath, body, &key); err != nil {
				return err
			}
			return showSecret(cmd, key)
		},
	}
	cmd.Flags().StringArrayVar(&roles, "role", nil, "role of the key; may be repeated")
	cmd.Flags().StringArrayVar(&networks, "network", nil, "address or network (CIDR) from which the key may be used; may be repeated")
	cmd.Flags().StringVar(&description, "description", "", "purpose of the key")
	cmd.Flags().StringVar(&expires, "expires", "", "time at which the key expires, such as 2030-01-01T00:00:00Z")
	cmd.Flags().StringVar(&lifetime, "lifetime", "", "period after which the key expires, such as P90D")
	return cmd
}

// showSecret prints a key alone on the standard output, so that a script can take it from there.
func showSecret(cmd *cobra.Command, key apiKey) error {
	fmt.Fprintf(cmd.ErrOrStderr(), "API key [%s] for %s. It is shown only once:\n", key.ID, strings.Join(key.Roles, ", "))
	_, err := fmt.Fprintln(cmd.OutOrStdout(), key.Key.Reveal())
	return err
}

func keyListCommand(who *login) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "list", Short: "List the API keys, without their secrets", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "table" && format != "json" {
				return fault.InvalidInput("Format [%s] is unknown; use table or json", format)
			}
			c, err := who.client(cmd)
			if err != nil {
				return err
			}
			body, err := c.do(cmd.Context(), http.MethodGet, keysPath, nil)
			if err != nil {
				return err
			}
			defer body.Close()
			if format == "json" {
				_, err := io.Copy(cmd.OutOrStdout(), body)
				return err
			}
			var keys []apiKey
			if err := json.NewDecoder(body).Decode(&keys); err != nil {
				return fmt.Errorf("the list of API keys can't be read: %w", err)
			}
			lines, err := keyLines(keys)
			if err != nil {
				return err
			}
			_, err = printTable(cmd.OutOrStdout(), strings.NewReader(lines))
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "output format: table or json")
	return cmd
}

// keyLines returns keys in the form that printTable reads.
func keyLines(keys []apiKey) (string, error) {
	rows := [][]any{{"id", "description", "roles", "networks", "created", "created by", "expires", "last used"}}
	for _, k := range keys {
		expires := "never"
		if k.Expires != nil {
			expires = *k.Expires
		}
		if k.Expired {
			expires += " (expired)"
		}
		used := "never"
		if k.LastUsed != nil {
			used = *k.LastUsed
		}
		roles, networks := strings.Join(k.Roles, ", "), strings.Join(k.Networks, ", ")
		rows = append(rows, []any{k.ID, k.Description, roles, networks, k.Created, k.CreatedBy, expires, used})
	}
	var out strings.Builder
	for _, row := range rows {
		line, err := json.Marshal(row)
		if err != nil {
			return "", err
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.String() + "\n", nil
}

func keyRotateCommand(who *login) *cobra.Command {
	var overlap string
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Replace the secret of an API key and print the new one", Args: exactly("the id of the key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]string{}
			if overlap != "" {
				body["overlap"] = overlap
			}
			var key apiKey
			path := keysPath + "/" + url.PathEscape(keyID(args[0])) + "/rotate"
			c, err := who.client(cmd)
			if err != nil {
				return err
			}
			if err := c.call(cmd.Context(), http.MethodPost, path, body, &key); err != nil {
				return err
			}
			return showSecret(cmd, key)
		},
	}
	cmd.Flags().StringVar(&overlap, "overlap", "", "period for which the old secret remains valid, such as PT1H (default: it expires "+
		"immediately)")
	return cmd
}

func keyRevokeCommand(who *login) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Revoke an API key permanently", Args: exactly("the id of the key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := who.client(cmd)
			if err != nil {
				return err
			}
			return c.call(cmd.Context(), http.MethodDelete, keysPath+"/"+url.PathEscape(keyID(args[0])), nil, nil)
		},
	}
}

// keyID returns the id of a key that is given by its id, or as the name that it has in lists of
// queries. Of a whole key the secret is left out, so that it does not end up in logs.
func keyID(text string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(text, "hg_"), "_")
	return id
}
