// Package unpack reads compressed bytes: Open recognises the compression by the first bytes, never
// by a file name. It rejects input that expands by an implausible factor.
package unpack
