package record

// ShownName returns the name of an entity for error messages.
func ShownName(name string) string {
	if name == "" {
		return "inline"
	}
	return name
}
