package role

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
)

// pusher tells other processes the maps of users and roles that this process, which leads, has
// changed. Coordinators are not told: they read the store.
type pusher struct {
	n *Node
	// patience is how long other processes may take, by the authenticator or authorizer; nothing of
	// one that is missing is pushed.
	patience map[string]time.Duration

	// sending is held while maps are sent, so that each process gets them in the order of the changes.
	sending sync.Mutex
	pushed  map[*basic.Part]string // tags
}

// pushTargets is how many processes are told at once.
const pushTargets = 32

// send tells all processes some maps as they are now, those only that were not told already unless
// again is set. It waits for them; failures are logged, since each process also polls.
func (p *pusher) send(ctx context.Context, parts []*basic.Part, again bool) {
	if p.n.peers.alone {
		return
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	var group errgroup.Group
	group.SetLimit(pushTargets)
	for _, part := range parts {
		text, tag := part.Text()
		patience := p.patienceFor(part)
		if tag == "" || patience <= 0 || !again && p.pushed[part] == tag {
			continue
		}
		p.pushed[part] = tag
		for _, url := range p.targets() {
			group.Go(func() error {
				ctx, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				if err := p.post(ctx, url+part.Listen, text); err != nil {
					p.n.o.Log.WarnContext(ctx, "failed to push users or roles; the process polls them", "server", url, "error", err)
				}
				return nil
			})
		}
	}
	_ = group.Wait() // it has no errors
}

func (p *pusher) patienceFor(part *basic.Part) time.Duration {
	kind := "authorizer"
	if strings.HasPrefix(part.Listen, basic.Base+"/authentication/") {
		kind = "authenticator"
	}
	return p.patience["service.auth."+kind+"."+part.Name]
}

// targets returns the address of each other process that does not read the store.
func (p *pusher) targets() []string {
	urls, reads := map[string]string{}, map[string]bool{p.n.peers.membership.Holder: true}
	for _, m := range p.n.peers.members.Members("") {
		urls[m.Holder] = m.URL()
		reads[m.Holder] = reads[m.Holder] || m.Role == cluster.Coordinator
	}
	var out []string
	for holder, url := range urls {
		if !reads[holder] {
			out = append(out, url)
		}
	}
	slices.Sort(out)
	return out
}

func (p *pusher) post(ctx context.Context, url string, text []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := p.n.peers.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 200)) // what could be read of an error is all there is
	if resp.StatusCode != http.StatusOK {
		return fault.Runtime("It answered [%d]: %s", resp.StatusCode, answer)
	}
	return nil
}
