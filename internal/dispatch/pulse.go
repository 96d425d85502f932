package dispatch

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

const (
	// pulseEach is how long a request waits before its server is asked whether it lives, and how long
	// after an answer it is asked again.
	pulseEach = 250 * time.Millisecond
	// pulsePatience is how long an answer may take, and pulseMisses how many in a row must not come
	// until a server is silent. A server that is only busy answers sooner.
	pulsePatience = 500 * time.Millisecond
	pulseMisses   = 2
	// pulseAgain is after how long a server that is silent has been asked again.
	pulseAgain = pulseEach + 2*pulsePatience
	// pulseKept is how long it is known of a server that it is silent, when nobody wants anything of
	// it.
	pulseKept = 10 * time.Second
	// pulsePath is what a server is asked. Whatever it answers, it lives.
	pulsePath = "/status/health"
)

// Pulse detects silent servers, which accept connections and do not respond, because the process is
// paused or the machine hangs. It probes a server only while a request waits for it, and until it
// responds again. A nil Pulse considers all servers alive. All methods are safe for use by many
// goroutines.
type Pulse struct {
	client *http.Client
	clock  clock.Clock
	life   context.Context
	end    context.CancelFunc
	asking sync.WaitGroup

	mu struct {
		sync.Mutex
		beats map[string]*beat // by URL
	}
}

// beat is a server that is asked.
type beat struct {
	waiting map[*byte]time.Time // requests, since when
	wanted  time.Time           // when it was looked at last
	misses  int
	since   time.Time     // it is silent, if it is
	silent  chan struct{} // closed while it is silent
}

// NewPulse returns a Pulse that probes with a client. The caller closes it.
func NewPulse(client *http.Client, c clock.Clock) *Pulse {
	p := &Pulse{client: client, clock: c}
	p.life, p.end = context.WithCancel(context.Background())
	p.mu.beats = map[string]*beat{}
	return p
}

// Close stops all probes.
func (p *Pulse) Close() {
	p.mu.Lock()
	p.end() // with the lock held: nobody begins to ask any more
	p.mu.Unlock()
	p.asking.Wait()
}

// Watch registers a request that waits for the server at a URL. The channel is closed when the
// server is silent; done ends the watch.
func (p *Pulse) Watch(url string) (silent <-chan struct{}, done func()) {
	if p == nil {
		return nil, func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.mu.beats[url]
	if b == nil {
		b = &beat{waiting: map[*byte]time.Time{}, silent: make(chan struct{})}
		p.mu.beats[url] = b
		if p.life.Err() == nil {
			p.asking.Go(func() { p.follow(url, b) })
		}
	}
	key := new(byte)
	b.wanted = p.clock.Now()
	b.waiting[key] = b.wanted
	return b.silent, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(b.waiting, key)
	}
}

// Silent reports whether the server at a URL is known to be silent.
func (p *Pulse) Silent(url string) bool {
	silent, _ := p.look(url)
	return silent
}

// SilentFor returns the time for which the server at a URL has been silent; 0: it is not silent.
func (p *Pulse) SilentFor(url string) time.Duration {
	_, since := p.look(url)
	return since
}

func (p *Pulse) look(url string) (silent bool, since time.Duration) {
	if p == nil {
		return false, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.mu.beats[url]
	if b == nil {
		return false, 0
	}
	b.wanted = p.clock.Now()
	if b.misses < pulseMisses {
		return false, 0
	}
	return true, b.wanted.Sub(b.since)
}

// follow asks a server for as long as that is of use to anybody.
func (p *Pulse) follow(url string, b *beat) {
	for p.clock.Sleep(p.life, pulseEach) == nil {
		ask, goOn := p.wants(url, b)
		if !goOn {
			return
		}
		for misses := 1; ask && misses > 0; {
			misses = p.note(b, p.answers(url))
			ask = misses < pulseMisses && p.life.Err() == nil
		}
	}
}

// wants reports whether a server is to be asked now, and whether it may have to be later.
func (p *Pulse) wants(url string, b *beat) (ask, goOn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	silent := b.misses >= pulseMisses
	if len(b.waiting) == 0 && (!silent || now.Sub(b.wanted) > pulseKept) {
		delete(p.mu.beats, url)
		return false, false
	}
	ask = silent
	for _, since := range b.waiting {
		ask = ask || now.Sub(since) >= pulseEach
	}
	return ask, true
}

// note takes an answer, or that none came, down, and returns how many have not come since the last.
func (p *Pulse) note(b *beat, answered bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := b.misses >= pulseMisses
	if answered {
		b.misses = 0
		if was {
			b.silent = make(chan struct{})
		}
		return 0
	}
	if b.misses++; b.misses >= pulseMisses && !was {
		b.since = p.clock.Now()
		close(b.silent)
	}
	return b.misses
}

// answers reports whether a server answers.
func (p *Pulse) answers(url string) bool {
	ctx, cancel := context.WithTimeout(p.life, pulsePatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+pulsePath, nil)
	if err != nil {
		return false
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4096)) // that it answers is enough
	_ = resp.Body.Close()                                       // likewise
	return true
}
