package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"git-ward/internal/benchtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestBenchManyPrograms counts the programs that one agent's directive starts from its launch to
// its end, and lists them with who started whom.
func TestBenchManyPrograms(t *testing.T) {
	tier.Full(t, "it measures")
	benchtest.Only(t)
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("SKIPPED: no strace")
	}
	p := gittest.New(t)
	toWorkOn(t, p, 1)
	p.Run(p.Work, "git-ward", "maintain", p.Bare) // or the launch does, on a busy machine
	plain := launchMany(p, 1, "--unfenced")
	trace := filepath.Join(t.TempDir(), "trace")
	p.Run(p.Work, "strace", append([]string{"-f", "-tt", "-qq", "--seccomp-bpf", "--trace=execve,clone,clone3,vfork", "--string-limit=300", "--output", trace}, plain.Args...)...)
	eachOnce(t, p, 1)
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
	benchtest.Row("1 agent, a directive: programs that start", fmt.Sprint(len(programsOf(text))), "", "")
}

// programsOf are the lines of a trace in which a program starts.
func programsOf(trace []byte) [][]byte {
	return regexp.MustCompile(`(?m)^.* (?:execve\(|<... execve resumed>).* = 0$`).FindAll(trace, -1)
}
