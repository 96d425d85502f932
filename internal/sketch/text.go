package sketch

// IsText reports whether a value of a complex type is no sketch but text that a sketch was finished
// to: an estimate, or JSON. No stored sketch begins with a character that can be printed.
func IsText(value string) bool { return value != "" && value[0] >= ' ' && value[0] < 0x7f }
