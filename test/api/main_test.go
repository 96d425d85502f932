package api

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// together is how many of the tests that mostly wait run at a time, whatever the cores: those
// that replay a recording with its pauses, and those of clients that don't read.
const together = "8"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", together); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// No test has the credentials of the machine.
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none",
	} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
