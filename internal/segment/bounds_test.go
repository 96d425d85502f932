package segment

import (
	"testing"

	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

func TestBoundsKnowTimesAndNumbersOfRows(t *testing.T) {
	const rows = BlockRows + 5
	r := NewBounds(rows, -3, 7)
	if info := r.Info(); info.Rows != rows || !info.HasTimes || info.MinTime != -3 || info.MaxTime != 7 {
		t.Errorf("the segment is %+v", info)
	}
	if c, err := r.Column("x"); c != nil || err != nil {
		t.Errorf("column x is %v, %v", c, err)
	}
	c, err := r.Column(TimeColumn)
	if err != nil {
		t.Fatal(err)
	}
	for block, values := range []int{BlockRows, 5} {
		least, greatest, known := c.LongRange(block)
		if !known || least != -3 || greatest != 7 {
			t.Errorf("block %d lies between %d and %d, known: %v", block, least, greatest, known)
		}
		if got, known := c.Totals(block); !known || got.Values != values {
			t.Errorf("block %d has %d values, known: %v, want %d", block, got.Values, known, values)
		}
	}
	if NewBounds(0, 0, 0).Info().HasTimes {
		t.Error("no rows have times")
	}
	if invariant.Enabled {
		return // reading is a panic
	}
	for name, read := range map[string]func() error{
		"Read":        func() error { _, err := c.Read(nil, 0, 1); return err },
		"ReadRows":    func() error { _, err := c.ReadRows(nil, []uint32{0}); return err },
		"Codes":       func() error { _, err := c.Codes(nil, 0, 1, nil); return err },
		"SelectLongs": func() error { return c.SelectLongs(0, 1, 0, 1, vector.NewBitmap(1)) },
		"SelectCodes": func() error { return c.SelectCodes(CodeFilter{}, 0, 1, vector.NewBitmap(1)) },
	} {
		if read() == nil {
			t.Errorf("%s gives values", name)
		}
	}
}
