package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"

	"github.com/ergochat/readline"

	"github.com/hengedb/henge/cmd/henge/script"
	"github.com/hengedb/henge/cmd/henge/termtext"
	"github.com/hengedb/henge/internal/fault"
)

const (
	firstPrompt = "henge> "
	morePrompt  = "   ... " // of a statement that goes on
)

// lineReader is where a prompt gets its lines from.
type lineReader interface {
	// ReadLine returns the next line, io.EOF at the end, readline.ErrInterrupt after Ctrl-C.
	ReadLine() (string, error)
	SetPrompt(text string)
	// SaveToHistory keeps a statement for later sessions.
	SaveToHistory(text string) error
}

// prompt is a session that understands commands with a backslash beside statements.
type prompt struct {
	*session
	line lineReader // nil: the lines are those of a file
	// typed returns what stood in the line when Ctrl-C was pressed.
	typed func() string
	// pending is the begin of a statement.
	pending strings.Builder
	// reading is where the next line of a file stands, and begun where pending does.
	reading, begun place
	// last is the statement that \watch and \e take when nothing is pending.
	last placed
	// screen is where answers go when they don't go to file.
	screen io.Writer
	file   *os.File
	// before is the format that \x goes back to.
	before string
	// files is how many files run each other.
	files int
	// unpaged says that \pager is off.
	unpaged bool
}

// errLeave ends a prompt.
var errLeave = errors.New("leave")

// run shows the prompt until the user leaves.
func (p *prompt) run(ctx context.Context) error {
	version, err := p.version(ctx)
	if err != nil {
		return err
	}
	where := "at " + p.client.base
	if p.client.local {
		where = "without a server"
		if err := p.local.describe(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.out, "henge %s %s. Statements end with a semicolon; \\? lists the commands, \\q quits.\n", version, where)
	// Ctrl-C ends what runs, not the prompt: the context of the program, which it ends, is left.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
	defer stop()
	unheard := make(chan os.Signal, 1) // keeps Ctrl-C from ending the program between two statements
	signal.Notify(unheard, os.Interrupt)
	defer signal.Stop(unheard)

	present := ""
	names := &catalog{client: p.client, clock: p.clock}
	config := &readline.Config{
		Prompt: firstPrompt, HistoryLimit: 1000, DisableAutoSaveHistory: true, HistorySearchFold: true,
		AutoComplete: &completer{names: names, before: p.pending.String},
	}
	colours := wantsColour()
	config.Listener = func(line []rune, at int, key rune) ([]rune, int, bool) {
		grown := len(line) > len([]rune(present)) && at == len(line) && unicode.IsPrint(key)
		present = string(line)
		return line, at, colours && grown // what was typed may have another colour now: it is drawn again
	}
	if colours {
		config.Painter = func(line []rune, _ int) []rune { return highlighted(line, stateAfter(p.pending.String())) }
	}
	if dir, err := os.UserConfigDir(); err == nil && os.MkdirAll(filepath.Join(dir, "henge"), 0o700) == nil {
		config.HistoryFile = filepath.Join(dir, "henge", "history")
	}
	line, err := readline.NewFromConfig(config)
	if err != nil {
		return fmt.Errorf("opening the terminal: %w", err)
	}
	defer func() { _ = line.Close() }() // the terminal is given back; there is nothing to save
	defer context.AfterFunc(ctx, func() { _ = line.Close() })()
	p.line, p.typed = line, func() string { return present }
	terminal := &screen{out: p.out, keys: os.Stdin, size: config.FuncGetSize, raw: config.FuncMakeRaw, cooked: config.FuncExitRaw}
	p.pages = func() page {
		if p.unpaged {
			return plainPage{p.out}
		}
		return terminal.newPage()
	}
	return p.loop(ctx)
}

func (p *prompt) version(ctx context.Context) (string, error) {
	var status struct {
		Version string `json:"version"`
	}
	err := p.client.call(ctx, http.MethodGet, "/status", nil, &status)
	return status.Version, err
}

// loop reads lines and does what they say.
func (p *prompt) loop(ctx context.Context) error {
	p.screen = p.out
	defer func() {
		if err := p.closeFile(); err != nil {
			fmt.Fprintln(p.err, "Error: "+err.Error())
		}
	}()
	for {
		text, err := p.line.ReadLine()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			if p.pending.Len() == 0 && strings.TrimSpace(p.typed()) == "" {
				fmt.Fprintln(p.err, `\q or Ctrl-D quits.`)
			}
			p.pending.Reset()
			p.line.SetPrompt(firstPrompt)
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		err = p.cancellable(ctx, func(ctx context.Context) error { return p.feed(ctx, text) })
		if errors.Is(err, errLeave) || ctx.Err() != nil {
			return nil
		}
		if p.pending.Len() == 0 {
			p.line.SetPrompt(firstPrompt)
		} else {
			p.line.SetPrompt(morePrompt)
		}
	}
}

// cancellable runs what Ctrl-C ends.
func (p *prompt) cancellable(ctx context.Context, do func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	return do(ctx)
}

// feed takes a line. The error was reported already, or is errLeave.
func (p *prompt) feed(ctx context.Context, text string) error {
	trimmed := strings.TrimSpace(text)
	if p.pending.Len() == 0 && strings.HasPrefix(trimmed, `\`) || trimmed == `\q` && p.line != nil && p.files == 0 {
		p.remember(trimmed)
		return p.reported(ctx, placed{at: p.reading}, p.command(ctx, trimmed))
	}
	if p.pending.Len() == 0 && trimmed == "" {
		return nil
	}
	if p.pending.Len() == 0 {
		p.begun = p.reading
	}
	p.pending.WriteString(text + "\n")
	if !script.Ended(p.pending.String()) {
		return nil
	}
	return p.flush(ctx)
}

// flush runs the statements that were collected, up to the first that fails.
func (p *prompt) flush(ctx context.Context) error {
	text := p.pending.String()
	p.pending.Reset()
	p.remember(text)
	for _, statement := range placedStatements(text, p.begun) {
		if err := p.execute(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// remember keeps in the history what was typed: on one line, as the history has lines. A comment up
// to the end of its line would then swallow the rest, so such texts are kept line by line.
func (p *prompt) remember(text string) {
	if p.line == nil || p.files > 0 {
		return
	}
	lines := []string{strings.Join(strings.Fields(text), " ")}
	if strings.Contains(text, "--") || strings.Contains(text, "//") || strings.ContainsAny(text, `'"`) {
		lines = strings.Split(strings.TrimSpace(text), "\n")
	}
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			_ = p.line.SaveToHistory(line) // a history that can't be written is no reason to stop
		}
	}
}

