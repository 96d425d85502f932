//go:build race

package exec

// slowdown is how many times as long the race detector lets everything take, at most.
const slowdown = 10
