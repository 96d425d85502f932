package vector

import "testing"

func TestAppendFloat(t *testing.T) {
	for _, c := range []struct {
		x    float32
		want string
	}{
		{0.1, "0.1"}, {16777216, "1.6777216E7"}, {16777218, "1.6777218E7"}, {134217728, "1.34217728E8"}, {1.4420188e12, "1.44201875E12"},
		{-9.214365e18, "-9.2143648E18"}, {3.4028235e38, "3.4028235E38"}, {1e-10, "1.0E-10"}, {1e9, "1.0E9"},
	} {
		if got := string(AppendFloat(nil, c.x)); got != c.want {
			t.Errorf("[%v]: got %s, want %s", c.x, got, c.want)
		}
	}
}
