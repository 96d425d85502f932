package assign

// rate is how many bytes a server has loaded in which time.
type rate struct{ bytes, micros int64 }

// rateBytes is about how many bytes a rate is the mean of: older ones count less and less.
const rateBytes = 4 << 30

// and counts more of them.
func (r rate) and(bytes, micros int64) rate {
	r.bytes, r.micros = r.bytes+bytes, r.micros+micros
	for r.bytes > rateBytes {
		r.bytes, r.micros = r.bytes/2, r.micros/2
	}
	return r
}

func (r rate) kbps() int64 {
	if r.bytes == 0 {
		return 0
	}
	return int64(float64(r.bytes) * 8 * 1000 / float64(max(r.micros, 1)))
}

// Rates returns the loading rates of servers in kilobits per second, as far as they are known.
func (d *Duty) Rates() map[string]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]int64{}
	for server, r := range d.mu.rates {
		if kbps := r.kbps(); kbps > 0 {
			out[server] = kbps
		}
	}
	return out
}
