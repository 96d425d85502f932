package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/ergochat/readline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// The variables of the environment by which clients log in.
const (
	userVariable     = "HENGE_USER"
	passwordVariable = "HENGE_PASSWORD"
)

// login is how a command says who runs it, by flags, the environment or a prompt.
type login struct {
	server, user, file string
	password           secret.Text
	// tokenFile has an API key in its first line, profile names a section of the file of settings.
	tokenFile, profile string
	// addressed says that the server was given as an argument.
	addressed bool
	trust     trust
}

// hiddenFlag is the value of a flag that help texts and errors don't show.
type hiddenFlag secret.Text

// Set implements pflag.Value.
func (f *hiddenFlag) Set(value string) error {
	*f = hiddenFlag(secret.NewText(value))
	return nil
}

// String implements pflag.Value.
func (f *hiddenFlag) String() string { return secret.Text(*f).String() }

// Type implements pflag.Value.
func (f *hiddenFlag) Type() string { return "string" }

// add adds the flags of every command that talks to a server; about describes the server.
func (l *login) add(flags *pflag.FlagSet, about string) {
	flags.StringVar(&l.server, "server", defaultServer, about+"; default $"+serverVariable)
	flags.StringVar(&l.profile, "profile", "",
		"profile in the configuration file (henge/config in ~/.config); default $"+profileVariable)
	flags.StringVar(&l.user, "user", "", "user to log in as, if the server requires one; default $"+userVariable)
	flags.StringVar(&l.file, "password-file", "", "file with the password in its first line; "+
		"default: $"+passwordVariable+", otherwise a prompt")
	flags.Var((*hiddenFlag)(&l.password), "password", "the password itself, which other users of this machine can see")
	flags.StringVar(&l.tokenFile, "token-file", "", "file with an API key in its first line; default: $"+keyVariable)
	l.trust.add(flags)
}

// client returns a client that logs in.
func (l *login) client(cmd *cobra.Command) (*client, error) {
	if err := l.configure(cmd); err != nil {
		return nil, err
	}
	c := newClient(l.server)
	if err := l.trust.apply(c, cmd.ErrOrStderr()); err != nil {
		return nil, err
	}
	user, password, err := l.credentials(c, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	in := cmd.InOrStdin()
	switch {
	case l.tokenFile != "" && user == "":
		key, err := secretLine("Token file", "token", l.tokenFile)
		if err != nil {
			return nil, err
		}
		return c, c.useKey(key)
	case user == "" && os.Getenv(keyVariable) != "": // which logs in
	case user == "" && !piped(in):
		c.ask = func() (string, secret.Text, error) { return askLogin(cmd.ErrOrStderr()) }
	case user != "" && password.IsZero() && piped(in):
		return nil, fault.InvalidInput("User [%s] has no password: give it with --password-file FILE or in $%s", user, passwordVariable)
	case user != "" && password.IsZero():
		if password, err = askHidden(cmd.ErrOrStderr(), "Password of "+user+": "); err != nil {
			return nil, err
		}
	}
	c.logIn(user, password)
	return c, nil
}

// credentials returns what flags, address and environment say; "": nothing.
func (l *login) credentials(c *client, warn io.Writer) (user string, password secret.Text, err error) {
	if u, err := url.Parse(c.base); err == nil && u.User != nil { // which must not show in messages
		user = u.User.Username()
		if text, set := u.User.Password(); set {
			password = secret.NewText(text)
			visible(warn)
		}
		u.User = nil
		c.base = u.String()
	}
	if l.user != "" {
		user = l.user
	}
	switch {
	case l.file != "" && !l.password.IsZero():
		return "", secret.Text{}, fault.InvalidInput("Give the password with --password-file or with --password, not both")
	case l.file != "":
		if password, err = passwordOf(l.file); err != nil {
			return "", secret.Text{}, err
		}
	case !l.password.IsZero():
		password = l.password
		visible(warn)
	case password.IsZero():
		password = secret.NewText(os.Getenv(passwordVariable))
	}
	if user == "" {
		user = os.Getenv(userVariable)
	}
	if user == "" && (l.file != "" || !l.password.IsZero()) {
		return "", secret.Text{}, fault.InvalidInput("There is a password, but no user: give one with --user NAME or in $%s", userVariable)
	}
	if strings.Contains(user, ":") {
		return "", secret.Text{}, fault.InvalidInput("User [%s] has a colon in its name, which basic credentials do not allow", user)
	}
	if user == "" {
		password = secret.Text{}
	}
	return user, password, nil
}

// visible warns of a password that others can read.
func visible(w io.Writer) {
	fmt.Fprintf(w, "henge: a password on the command line is visible to other users of this machine; use --password-file or $%s\n",
		passwordVariable)
}

// passwordOf reads the first line of a file.
func passwordOf(file string) (secret.Text, error) {
	return secretLine("Password file", "password", file)
}

// secretLine reads a secret from the first line of a file.
func secretLine(kind, what, file string) (secret.Text, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return secret.Text{}, fault.InvalidInput("%s [%s] can't be read: %v", kind, file, reasonOf(err))
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return secret.Text{}, fault.InvalidInput("%s [%s] has no %s in its first line", kind, file, what)
	}
	return secret.NewText(line), nil
}

