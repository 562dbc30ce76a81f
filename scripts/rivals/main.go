// Command rivals is the other engines that the UDC machine is measured against, in a module
// of its own: nobody who builds Ward needs them. It reads the 5-state busy beaver's table
// from its input, runs it in each engine, and prints how many nanoseconds each took.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Each engine has to come to the machine's answer before its time counts.
const (
	beaverSteps = 47_176_870
	beaverOnes  = 4_098
)

// beaver says for each state what to do on 0 and on 1.
var beaver [5][2]struct {
	Write, Move int
	Next        string
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "rivals:", err)
		os.Exit(1)
	}
}

func run() error {
	if err := json.NewDecoder(os.Stdin).Decode(&beaver); err != nil {
		return fmt.Errorf("the table: %w", err)
	}
	times := map[string]time.Duration{}
	for name, engine := range map[string]func() (time.Duration, error){
		"wazero":     timeWasm,
		"gopher-lua": timeLua,
		"starlark-go": func() (time.Duration, error) {
			return timeStarlark(inStarlark, fmt.Sprintf("[%d, %d]", beaverSteps, beaverOnes))
		},
		"primes": func() (time.Duration, error) { return timeStarlark(primesInStarlark, "17984") },
	} {
		took, err := engine()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		times[name] = took
	}
	return json.NewEncoder(os.Stdout).Encode(times)
}
