package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hengedb/henge/internal/fault"
)

// The variables of the environment that stand for --server and --profile.
const (
	serverVariable  = "HENGE_URL"
	profileVariable = "HENGE_PROFILE"
)

// configKeys are what a file of settings of clients may have, each the name of a flag. Those of
// secrets count for the server of the file alone.
var configKeys = []string{"server", "user", "password-file", "token-file", "format", "timing", "cacert", "cert", "key"}

var configSecrets = []string{"user", "password-file", "token-file", "cert", "key"}

// configFile returns the path of the file of settings of clients: henge/config in $XDG_CONFIG_HOME,
// which is ~/.config if it is not set.
func configFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", nil //nolint:nilerr // without a home there is no file
	}
	return filepath.Join(dir, "henge", "config"), nil
}

// clientConfig are the settings of a profile by their keys, and where each stands.
type clientConfig map[string]configValue

type configValue struct {
	text string
	line int
}

// readConfig reads the settings of a profile: those before all sections, and those of the section
// of its name. "" is no profile.
func readConfig(path, profile string) (clientConfig, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		if profile != "" {
			return nil, fault.InvalidInput("Profile [%s] does not exist: there is no file [%s]", profile, path)
		}
		return nil, nil
	}
	if err != nil {
		return nil, fault.InvalidInput("File [%s] can't be read: %v", path, reasonOf(err))
	}
	out, section := clientConfig{}, ""
	var sections []string
	line := 0
	wrong := func(format string, args ...any) error {
		return fault.InvalidInput("File [%s], line %d: %s", path, line, fmt.Sprintf(format, args...))
	}
	for row := range strings.Lines(string(text)) {
		line++
		row = strings.TrimSpace(row)
		if row == "" || row[0] == '#' || row[0] == ';' {
			continue
		}
		if name, ok := strings.CutPrefix(row, "["); ok {
			if name, ok = strings.CutSuffix(name, "]"); !ok || strings.TrimSpace(name) == "" {
				return nil, wrong("section [%s] is not of the form [NAME]", row)
			}
			if section = strings.TrimSpace(name); slices.Contains(sections, section) {
				return nil, wrong("section [%s] occurs twice", section)
			}
			sections = append(sections, section)
			continue
		}
		key, value, ok := strings.Cut(row, "=")
		if key, value = strings.TrimSpace(key), strings.TrimSpace(value); !ok || key == "" || value == "" {
			return nil, wrong("[%s] is not of the form KEY = VALUE", row)
		}
		if key == "url" {
			key = "server"
		}
		switch {
		case key == "password" || key == "token":
			return nil, wrong("a %s must not be in this file; use %s-file for a file with it in its first line", key, key)
		case !slices.Contains(configKeys, key):
			hint := "; known are [" + strings.Join(configKeys, ", ") + "]"
			if near := fault.Nearest(key, configKeys); near != "" {
				hint = "; did you mean [" + near + "]?"
			}
			return nil, wrong("setting [%s] is unknown%s", key, hint)
		case key == "server" && strings.Contains(value, "@"):
			return nil, wrong("the address contains a user; use user = NAME and password-file = FILE")
		}
		if section == "" && out[key].line == 0 || section != "" && section == profile {
			out[key] = configValue{value, line}
		}
	}
	if profile != "" && !slices.Contains(sections, profile) {
		return nil, fault.InvalidInput("Profile [%s] is not in file [%s]; it has [%s]", profile, path, strings.Join(sections, ", "))
	}
	return out, nil
}

// configure gives flags that the user did not give the values of the file of settings. The
// environment goes before it. What tells who the user is counts for the server of the file alone.
func (l *login) configure(cmd *cobra.Command) error {
	path, err := configFile()
	if err != nil {
		return err
	}
	profile := firstOf(l.profile, os.Getenv(profileVariable))
	config, err := readConfig(path, profile)
	if err != nil {
		return fmt.Errorf("%w%w", errUsage, err)
	}
	flags := cmd.Flags()
	given := flags.Changed("server") || l.addressed
	if !given && profile == "" && os.Getenv(serverVariable) != "" {
		given, l.server = true, os.Getenv(serverVariable)
	}
	elsewhere := given && trimmedAddress(l.server) != trimmedAddress(firstOf(config["server"].text, defaultServer))
	own := flags.Changed("user") || os.Getenv(userVariable) != "" || os.Getenv(keyVariable) != ""
	for _, key := range configKeys {
		value, set := config[key]
		flag := flags.Lookup(key)
		switch {
		case !set || flag == nil || flag.Changed, key == "server" && given:
			continue
		case slices.Contains(configSecrets, key) && elsewhere:
			continue
		case own && (key == "user" || key == "password-file" || key == "token-file"):
			continue
		case key == "password-file" && (flags.Changed("password") || os.Getenv(passwordVariable) != ""):
			continue
		case key == "cacert" && os.Getenv(authorityVariable) != "":
			continue
		}
		text := value.text
		if rest, ok := strings.CutPrefix(text, "~/"); ok && key != "server" {
			home, err := os.UserHomeDir()
			if err != nil {
				return fault.InvalidInput("File [%s], line %d: there is no home directory for ~", path, value.line)
			}
			text = filepath.Join(home, rest)
		}
		if err := setFlag(flag, text); err != nil {
			return fmt.Errorf("%w%w", errUsage, fault.InvalidInput("File [%s], line %d: value [%s] of [%s] is wrong: %v", path, value.line,
				text, key, err))
		}
	}
	return nil
}

// setFlag gives a flag a value, without making it one that the user gave.
func setFlag(flag *pflag.Flag, text string) error { return flag.Value.Set(text) }

// trimmedAddress is an address without what does not tell servers apart.
func trimmedAddress(address string) string {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return strings.ToLower(strings.TrimRight(address, "/"))
}
