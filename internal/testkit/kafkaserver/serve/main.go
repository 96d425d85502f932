// Command serve runs a real Kafka for measurements: it prints the address, and ends when its input
// ends.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/hengedb/henge/internal/testkit/kafkaserver"
)

func main() {
	s, err := kafkaserver.Open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer s.Close()
	fmt.Println(s.Address("PLAINTEXT"))
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is closed
}