// execute runs a statement and reports its failure.
func (p *prompt) execute(ctx context.Context, statement placed) error {
	p.last = statement
	return p.reported(ctx, statement, p.session.run(ctx, statement.text))
}

// reported tells the user of an error.
func (p *prompt) reported(ctx context.Context, statement placed, err error) error {
	switch {
	case err == nil, errors.Is(err, errLeave), errors.Is(err, errReported):
		return err
	case ctx.Err() != nil && fault.Find(err) == nil:
		fmt.Fprintln(p.err, "Canceled.")
		return &reportedError{err}
	}
	if err := p.report(statement, err); !errors.Is(err, errReported) {
		fmt.Fprintln(p.err, "Error: "+termtext.HarmlessLines(messageOf(err)))
	}
	return &reportedError{err}
}

// script runs the lines of a file, which may be statements and commands, up to the first failure.
func (p *prompt) script(ctx context.Context, file, text string) error {
	outside := p.reading
	defer func() { p.reading = outside }()
	p.reading = place{file, 0, 1}
	for line := range strings.Lines(text) {
		p.reading.line++
		if err := p.feed(ctx, strings.TrimRight(line, "\r\n")); err != nil {
			return err
		}
	}
	return p.flush(ctx)
}

// hasCommand reports whether a line of a text begins as commands do. Texts without one are not read
// by line.
func hasCommand(text string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), `\`) {
			return true
		}
	}
	return false
}

// closeFile ends what \o began.
func (p *prompt) closeFile() error {
	file := p.file
	p.file, p.out = nil, p.screen
	if file == nil {
		return nil
	}
	if err := file.Close(); err != nil {
		return fault.InvalidInput("File [%s] can't be written: %v", file.Name(), reasonOf(err))
	}
	return nil
}
