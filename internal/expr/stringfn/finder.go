package stringfn

import "bytes"

// finder looks for a text in others that are like a sample. It goes from one occurrence to the next
// of the byte of the text that is rarest there: the first byte, by which bytes.Index goes, may well
// be in each of them.
type finder struct {
	text []byte
	rare int // place of the byte in text
}

const (
	// finderSamples pieces of finderSample bytes tell how often bytes come. They are spread, as
	// dictionaries are sorted.
	finderSamples = 16
	finderSample  = 64
	// finderShare: when more than one byte in so many is a false hit, bytes.Index does better.
	finderShare = 8
)

// newFinder returns a finder for a text of one byte or more.
func newFinder(text string, sample []byte) finder {
	f := finder{text: []byte(text)}
	var counts [256]int
	for i := range finderSamples {
		from := len(sample) / finderSamples * i
		for _, c := range sample[from:min(from+finderSample, len(sample))] {
			counts[c]++
		}
	}
	for i, c := range f.text {
		if counts[c] < counts[f.text[f.rare]] {
			f.rare = i
		}
	}
	return f
}

// index is bytes.Index of the text.
func (f *finder) index(in []byte) int {
	c, wrong := f.text[f.rare], 0
	for at := f.rare; at < len(in); at++ {
		i := bytes.IndexByte(in[at:], c)
		if i < 0 {
			return -1
		}
		at += i
		from := at - f.rare
		if len(in)-from < len(f.text) {
			return -1
		}
		if bytes.Equal(in[from:from+len(f.text)], f.text) {
			return from
		}
		if wrong++; wrong > 2*finderShare && wrong > at/finderShare {
			if i = bytes.Index(in[from+1:], f.text); i >= 0 {
				i += from + 1
			}
			return i
		}
	}
	return -1
}
