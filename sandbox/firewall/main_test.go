package firewall

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"git-ward/sandbox/lab"
)

// TestMain lets the test binary play the product's hidden command and the two
// ends of a wire, each in a network namespace of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "firewall-child":
			end(Child(context.Background(), os.Stdin, os.Stdout))
		case "mute-child":
			end(nil)
		case "lying-child":
			end(json.NewEncoder(os.Stdout).Encode(reply{Ruleset{"table 1 ward": {"flags 0"}}}))
		case "closed-child": // it does something else than it was asked for
			closed := strings.NewReader(`{"policy": {"mode": "allowlist"}, "extent": "whole", "outside": "1:1"}`)
			end(Child(context.Background(), closed, os.Stdout))
		case "actor":
			end(lab.Act(os.Stdin, os.Stdout))
		case "host":
			end(host(os.Stdin, os.Stdout))
		case "here":
			end(here(os.Stdin))
		case "pour":
			end(pour())
		case "drain":
			end(drain())
		case "dial":
			end(dial(os.Args[2]))
		case "from":
			end(from(os.Args[2]))
		case "follow":
			end(follower(os.Stdin, os.Stdout))
		case "ordinary":
			end(ordinary(os.Stdin, os.Stdout))
		}
	}
	os.Exit(m.Run())
}

// host tells the facts of its namespace when asked.
func host(stdin io.Reader, stdout io.Writer) error {
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		p := Policy{}
		var err error
		if p.HostAddrs, p.HostRoutes, err = HostFacts(context.Background()); err != nil {
			return err
		}
		if err := json.NewEncoder(stdout).Encode(p); err != nil {
			return err
		}
	}
	return nil
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// needRoot skips, out loud, where the kernel cannot be tried.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: the firewall is tested in the kernel, which needs root")
	}
	for _, tool := range []string{"ip", "nft", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: %v (apt-get install iproute2 nftables util-linux)", err)
		}
	}
}

// target fences a lab's process.
func target(p *lab.Process) Target {
	return Target{NetNS: p.NetNS(), Child: []string{"firewall-child"}}
}

// fresh gives a process in a new, empty network namespace.
func fresh(t *testing.T) *lab.Process {
	t.Helper()
	needRoot(t)
	return lab.Start(t, "actor", syscall.CLONE_NEWNET)
}
