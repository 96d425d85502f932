package cache

import "slices"

// span is bytes start up to, not including, end of a file.
type span struct{ start, end int64 }

// spans are ascending and apart from each other.
type spans []span

// add adds bytes.
func (s *spans) add(n span) {
	out := make(spans, 0, len(*s)+1)
	for _, o := range *s {
		switch {
		case o.end < n.start:
			out = append(out, o)
		case n.end < o.start:
			out = append(out, n)
			n = o
		default:
			n = span{min(n.start, o.start), max(n.end, o.end)}
		}
	}
	*s = append(out, n)
}

// remove removes bytes.
func (s *spans) remove(n span) {
	var out spans
	for _, o := range *s {
		if left := (span{o.start, min(o.end, n.start)}); left.start < left.end {
			out = append(out, left)
		}
		if right := (span{max(o.start, n.end), o.end}); right.start < right.end {
			out = append(out, right)
		}
	}
	*s = out
}

// missing returns what lacks of bytes start up to end.
func (s spans) missing(start, end int64) (out []span) {
	at, _ := slices.BinarySearchFunc(s, start, func(o span, start int64) int {
		if o.end <= start {
			return -1
		}
		return 1
	})
	for ; at < len(s) && s[at].start < end; at++ {
		if start < s[at].start {
			out = append(out, span{start, s[at].start})
		}
		start = max(start, s[at].end)
	}
	if start < end {
		out = append(out, span{start, end})
	}
	return out
}

// bytes returns how many there are.
func (s spans) bytes() (n int64) {
	for _, o := range s {
		n += o.end - o.start
	}
	return n
}
