// Command fetch downloads kinesalite for the tests that start one.
package main

import (
	"fmt"
	"os"

	"github.com/hengedb/henge/internal/testkit/kinesalite"
)

func main() {
	program, err := kinesalite.Fetch()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(program)
}
