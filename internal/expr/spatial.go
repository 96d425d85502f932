package expr

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// spatialFunctions make and test points. A point is a text of its coordinates with commas between
// them, as spatial dimensions hold it.
var spatialFunctions = []*Function{
	{
		Name: "SPATIAL_POINT", Min: 1, Max: -1, SeesNulls: true,
		Summary: "Returns the first argument if it is a point, otherwise a point of the coordinates, joined by commas. Returns " +
			"NULL if a coordinate is not a number.",
		Forms: ListForms("point, coordinate, ..."),
		Bind: func(b *Binding) (Expr, error) {
			for i := range b.Args {
				b.AnyText(i)
			}
			return b.Call(Of(Varchar))
		},
		Kernel: Fixed(joinPoints),
	},
	{
		Name: "SPATIAL_WITHIN", Min: 2, Max: 2,
		Summary: "Returns whether a point is within a bound. The bound is the JSON of the native filter `spatial`.",
		Forms:   ListForms("point, bound"),
		Bind: func(b *Binding) (Expr, error) {
			b.AnyText(0)
			if text := b.ConstantText(1, "bound"); b.Err == nil {
				_, b.Err = parseBound(text)
			}
			return b.Call(Of(Boolean))
		},
		Kernel: func(c *Call, _ *Context) (Kernel, error) {
			text, _ := LiteralValue(c.Args[1])
			s, _ := text.(string)
			contains, err := parseBound(s)
			if err != nil {
				return nil, err
			}
			return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
				out := make([]int64, n)
				var point []float32
				for i := range out {
					if valid.Get(i) {
						var ok bool
						point, ok = parsePoint(point[:0], args[0].StringAt(i))
						out[i] = kernel.Bool(ok && contains(point))
					}
				}
				return vector.FromLongs(out), nil
			}, nil
		},
	},
}

// joinPoints is the kernel of SPATIAL_POINT. What is there and no point is NULL, even if there are
// coordinates.
func joinPoints(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
	out := vector.NewBuilder(vector.String, n)
	var scratch []float32
	var parts []string
	for i := range n {
		parts = parts[:0]
		if !args[0].IsNull(i) && args[0].StringAt(i) != "" {
			parts = append(parts, args[0].StringAt(i))
		} else {
			for _, a := range args[1:] {
				if !a.IsNull(i) {
					parts = append(parts, a.StringAt(i))
				}
			}
			if len(parts) < len(args)-1 {
				parts = nil
			}
		}
		point := strings.Join(parts, ",")
		var ok bool
		if scratch, ok = parsePoint(scratch[:0], point); ok {
			out.Append(point)
		} else {
			out.Append(nil)
		}
	}
	return out.Build(), nil
}

// parsePoint appends the coordinates of a point.
func parsePoint(dst []float32, s string) ([]float32, bool) {
	for text := range strings.SplitSeq(s, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(text), 32)
		if err != nil {
			return dst, false
		}
		dst = append(dst, float32(x))
	}
	return dst, true
}

// earthRadius is the mean radius of the Earth in metres.
const earthRadius = 6_371_000

// metres are the lengths of the units that a radius can have beside that of the coordinates, which
// is euclidean.
var metres = map[string]float64{"meters": 1, "kilometers": 1000, "miles": 1609.344}

