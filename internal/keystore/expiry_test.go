package keystore

import (
	"crypto/x509"
	"testing"
	"time"
)

func TestNextToEnd(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		hours []int // from now
		want  int
	}{
		{"one", []int{5}, 5},
		{"the first of those that are valid", []int{9, 5, 7}, 5},
		{"old ones do not count", []int{-20, 9, -3, 7}, 7},
		{"old ones do not count, whatever the order", []int{9, 7, -20, -3}, 7},
		{"the last of old ones", []int{-20, -3, -5}, -3},
	} {
		var list []*x509.Certificate
		for _, h := range c.hours {
			list = append(list, &x509.Certificate{NotAfter: now.Add(time.Duration(h) * time.Hour)})
		}
		if got := int(nextToEnd(list, now).Sub(now).Hours()); got != c.want {
			t.Errorf("%s: [%d] hours, not [%d]", c.name, got, c.want)
		}
	}
	if !nextToEnd(nil, now).IsZero() {
		t.Error("no certificate ends")
	}
}
