package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// errLeft says that the user has seen enough of an answer.
var errLeft = errors.New("the pager was left")

// page shows an answer on a terminal: as it is if the screen holds it, else with a pager. Write
// fails with errLeft when the user leaves; Close shows the rest.
type page interface {
	io.Writer
	Close() error
}

// plainPage shows an answer as it is.
type plainPage struct{ io.Writer }

// Close implements page.
func (plainPage) Close() error { return nil }

// screen is a terminal that a prompt reads keys from.
type screen struct {
	out  io.Writer
	keys io.Reader
	size func() (width, height int)
	// raw gives keys as they are pressed, cooked takes that back.
	raw, cooked func() error
}

// newPage returns what shows an answer: $HENGE_PAGER or $PAGER if there is one, else our own.
func (s *screen) newPage() page {
	own := &ownPager{screen: s}
	own.moved = sync.NewCond(&own.mu)
	if command := firstOf(os.Getenv("HENGE_PAGER"), os.Getenv("PAGER")); command != "" {
		return &otherPager{ownPager: own, command: command}
	}
	return own
}

func firstOf(list ...string) string {
	for _, text := range list {
		if text != "" {
			return text
		}
	}
	return ""
}

const (
	// pagerLines and pagerBytes are how much of an answer can be scrolled back to.
	pagerLines, pagerBytes = 200_000, 64 << 20
	pagerHelp              = "Space, b: page   Enter, k: line   arrows: scroll   g, G: begin, end   q: quit"
)

// ownPager shows pages of an answer. The answer is read on while the user looks, up to what can be
// scrolled back to: a server does not wait for people.
//
//	Write ─► lines ─► draw ─► the terminal
//	                   ▲
//	keys ─► look ──────┘        one goroutine, from the first full page until the user leaves
type ownPager struct {
	*screen
	looking sync.WaitGroup

	mu      sync.Mutex
	moved   *sync.Cond // the page moved, or the user left
	lines   []string
	bytes   int
	partial strings.Builder
	top     int // first line of the page
	left    int // first column
	active  bool
	all     bool // no more lines come
	toEnd   bool // the page stays at the end of what is known
	full    bool // the page was full when it was drawn
	done    bool // the user has left
	failed  error
}

// Write implements io.Writer.
func (p *ownPager) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return 0, errLeft
	}
	p.partial.Write(text)
	known := p.partial.String()
	end := strings.LastIndexByte(known, '\n')
	if end < 0 {
		return len(text), nil
	}
	p.partial.Reset()
	p.partial.WriteString(known[end+1:])
	p.addLocked(strings.Split(known[:end], "\n"))
	switch {
	case !p.active && len(p.lines) > p.room():
		if err := p.openLocked(); err != nil {
			return 0, err
		}
	case p.active && (!p.full || p.toEnd):
		p.drawLocked()
	}
	for p.active && !p.done && !p.forgetLocked() {
		p.moved.Wait()
	}
	return len(text), nil
}

func (p *ownPager) addLocked(lines []string) {
	for _, line := range lines {
		p.bytes += len(line)
	}
	p.lines = append(p.lines, lines...)
	if p.toEnd {
		p.top = max(0, len(p.lines)-p.room())
	}
}

// forgetLocked drops the oldest lines when there are too many; false: they are still on the page.
func (p *ownPager) forgetLocked() bool {
	for len(p.lines) > pagerLines || p.bytes > pagerBytes {
		drop := len(p.lines) / 2
		if drop > p.top || drop == 0 {
			return len(p.lines) == 1
		}
		for _, line := range p.lines[:drop] {
			p.bytes -= len(line)
		}
		p.lines = slices.Clone(p.lines[drop:])
		p.top -= drop
	}
	return true
}

// room is how many lines a page has.
func (p *ownPager) room() int {
	_, height := p.size()
	if height < 3 {
		return 1 << 30 // no screen: nothing is paged
	}
	return height - 1
}

// Close shows the rest, until the user leaves.
func (p *ownPager) Close() error {
	err := p.endLocked()
	p.looking.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(err, p.failed)
}

func (p *ownPager) endLocked() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.partial.Len() > 0 {
		p.addLocked([]string{p.partial.String()})
		p.partial.Reset()
	}
	p.all = true
	switch {
	case p.done:
		return nil
	case p.active:
		p.drawLocked()
		return nil
	case len(p.lines) <= p.room() && !p.wide():
		_, err := io.WriteString(p.out, strings.Join(append(p.lines, ""), "\n"))
		return err
	}
	return p.openLocked()
}

// wide reports whether a line is wider than the screen.
func (p *ownPager) wide() bool {
	width, height := p.size()
	if height < 3 || width < 1 {
		return false
	}
	return slices.ContainsFunc(p.lines, func(line string) bool { return utf8.RuneCountInString(line) > width })
}

// openLocked shows the first page and begins to look for keys.
func (p *ownPager) openLocked() error {
	if err := p.raw(); err != nil {
		return fmt.Errorf("opening the terminal: %w", err)
	}
	p.active = true
	_, _ = io.WriteString(p.out, "\x1b[?1049h") // the other screen: what was on this one comes back
	p.drawLocked()
	p.looking.Go(p.look)
	return nil
}

