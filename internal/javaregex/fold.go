package javaregex

import (
	"sync"
	"unicode"
)

// fold returns the characters that a character of a pattern matches: without the flag for Unicode,
// case is a matter of ASCII.
func (f regexFlags) fold(r rune) runeSet {
	if f&flagIgnoreCase == 0 {
		return setOf(r, r)
	}
	if f&flagUnicodeCase == 0 {
		if lower := r | 0x20; 'a' <= lower && lower <= 'z' {
			return setOf(lower, lower, lower-0x20, lower-0x20)
		}
		return setOf(r, r)
	}
	upper := unicode.ToUpper(r)
	lower := unicode.ToLower(upper)
	out := runeSet{r, r}
	if upper != lower {
		out = append(out, lower, lower)
		for _, other := range caseFolds()[lower] {
			out = append(out, other, other)
		}
	}
	return out.normal()
}

// foldRange is fold for all characters from lo to hi.
func (f regexFlags) foldRange(lo, hi rune) runeSet {
	out := setOf(lo, hi)
	if f&flagIgnoreCase == 0 {
		return out
	}
	if f&flagUnicodeCase == 0 {
		upper := out.intersection(setOf('A', 'Z'))
		lower := out.intersection(setOf('a', 'z'))
		for i := range upper {
			upper[i] += 0x20
		}
		for i := range lower {
			lower[i] -= 0x20
		}
		return out.union(upper).union(lower)
	}
	for lower, chars := range caseFolds() {
		for _, r := range chars {
			if upper := unicode.ToUpper(r); lo <= upper && upper <= hi || lo <= lower && lower <= hi {
				out = append(out, r, r)
			}
		}
	}
	return out.normal()
}

// caseFolds are the characters that have a case, by the lower case of their upper case: those in
// one entry are the same to Java. It goes by way of the upper case because several characters share
// one, as σ and ς do.
var caseFolds = sync.OnceValue(func() map[rune][]rune {
	out := map[rune][]rune{}
	for _, c := range unicode.CaseRanges {
		for r := rune(c.Lo); r <= rune(c.Hi); r++ {
			lower := unicode.ToLower(unicode.ToUpper(r))
			out[lower] = append(out[lower], r)
		}
	}
	return out
})
