package role

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
)

// guard returns what refuses requests that pages of others have browsers send.
func (n *Node) guard(errors *edge.Errors) (*edge.Guard, error) {
	host := n.settings.Text("service.host")
	o := edge.GuardOptions{
		Hosts: n.settings.List("service.server.http.allowedHosts"), Origins: n.settings.List("service.server.http.allowedOrigins"),
		Policy: n.settings.Text("service.server.http.contentSecurityPolicy"), Loopback: host == "" || n.settings.Bool("service.bindOnHost") &&
			isLoopback(host),
	}
	if host != "" && (o.Loopback || len(o.Hosts) > 0) {
		o.Hosts = append(o.Hosts, host) // by which other processes reach this one
	}
	return edge.NewGuard(errors, o)
}

// isLoopback reports whether what is listened on under a name is the loopback interface.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// networks reads the networks that a setting lists; single addresses are networks too.
func networks(setting string, list []string) ([]netip.Prefix, error) {
	out := make([]netip.Prefix, 0, len(list))
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			ip, ipErr := netip.ParseAddr(text)
			if ipErr != nil {
				return nil, fault.InvalidInput("Value [%s] of setting [%s] is not a network such as [10.0.0.0/8]", text, setting)
			}
			p = netip.PrefixFrom(ip, ip.BitLen())
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

func within(list []netip.Prefix, ip netip.Addr) bool {
	for _, p := range list {
		if p.Contains(ip.Unmap().WithZone("")) {
			return true
		}
	}
	return false
}

// forwarded has requests come from whom Routers and balancers say that they come from. Their header
// is believed if they are in one of the networks: the last address that is not one of them is the
// client's, whatever it has written in front of it.
func forwarded(h http.Handler, trusted []netip.Prefix) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, err := netip.ParseAddrPort(r.RemoteAddr)
		if err == nil && within(trusted, at.Addr()) {
			hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
			for _, hop := range slices.Backward(hops) {
				hop = strings.TrimSpace(hop)
				if host, _, err := net.SplitHostPort(hop); err == nil {
					hop = host
				}
				ip, err := netip.ParseAddr(strings.Trim(hop, "[]"))
				if err != nil {
					break
				}
				r.RemoteAddr = ip.String()
				if !within(trusted, ip) {
					break
				}
			}
		}
		h.ServeHTTP(w, r)
	})
}
