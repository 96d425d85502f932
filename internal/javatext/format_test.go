package javatext

import "testing"

func FuzzFormat(f *testing.F) {
	for _, s := range []string{"%d %s", "%,.2f", "%-5s|", "%05d", "%2$s", "%tY", "%%", "%", "%e%g%a", "%10000s"} {
		f.Add(s, int64(-42), 2.5)
	}
	f.Fuzz(func(t *testing.T, format string, n int64, x float64) {
		Format(format, []any{n, x, "text", nil})
	})
}
