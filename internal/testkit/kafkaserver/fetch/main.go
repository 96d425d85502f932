// Command fetch downloads the jars of Apache Kafka for the tests that start one.
package main

import (
	"fmt"
	"os"

	"github.com/hengedb/henge/internal/testkit/kafkaserver"
)

func main() {
	folder, err := kafkaserver.Jars()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(folder)
}