// parseBound returns what tells whether a point is within a bound. Bounds and coordinates are
// single precision, as in Druid. See quirk Q003.
func parseBound(text string) (contains func([]float32) bool, err error) {
	var w struct {
		Type       string    `json:"type"`
		Min        []float32 `json:"minCoords"`
		Max        []float32 `json:"maxCoords"`
		Coords     []float32 `json:"coords"`
		Radius     float32   `json:"radius"`
		RadiusUnit string    `json:"radiusUnit"`
		Abscissa   []float32 `json:"abscissa"`
		Ordinate   []float32 `json:"ordinate"`
	}
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return nil, fault.InvalidInput("A spatial bound is a JSON object with a [type], and lists of numbers").WithCause(err)
	}
	switch w.Type {
	case "rectangular":
		if len(w.Min) == 0 || len(w.Min) != len(w.Max) {
			return nil, fault.InvalidInput("A spatial bound of type [rectangular] has [%d] numbers in [minCoords] and [%d] in "+
				"[maxCoords]; "+
				"it needs as many in both, one for each coordinate", len(w.Min), len(w.Max))
		}
		return func(p []float32) bool { return inRectangle(w.Min, w.Max, p) }, nil
	case "radius":
		unit, known := metres[w.RadiusUnit]
		switch {
		case len(w.Coords) < 2:
			return nil, fault.InvalidInput("A spatial bound of type [radius] has [%d] numbers in [coords]; it needs "+
				"at least two", len(w.Coords))
		case known:
			return func(p []float32) bool { return len(p) >= 2 && haversine(w.Coords, p) <= float64(w.Radius)*unit }, nil
		case w.RadiusUnit != "" && w.RadiusUnit != "euclidean":
			return nil, fault.InvalidInput("[radiusUnit] of a spatial bound is [%s]; known are [euclidean, meters, "+
				"kilometers, miles]", w.RadiusUnit)
		}
		return func(p []float32) bool { return inRadius(w.Coords, w.Radius, p) }, nil
	case "polygon":
		if len(w.Abscissa) < 3 || len(w.Abscissa) != len(w.Ordinate) {
			return nil, fault.InvalidInput("A spatial bound of type [polygon] has [%d] numbers in [abscissa] and [%d] in [ordinate]; "+
				"it needs as many in both, at least three", len(w.Abscissa), len(w.Ordinate))
		}
		return func(p []float32) bool { return len(p) >= 2 && inPolygon(w.Abscissa, w.Ordinate, p[0], p[1]) }, nil
	}
	return nil, fault.InvalidInput("A spatial bound has type [%s]; known are [rectangular, radius, polygon]", w.Type)
}

func inRectangle(least, greatest, p []float32) bool {
	if len(p) != len(least) {
		return false
	}
	for i, x := range p {
		if !(least[i] <= x && x <= greatest[i]) {
			return false
		}
	}
	return true
}

func inRadius(center []float32, radius float32, p []float32) bool {
	if len(p) < len(center) {
		return false
	}
	square := 0.0
	for i, x := range center {
		d := float64(p[i] - x)
		square += d * d
	}
	return square <= float64(radius)*float64(radius)
}

// haversine returns the distance of two points in metres on the surface of the Earth; the
// coordinates are latitude and longitude in degrees.
func haversine(a, b []float32) float64 {
	radians := func(x float32) float64 { return float64(x) * math.Pi / 180 }
	lat1, lat2 := radians(a[0]), radians(b[0])
	dLat, dLon := math.Sin((lat2-lat1)/2), math.Sin((radians(b[1])-radians(a[1]))/2)
	h := dLat*dLat + math.Cos(lat1)*math.Cos(lat2)*dLon*dLon
	return 2 * earthRadius * math.Asin(math.Min(1, math.Sqrt(h)))
}

// inPolygon counts the edges left of a point: within is where their number is odd, and on an edge.
// An edge has its lower end and not its upper one, so that a corner between two edges counts once.
func inPolygon(xs, ys []float32, x, y float32) bool {
	odd := false
	for i, j := 0, len(xs)-1; i < len(xs); i, j = i+1, i {
		x1, y1, x2, y2 := xs[i], ys[i], xs[j], ys[j]
		if y1 == y2 {
			if y == y1 && min(x1, x2) <= x && x <= max(x1, x2) {
				return true
			}
			continue
		}
		if y < min(y1, y2) || y > max(y1, y2) {
			continue
		}
		at := x1 + (y-y1)/(y2-y1)*(x2-x1)
		if at == x {
			return true
		}
		if at < x && y < max(y1, y2) {
			odd = !odd
		}
	}
	return odd
}
