package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hengedb/henge/cmd/henge/redact"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// doctorPatience is how long one thing that is asked for a report may take.
const doctorPatience = 10 * time.Second

// doctor collects what a bug report needs.
type doctor struct {
	settings *config.Settings // nil: they can't be read
	wrong    error            // why
	client   *client
	clock    clock.Clock
	held     *secret.Held // the secrets of the settings
	roles    []string
	logFile  string
	// statements says that statements and whole messages are wanted.
	statements bool

	parts []reportPart
	// found are the problems and warnings, for the terminal.
	found []string
}

// reportPart is a file of a report.
type reportPart struct{ name, text string }

func doctorCommand() *cobra.Command {
	d := &doctor{clock: clock.System()}
	who := &login{}
	var where settingFlags
	var output string
	cmd := &cobra.Command{
		Use:   "doctor [role ...]",
		Short: "Collect the information for a bug report, without secrets and rows",
		Long: `Collect the information for a bug report in one archive: the release and the machine, the settings, the results of
henge check-config, disks, memory and the layout of the data directory; from a running server its processes, tasks of the last day,
failed queries, numbers of segments, metrics; and the end of the log, if --log names it. Without a server the report contains only
the rest.

The report never contains secrets or rows of data. It omits statements, and the values in messages, which may come from rows;
--with-statements includes both. It contains names of hosts, datasources and columns, and paths. Review it before you send it.

The command accepts the settings of 'henge server'; give those of the server.`,
		Example: `  henge doctor
  henge doctor --config /etc/henge/henge.properties --log /var/log/henge.log
  journalctl -u henge -n 5000 -o cat | henge doctor --log - --output report.tar.gz
  henge doctor --output - | less`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			d.roles = args
			if d.settings, d.wrong = where.load(); d.wrong != nil {
				d.settings = nil
			}
			d.hold()
			if d.client, err = who.client(cmd); err != nil {
				return err
			}
			d.client.ask = nil // a report must not wait for somebody
			if err := d.collect(cmd.Context(), cmd.InOrStdin()); err != nil {
				return err
			}
			return d.write(cmd, output)
		},
	}
	where.add(cmd)
	cmd.Flags().StringVar(&output, "output", "", "archive to write; - for text on standard output (default henge-doctor-TIME.tar.gz)")
	cmd.Flags().StringVar(&d.logFile, "log", "", "log file of the server; the report contains its end; - for standard input")
	cmd.Flags().BoolVar(&d.statements, "with-statements", false, "include statements, and the values in messages")
	who.add(cmd.Flags(), "address of the server")
	return cmd
}

// collect makes the parts of the report, whatever some of them meet.
func (d *doctor) collect(ctx context.Context, in io.Reader) error {
	d.add("henge.txt", d.platform())
	d.add("settings.properties", d.settingsText())
	d.add("check.txt", d.check(ctx))
	d.add("disks.txt", d.disks())
	d.add("layout.txt", d.layout())
	if err := d.addLog(in); err != nil {
		return err
	}
	d.askServer(ctx)
	return ctx.Err()
}

func (d *doctor) add(name, text string) {
	d.parts = append(d.parts, reportPart{name, d.masked(text)})
}

// problem notes something that the user is shown at once.
func (d *doctor) problem(format string, args ...any) {
	d.found = append(d.found, d.masked(fmt.Sprintf(format, args...)))
}

// masked takes out secrets: those that names and addresses give away, and the values of all
// settings that are secret, wherever they stand.
func (d *doctor) masked(text string) string {
	if d.held == nil {
		return secret.MaskText(text)
	}
	return d.held.Mask(text)
}

// hold remembers the secrets of the settings, so that they are found wherever they stand.
func (d *doctor) hold() {
	if d.settings == nil {
		return
	}
	var texts []string
	for _, key := range d.settings.Set() {
		value := d.settings.Text(key)
		texts = append(texts, value)
		if !config.IsSecret(key) {
			continue
		}
		values := []string{value}
		if named, err := secret.OfSetting(key, value, os.LookupEnv); err == nil {
			values = append(values, named.Reveal())
		}
		for _, v := range values {
			text, _ := json.Marshal(map[string]string{"password": v}) // a text always encodes
			texts = append(texts, string(text))
		}
	}
	d.held = secret.HeldBy(secret.WithHeld(context.Background(), texts...))
}

// get asks a server for a path; what it answers is text, also where it refuses.
func (d *doctor) get(ctx context.Context, c *client, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	body, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxReportPart))
	return string(text), err
}

// maxReportPart is how many bytes of an answer or a log a report has.
const maxReportPart = 16 << 20

// why tells an error in a report: of a server that is away, only that.
func (d *doctor) why(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", doctorPatience)
	case errors.Is(err, errNoServer), fault.Find(err) == nil:
		return strings.ReplaceAll(messageOf(err), "\n", " ")
	}
	return d.message(messageOf(err))
}

// message is a message for the report, without its values unless statements are wanted.
func (d *doctor) message(text string) string {
	if d.statements {
		return text
	}
	return redact.Message(text)
}

// logLine is a line of the log for the report, likewise.
func (d *doctor) logLine(line string) string {
	if d.statements {
		return line
	}
	return redact.LogLine(line)
}
