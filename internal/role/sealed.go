package role

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/secret/seal"
)

// sealKeySetting holds the key by which processes of a cluster seal what they tell each other
// through clients, and browsers.
const sealKeySetting = "seal.key"

const (
	// clientHeader says whom a request comes from that a process passes on. Only a process of the
	// cluster can have sealed it, so that it is believed from nobody else.
	clientHeader = "Henge-Client"
	kindClient   = "henge address of a client"
	// clientLife is longer than a request is on its way, by what clocks may differ.
	clientLife = 5 * time.Minute
)

// sharedKey returns a key of the cluster, which its first process makes.
func (n *Node) sharedKey(ctx context.Context, setting string) ([]byte, error) {
	fresh := make([]byte, seal.KeyBytes)
	_, _ = rand.Read(fresh) // it never fails
	text, err := json.Marshal(fresh)
	if err != nil {
		return nil, err
	}
	_, err = n.store.UpdateSetting(ctx, metastore.Fence{}, setting, nil, func(stored json.RawMessage) (json.RawMessage, error) {
		if stored != nil {
			return stored, nil
		}
		return text, nil
	})
	if err != nil {
		return nil, err
	}
	stored, _, err := n.store.Setting(ctx, setting)
	var key []byte
	if err == nil {
		err = json.Unmarshal(stored, &key)
	}
	if err == nil && len(key) != seal.KeyBytes {
		err = fault.Runtime("Setting [%s] in the metadata store is not a key", setting)
	}
	return key, err
}

// openSealer makes what seals by the key of the cluster, where somebody could open it.
func (n *Node) openSealer(ctx context.Context) error {
	if n.peers.alone && len(n.tokens.providers) == 0 {
		return nil
	}
	key, err := n.sharedKey(ctx, sealKeySetting)
	if err != nil {
		return err
	}
	n.sealer, err = seal.New(key, n.o.Clock)
	return err
}

// passClient has a request that is passed on say whom it comes from: to processes of the cluster
// sealed, and to what believes X-Forwarded-For. That has an address without a port, as one has that
// was forwarded to this process.
func (n *Node) passClient(in, out *http.Request) {
	host, _, err := net.SplitHostPort(in.RemoteAddr)
	if err != nil {
		host = in.RemoteAddr
	}
	if isAddress(host) {
		out.Header.Set("X-Forwarded-For", host)
	}
	out.Header.Del(clientHeader)
	if n.sealer == nil {
		return
	}
	if text, err := n.sealer.SealText(kindClient, in.RemoteAddr, clientLife); err == nil {
		out.Header.Set(clientHeader, text)
	}
}

// ofClient has requests that another process of the cluster passes on come from whom it has them
// from. What others send under that name is ignored.
func (n *Node) ofClient(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text := r.Header.Get(clientHeader); text != "" {
			var address string
			if n.sealer != nil {
				if _, ok := n.sealer.OpenText(kindClient, text, &address); ok && isAddress(address) {
					r.RemoteAddr = address
				}
			}
			r.Header.Del(clientHeader)
		}
		h.ServeHTTP(w, r)
	})
}

// isAddress reports whether a text is an address, with or without a port.
func isAddress(text string) bool {
	_, err := netip.ParseAddrPort(text)
	if err != nil {
		_, err = netip.ParseAddr(text)
	}
	return err == nil
}
