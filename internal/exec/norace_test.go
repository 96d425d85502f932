//go:build !race

package exec

// slowdown is how many times as long everything takes as in the product: see race_test.go.
const slowdown = 1
