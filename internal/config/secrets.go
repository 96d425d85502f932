package config

// IsSecret reports whether the value of a setting is never shown.
func IsSecret(key string) bool {
	p := find(key)
	return p != nil && p.Secret
}
