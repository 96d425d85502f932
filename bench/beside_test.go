package main

import "testing"

func TestFiguresOfTwoBinaries(t *testing.T) {
	round := func(ready, size float64) []figure {
		return []figure{{Name: "ready", Unit: "ms", Value: ready, Limit: 100}, {Name: "size", Unit: "MB", Value: size, Limit: 50}}
	}
	henge := medians([][]figure{round(30, 40), round(10, 40), round(20, 40)})
	beside := medians([][]figure{round(50, 0)})[:2]
	got := compared("bin/henge", "/tmp/before", pairs(henge, append(beside, figure{Name: "only here"})))
	want := "| | henge | before | ratio | worst |\n|---|---:|---:|---:|---:|\n" +
		"| ready | 20 ms | 50 ms | 0.400 | 30 and 50 ms |\n| size | 40 MB | 0 MB | - | 40 and 0 MB |\n"
	if len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
