// Package glob compiles patterns for names of files and objects (Compile).
package glob