// look obeys keys until the user leaves.
func (p *ownPager) look() {
	key := make([]byte, 16)
	for {
		n, err := p.keys.Read(key)
		p.mu.Lock()
		stays := err == nil
		for pressed := string(key[:n]); stays && pressed != ""; {
			var one string
			one, pressed = cutKey(pressed)
			stays = p.obey(one)
		}
		if !stays {
			p.done, p.lines, p.bytes = true, nil, 0
			_, _ = io.WriteString(p.out, "\x1b[?1049l") // the terminal may be gone
			p.failed = p.cooked()
		} else {
			p.drawLocked()
		}
		done := p.done
		p.moved.Broadcast()
		p.mu.Unlock()
		if done {
			return
		}
	}
}

// cutKey cuts the first key off what was pressed: a character, or a sequence that begins with Esc.
func cutKey(pressed string) (key, rest string) {
	if len(pressed) < 3 || pressed[0] != '\x1b' || pressed[1] != '[' && pressed[1] != 'O' {
		return pressed[:1], pressed[1:]
	}
	end := 2
	for end < len(pressed)-1 && pressed[end] < '@' {
		end++
	}
	return pressed[:end+1], pressed[end+1:]
}

// obey moves the page as a key says; false: the user leaves.
func (p *ownPager) obey(key string) bool {
	room := p.room()
	width, _ := p.size()
	last := max(0, len(p.lines)-room)
	p.toEnd = false
	switch key {
	case "q", "Q", "\x03", "\x04", "\x1b":
		return false
	case " ", "f", "\x1b[6~":
		if p.all && p.top >= last {
			return false // a page behind the end
		}
		p.top += room
	case "\r", "\n", "j", "\x1b[B", "\x1bOB":
		p.top++
	case "b", "\x1b[5~":
		p.top -= room
	case "k", "\x1b[A", "\x1bOA":
		p.top--
	case "\x1b[C", "\x1bOC", "l":
		p.left += max(1, width/2)
	case "\x1b[D", "\x1bOD", "h":
		p.left -= max(1, width/2)
	case "g", "\x1b[H":
		p.top, p.left = 0, 0
	case "G", "\x1b[F":
		p.toEnd, p.top = true, last
	}
	p.top, p.left = min(max(0, p.top), last), max(0, p.left)
	if p.left > p.widest() {
		p.left = max(0, p.widest()-width/2)
	}
	return true
}

// widest is the width of the widest line of the page.
func (p *ownPager) widest() (widest int) {
	for _, line := range p.lines[p.top:min(len(p.lines), p.top+p.room())] {
		widest = max(widest, utf8.RuneCountInString(line))
	}
	return widest
}

// drawLocked shows the page and a line about it.
func (p *ownPager) drawLocked() {
	width, _ := p.size()
	end := min(len(p.lines), p.top+p.room())
	p.full = end-p.top == p.room()
	var b strings.Builder
	b.WriteString("\x1b[H\x1b[2J")
	for _, line := range p.lines[p.top:end] {
		runes := []rune(line)
		runes = runes[min(p.left, len(runes)):]
		b.WriteString(string(runes[:min(width, len(runes))]) + "\r\n")
	}
	state := fmt.Sprintf("lines %s to %s", grouped(int64(p.top+1)), grouped(int64(end)))
	if p.all && end == len(p.lines) {
		state += " (end)"
	}
	status := []rune(state + "   " + pagerHelp)
	b.WriteString("\x1b[7m" + string(status[:min(len(status), max(1, width-1))]) + "\x1b[0m")
	_, _ = io.WriteString(p.out, b.String()) // a terminal that is gone gives no keys
}

// otherPager hands what the screen does not hold to a program.
type otherPager struct {
	*ownPager // holds the begin, up to a screen
	command   string
	cmd       *exec.Cmd
	pipe      io.WriteCloser
	ended     bool
}

// Write implements io.Writer.
func (p *otherPager) Write(text []byte) (int, error) {
	switch {
	case p.ended:
		return 0, errLeft
	case p.cmd != nil:
		return len(text), p.give(string(text))
	}
	p.partial.Write(text)
	if held := p.held(); len(p.lines) > p.room() || p.wide() {
		if err := p.start(); err != nil {
			return 0, err
		}
		return len(text), p.give(held)
	}
	return len(text), nil
}

// held returns what was not shown yet.
func (p *otherPager) held() string {
	text := p.partial.String()
	p.lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return text
}

func (p *otherPager) give(text string) error {
	if _, err := io.WriteString(p.pipe, text); err != nil {
		p.ended = true
		return errLeft // it reads no more
	}
	return nil
}

func (p *otherPager) start() (err error) {
	p.cmd = exec.Command("sh", "-c", p.command) //nolint:gosec // the user's own pager
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = p.out, os.Stderr, os.Environ()
	if os.Getenv("LESS") == "" {
		p.cmd.Env = append(p.cmd.Env, "LESS=SR")
	}
	if p.pipe, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("starting the pager [%s]: %w", p.command, err)
	}
	return nil
}

// Close implements page.
func (p *otherPager) Close() error {
	if p.cmd == nil {
		_, err := io.WriteString(p.out, p.partial.String())
		return err
	}
	_ = p.pipe.Close() // it may have ended
	_ = p.cmd.Wait()   // how it ends is the user's affair
	return nil
}
