package javatext

import (
	"encoding/base64"
	"strings"
)

// DecodeBase64 takes padding as optional, as Java's decoder does.
func DecodeBase64(s string) ([]byte, bool) {
	out, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	return out, err == nil && !strings.ContainsAny(s, "\r\n")
}
