package cluster

import (
	"context"
	"sync"
)

// following has a goroutine for each process of a role, as long as that is a member as it was when
// the goroutine began.
type following struct {
	view *View
	role string
	// skip is the address of a process that nobody follows; "": there is none.
	skip string
	// The functions are called by the goroutine of run: join notes a member, and returns what follows
	// it until ctx is done; leave forgets one, whose goroutine may still run; joined is called
	// after each look at the members. They are called with lock held.
	lock   sync.Locker
	join   func(address string, m Member) func(ctx context.Context)
	leave  func(address string)
	joined func()
}

// run follows members until ctx is done and all goroutines have ended.
func (f *following) run(ctx context.Context) error {
	type one struct {
		member Member
		cancel context.CancelFunc
	}
	var running sync.WaitGroup
	defer running.Wait()
	known := map[string]one{}
	for {
		changed := f.view.Changed()
		members := map[string]Member{}
		for _, m := range f.view.Members(f.role) {
			if m.Address() != f.skip {
				members[m.Address()] = m
			}
		}
		f.lock.Lock()
		for address, o := range known {
			if m, ok := members[address]; !ok || m != o.member {
				o.cancel()
				f.leave(address)
				delete(known, address)
			}
		}
		for address, m := range members {
			if _, ok := known[address]; ok {
				continue
			}
			own, cancel := context.WithCancel(ctx)
			known[address] = one{m, cancel}
			follow := f.join(address, m)
			running.Go(func() { follow(own) })
		}
		f.joined()
		f.lock.Unlock()
		select {
		case <-ctx.Done():
			for _, o := range known {
				o.cancel()
			}
			return nil
		case <-changed:
		}
	}
}
