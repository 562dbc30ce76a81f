// Command actor is lab.Act as a program without libraries, for the inside of a
// container.
package main

import (
	"fmt"
	"os"

	"git-ward/sandbox/lab"
)

func main() {
	if err := lab.Act(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
