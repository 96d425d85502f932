package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand prints the man page. It is hidden: packages have the page.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the man page of henge", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, day := revision()
			day, _, _ = strings.Cut(day, "T")
			_, err := fmt.Fprint(cmd.OutOrStdout(), manPage(cmd.Root(), day))
			return err
		},
	}
}

// manPage writes one page of all commands in the language of man.
func manPage(root *cobra.Command, day string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH HENGE 1 \"%s\" \"henge %s\" \"User Commands\"\n", day, roff(version))
	fmt.Fprintf(&b, ".SH NAME\nhenge \\- %s\n", roff(strings.ToLower(root.Short[:1])+root.Short[1:]))
	b.WriteString(".SH SYNOPSIS\n.B henge\n.I command\n[\n.I arguments\n] [\n.I flags\n]\n.SH DESCRIPTION\n")
	manText(&b, root.Long)
	b.WriteString(".SH COMMANDS\n")
	manCommands(&b, root)
	b.WriteString(".SH EXIT STATUS\n0 on success, 1 on failure, 2 when flags, arguments or settings are wrong, 3 when no server responds, " +
		"4 when credentials or permissions are rejected, 130 when interrupted.\n")
	b.WriteString(".SH FILES\n.TP\n.I /etc/henge/henge.properties\nSettings of the service that packages install.\n")
	b.WriteString(".TP\n.I /var/lib/henge\nIts data.\n")
	return b.String()
}

func manCommands(b *strings.Builder, parent *cobra.Command) {
	for _, c := range parent.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		fmt.Fprintf(b, ".SS %s\n", roff(strings.TrimSuffix(c.UseLine(), " [flags]")))
		text := c.Long
		if text == "" {
			text = c.Short + "."
		}
		manText(b, text)
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			b.WriteString(".TP\n")
			if f.Shorthand != "" {
				fmt.Fprintf(b, "\\fB\\-%s\\fR, ", f.Shorthand)
			}
			fmt.Fprintf(b, "\\fB\\-\\-%s\\fR", roff(f.Name))
			if value != "" {
				fmt.Fprintf(b, " \\fI%s\\fR", roff(value))
			}
			fmt.Fprintf(b, "\n%s\n", roff(usage))
		})
		if c.Example != "" {
			fmt.Fprintf(b, ".PP\nExamples:\n.PP\n.nf\n%s\n.fi\n", roff(c.Example))
		}
		manCommands(b, c)
	}
}

// manText writes paragraphs; lines that are indented stay as they are.
func manText(b *strings.Builder, text string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(paragraph, " ") {
			fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(paragraph))
			continue
		}
		fmt.Fprintf(b, ".PP\n%s\n", roff(paragraph))
	}
}

// roff escapes what the language of man would take for its own.
func roff(text string) string {
	text = strings.NewReplacer("\\", "\\e", "-", "\\-").Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = "\\&" + l
		}
	}
	return strings.Join(lines, "\n")
}
