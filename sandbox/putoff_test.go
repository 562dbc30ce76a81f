package sandbox

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/configtest"
)

// testPausedVerdict: a pause ends a verdict's container, whose command has no end, and the
// unit is judged afresh when it goes on (WORK-3). Two verifications of people's run beside
// it all the while, and nobody sweeps another's container away.
func testPausedVerdict(t *testing.T, m *machine) {
	seen := t.TempDir() // inside, too
	quick, enough := filepath.Join(seen, "quick"), filepath.Join(seen, "enough")
	config := filepath.Join(m.Bare, "ward/config.toml")
	settings, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(config, settings, 0o644)
	configtest.Set(t, m.Bare, fmt.Sprintf("programs = %q", seen))
	m.Git("fetch", "--quiet")
	m.Git("reset", "--quiet", "--hard", "origin/main")
	comms, err := os.ReadFile(filepath.Join(m.Work, "COMMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	const criterion = "`(test -e /ward/programs/quick || sleep 86401) && test -s work/D-5.md`"
	m.Write("COMMS.md", strings.Replace(string(comms), "## Directives\n", "## Directives\n\n### D-5: judged at length\n\nWork.\n\n- [ ] there is a file ("+criterion+")\n- work: work/D-5.md\n", 1))
	m.Git("commit", "--quiet", "--all", "--message", "D-5")
	m.Git("push", "--quiet", "origin", "main")
	before := len(m.containers())
	var out bytes.Buffer
	launch := m.Command(m.Work, nil, "git-ward", "launch", "--bare", m.Bare, "--model", "script", "--state", filepath.Join(filepath.Dir(m.Bare), "state"))
	launch.Stdout, launch.Stderr = &out, &out
	if err := launch.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		m.Run(m.Work, "git-ward", "launch", "--stop", "--bare", m.Bare)
		await.Exit(t, launch)
		if t.Failed() {
			t.Log(out.String())
		}
	}()
	verdict := func() bool { return m.runs("sleep 86401 ") }
	var judged []string
	await.True(t, "the verdict's command", func() bool {
		judged = m.containersOf("sleep 86401 ")
		return len(judged) > 0
	})
	ended := make(chan error, 2)
	for _, every := range []string{"0.21", "0.22"} {
		line := "until test -e /ward/programs/enough; do sleep " + every + "; done"
		go func() {
			_, err := m.Try(m.Work, nil, "", "git-ward", "verify", "--bare", m.Bare, "--run", line, "refs/heads/main")
			ended <- err
		}()
		await.True(t, line, func() bool { return m.runs("sleep " + every + " ") })
	}
	m.Run(m.Work, "git-ward", "uow", "pause", "-m", "lunch", "D-5.1")
	paused := time.Now()
	await.True(t, "the end of the verdict's command", func() bool { return !verdict() })
	t.Logf("the verdict's command, in %v, ended %v after the pause", judged, time.Since(paused))
	if err := os.WriteFile(enough, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := await.Value(t, "the end of a verification", ended); err != nil {
			t.Errorf("two verifications at once: %v", err)
		}
	}
	await.True(t, "no container but the agent's own and the two that wait for its next verdict", func() bool {
		left := m.containers()
		gone := !slices.ContainsFunc(left, func(name string) bool { return slices.Contains(judged, name) || strings.Contains(name, "verify") })
		return gone && len(left)-before <= 3
	})
	if note, err := m.Try(m.Bare, nil, "", "git", "log", "--format=%s", "refs/notes/certificates"); strings.Contains(note, "D-5") {
		t.Error("there is a verdict", note, err)
	}
	if err := os.WriteFile(quick, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	m.Run(m.Work, "git-ward", "uow", "resume", "D-5.1")
	await.True(t, "the end of D-5", func() bool {
		report, err := m.Try(m.Bare, nil, "", "git", "show", "main:COMMS.md")
		return err == nil && strings.Contains(report, " D-5 EXIT_CONVERGED\n")
	})
}

// runs reports whether a process with such a command line is on the machine.
func (m *machine) runs(line string) bool {
	for _, p := range m.processes() {
		if p == line {
			return true
		}
	}
	return false
}

// containersOf are the names of the containers in which a process with such a command line is.
func (m *machine) containersOf(line string) (names []string) {
	all := m.processes()
	for pid, p := range all {
		for p == line && pid > 0 {
			if _, rest, is := strings.Cut(all[pid], "/conmon "); is {
				_, name, _ := strings.Cut(rest, " -n ")
				name, _, _ = strings.Cut(name, " ")
				names = append(names, name)
				break
			}
			pid = parent(pid)
		}
	}
	return names
}

// containers are the names of those that podman has of this repository's launches and verifications:
// other tests' may be at work on the same storage.
func (m *machine) containers() []string {
	m.T.Helper()
	all := strings.Fields(m.Run(m.dir, "sh", "-c", podmanOn(m.storage)+"container ls --all --format '{{.Names}}'"))
	return slices.DeleteFunc(all, func(name string) bool { return !strings.Contains(name, m.owner()) })
}

// owner is in the names of what launches of this repository make on the machine.
func (m *machine) owner() string {
	m.T.Helper()
	info, err := os.Stat(m.Bare)
	if err != nil {
		m.T.Fatal(err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", m.Bare, info.Sys().(*syscall.Stat_t).Ino))
	return fmt.Sprintf("%x", sum[:8])
}