// askLogin asks at the terminal for a user and a password.
func askLogin(out io.Writer) (user string, password secret.Text, err error) {
	fmt.Fprintln(out, "The server requires a user and a password.")
	in, err := readline.NewFromConfig(&readline.Config{Prompt: "User: ", Stdout: out, Stderr: out, HistoryLimit: -1})
	if err != nil {
		return "", secret.Text{}, fmt.Errorf("opening the prompt: %w", err)
	}
	user, err = in.ReadLine()
	_ = in.Close() // nothing was written
	if err != nil || strings.TrimSpace(user) == "" {
		return "", secret.Text{}, fault.InvalidInput("No user was given")
	}
	user = strings.TrimSpace(user)
	password, err = askHidden(out, "Password of "+user+": ")
	return user, password, err
}

// askHidden asks at the terminal for a line that is not shown.
func askHidden(out io.Writer, prompt string) (secret.Text, error) {
	in, err := readline.NewFromConfig(&readline.Config{Stdout: out, Stderr: out, HistoryLimit: -1})
	if err != nil {
		return secret.Text{}, fmt.Errorf("opening the prompt: %w", err)
	}
	defer in.Close() //nolint:errcheck // nothing was written
	o := in.GeneratePasswordConfig()
	o.Prompt = prompt
	text, err := in.ReadLineWithConfig(o)
	switch {
	case errors.Is(err, readline.ErrInterrupt) || errors.Is(err, io.EOF) || err == nil && text == "":
		return secret.Text{}, fault.InvalidInput("No password was given")
	case err != nil:
		return secret.Text{}, fmt.Errorf("reading the password: %w", err)
	}
	return secret.NewText(text), nil
}

// basicAuth sends the requests to a server with a user and a password. Other hosts that the server
// may refer to don't get them.
type basicAuth struct {
	user     string
	password secret.Text
	host     string
	next     http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *basicAuth) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Hostname() == b.host {
		r = r.Clone(r.Context()) // the caller's request must stay as it is
		r.SetBasicAuth(b.user, b.password.Reveal())
	}
	return b.next.RoundTrip(r)
}

// logIn has the client send all requests as a user; "" sends them as nobody.
func (c *client) logIn(user string, password secret.Text) {
	if c.user = user; user == "" {
		return
	}
	host := ""
	if u, err := url.Parse(c.base); err == nil { // else the first request says what is wrong
		host = u.Hostname()
	}
	c.http = &http.Client{Transport: &basicAuth{user, password, host, c.http.Transport}}
}

// refusal returns what a client is told whom the server does not let in, or nil.
func (c *client) refusal(resp *http.Response, method, path string) error {
	switch {
	case resp.StatusCode == http.StatusUnauthorized && c.keyed:
		return fault.Unauthorized("The server at %s does not accept the API key of the token file", c.base)
	case resp.StatusCode == http.StatusUnauthorized && c.user == "" && os.Getenv(keyVariable) != "":
		return fault.Unauthorized("The server at %s does not accept the API key in $%s", c.base, keyVariable)
	case resp.StatusCode == http.StatusUnauthorized && c.user == "":
		return fault.Unauthorized("The server at %s requires a user and a password: give --user NAME and --password-file FILE, or set $%s "+
			"and $%s",
			c.base, userVariable, passwordVariable)
	case resp.StatusCode == http.StatusUnauthorized:
		return fault.Unauthorized("The server at %s does not accept the password of user [%s], or there is no such user", c.base, c.user)
	case resp.StatusCode == http.StatusForbidden && c.user != "":
		path, _, _ = strings.Cut(path, "?")
		return fault.Forbidden("User [%s] does not have the permission for this (%s %s); see henge user list and henge role show ROLE",
			c.user, method, strings.TrimPrefix(path, "/proxy/coordinator"))
	}
	return nil
}
