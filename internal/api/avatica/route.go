package avatica

import (
	"encoding/json"
	"strings"
)

// IsPath reports whether path is a path of JDBC drivers.
func IsPath(path string) bool {
	path = strings.TrimSuffix(path, "/") + "/"
	return path == JSONPath || path == ProtobufPath
}

// ConnectionOf returns the id of the connection in the body of a request; "": there is none.
func ConnectionOf(path string, body []byte) string {
	if strings.HasPrefix(path, ProtobufPath[:len(ProtobufPath)-1]) {
		r, err := readProtobuf(body)
		if err != nil {
			return ""
		}
		return r.connection()
	}
	var r request
	if json.Unmarshal(body, &r) != nil {
		return ""
	}
	return r.connection()
}
