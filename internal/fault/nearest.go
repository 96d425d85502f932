package fault

import "strings"

// Nearest returns the candidate most like name, for messages that ask "did you mean ...?"; "" when none is near. Case differences
// count little; otherwise up to a third of the name may differ.
func Nearest(name string, candidates []string) string {
	lower := strings.ToLower(name)
	best, bestDistance := "", len(name)/3+1
	for _, c := range candidates {
		if d := editDistance(lower, strings.ToLower(c), bestDistance); d < bestDistance || d == bestDistance && c < best {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance is the Levenshtein distance of a and b in bytes, or limit+1 when it is beyond limit.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = min(diagonal, row[j], row[j-1]) + 1
			}
			diagonal, row[j] = row[j], cost
		}
	}
	return row[len(b)]
}
