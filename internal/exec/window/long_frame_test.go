package window

import "testing"

func TestSearchNearFindsTheFirst(t *testing.T) {
	for n := range 40 {
		for first := 0; first <= n; first++ {
			for near := -1; near <= n+1; near++ {
				asked := 0
				got, err := searchNear(0, n, near, func(i int) (bool, error) {
					if asked++; i < 0 || i >= n {
						t.Fatalf("asked for %d of %d", i, n)
					}
					return i >= first, nil
				})
				if got != first || err != nil {
					t.Fatalf("of %d, near %d: %d, want %d (%v)", n, near, got, first, err)
				}
				if near == first && asked > 2 {
					t.Fatalf("%d questions for what is there", asked)
				}
			}
		}
	}
}
