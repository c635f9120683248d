package session_test

import (
	"flag"
	"os"
	"testing"
)

// Each step of a law waits for the disk, so there are fewer cases than usual; -rapid.checks asks for more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
