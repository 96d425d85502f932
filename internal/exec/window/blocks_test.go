package window

import "testing"

func TestByBlocksCoversEachRowOnce(t *testing.T) {
	const rows = 3*frameBlock*frameBlock + 5
	for levels := range 4 {
		for _, run := range []span{
			{0, rows}, {0, 0}, {7, 7}, {1, 63}, {0, 64}, {63, 65}, {64, 8192}, {1, rows - 1}, {4095, 4097}, {4096, 12288}, {100, 9000},
		} {
			covered := make([]int, rows)
			pieces := 0
			err := byBlocks(run, levels, func(level int, piece span) error {
				pieces += piece.hi - piece.lo
				size := 1
				for range level + 1 {
					size *= frameBlock
				}
				for r := piece.lo * size; r < piece.hi*size; r++ {
					covered[r]++
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for r, n := range covered {
				if want := run.lo <= r && r < run.hi; n > 1 || (n == 1) != want {
					t.Fatalf("levels %d, run %v: row %d is covered %d times", levels, run, r, n)
				}
			}
			if levels == 3 && pieces > 5*2*frameBlock {
				t.Errorf("run %v has %d pieces", run, pieces)
			}
		}
	}
}
