package fault

import "strings"

// Nearest returns the candidate that is most similar to name, for messages with "did you mean
// ...?", or "" if no candidate is similar. Differences in case count little. Otherwise up to a
// third of the name may differ.
func Nearest(name string, candidates []string) string {
	return NearestWithin(name, candidates, len(name)/3)
}

// NearestWithin is like Nearest, with an explicit maximum number of letters that may differ, not
// counting case.
func NearestWithin(name string, candidates []string, most int) string {
	lower := strings.ToLower(name)
	best, bestDistance := "", most+1
	for _, c := range candidates {
		if d := editDistance(lower, strings.ToLower(c), bestDistance); d < bestDistance || d == bestDistance && c < best {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance is how many bytes of a are to be put in, taken out, changed or swapped with the next
// for b, or limit+1 when it is beyond limit: the restricted Damerau-Levenshtein distance.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			next[j] = row[j-1]
			if a[i-1] != b[j-1] {
				next[j] = min(row[j-1], row[j], next[j-1]) + 1
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}

// DidYouMean returns the end of a message that suggests the candidate most similar to name, or ""
// if no candidate is similar.
func DidYouMean(name string, candidates []string) string {
	near := Nearest(name, candidates)
	if near == "" {
		return ""
	}
	return ". Did you mean [" + near + "]?"
}
