package expr

import (
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

func TestBoundsContainPoints(t *testing.T) {
	const (
		rectangle = `{"type":"rectangular","minCoords":[0,-1.5],"maxCoords":[2,1.5]}`
		circle    = `{"type":"radius","coords":[1,1],"radius":5}`
		// Two towers on a wall: a polygon that is not convex.
		towers = `{"type":"polygon","abscissa":[0,0,1,1,2,2,3,3],"ordinate":[0,3,3,1,1,3,3,0]}`
		bern   = `{"type":"radius","coords":[46.948,7.4474],"radius":100,"radiusUnit":"kilometers"}`
		triang = `{"type":"polygon","abscissa":[0,2,4],"ordinate":[0,2,0]}`
	)
	for _, tt := range []struct {
		bound, point string
		want         bool
	}{
		{rectangle, "0,-1.5", true}, {rectangle, "2,1.5", true}, {rectangle, "2.001,0", false}, {rectangle, "1, 1", true}, {rectangle, "1,1,1", false},
		{rectangle, "1", false}, {rectangle, "x,1", false}, {rectangle, "", false},
		{circle, "4,5", true}, {circle, "4,5.01", false}, {circle, "1", false},
		{towers, "0.5,2.5", true}, {towers, "2.5,2.5", true}, {towers, "1.5,2.5", false}, {towers, "1.5,0.5", true}, {towers, "0,0", true},
		{towers, "3,2", true}, {towers, "1.5,1", true}, {towers, "-1,1", false}, {towers, "-1,3", false}, {towers, "3.5,1", false}, {towers, "3.5,3", false},
		{triang, "2,1", true}, {triang, "5,2", false}, {triang, "2,2", true}, {triang, "3,1", true}, {triang, "3.1,1", false},
		{bern, "47.3769,8.5417", true},  // Zurich, 95 km away
		{bern, "46.2044,6.1432", false}, // Geneva, 130 km away
	} {
		contains, err := parseBound(tt.bound)
		if err != nil {
			t.Fatal(err)
		}
		point, ok := parsePoint(nil, tt.point)
		if got := ok && contains(point); got != tt.want {
			t.Errorf("[%s] in %s: %v", tt.point, tt.bound, got)
		}
	}
}

func TestBoundsThatAreNone(t *testing.T) {
	for bound, want := range map[string]string{
		`[]`:                "A spatial bound is a JSON object with a [type], and lists of numbers",
		`{"type":"circle"}`: "A spatial bound has type [circle]; known are [rectangular, radius, polygon]",
		`{"type":"rectangular","minCoords":[1],"maxCoords":[]}`: "A spatial bound of type [rectangular] has [1] numbers in [minCoords] and [0] in [maxCoords]; " +
			"it needs as many in both, one for each coordinate",
		`{"type":"radius","coords":[1],"radius":1}`:                           "A spatial bound of type [radius] has [1] numbers in [coords]; it needs at least two",
		`{"type":"radius","coords":[1,2],"radius":1,"radiusUnit":"furlongs"}`: "[radiusUnit] of a spatial bound is [furlongs]; known are [euclidean, meters, kilometers, miles]",
		`{"type":"polygon","abscissa":[1,2],"ordinate":[1,2]}`: "A spatial bound of type [polygon] has [2] numbers in [abscissa] and [2] in [ordinate]; " +
			"it needs as many in both, at least three",
	} {
		if _, err := parseBound(bound); err == nil || fault.Find(err).Message != want {
			t.Errorf("%s: %v", bound, err)
		}
	}
}
