package record

func IsJSONSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }
