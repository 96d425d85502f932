package record

import (
	"encoding/hex"
	"math/big"
	"strings"
)

func FloorDiv(n, by int64) int64 {
	q := n / by
	if n%by < 0 {
		q--
	}
	return q
}

// MaxDecimalScale is the maximum number of digits after the decimal point. Decimal types have at
// most 76.
const MaxDecimalScale = 1000

// Decimal returns n divided by ten to the power of scale: an integer if the result is one and fits,
// otherwise Digits.
func Decimal(n *big.Int, scale int) any {
	if scale == 0 {
		if n.IsInt64() {
			return n.Int64()
		}
		return Digits(n.String())
	}
	text := n.String()
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	if pad := scale + 1 - len(text); pad > 0 {
		text = strings.Repeat("0", pad) + text
	}
	return Digits(sign + text[:len(text)-scale] + "." + text[len(text)-scale:])
}

func UUIDText(b []byte) string {
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
