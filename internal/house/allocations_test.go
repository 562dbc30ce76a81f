package house

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestStartsAllocateLittle: what packages make when a program starts, before it knows what it is
// asked, is bounded, as the runtime counts it (GODEBUG=inittrace=1 in package runtime): all of it,
// and Ward's own. Settings, expressions and tables that take work are made at their first use.
// Most of git-ward-launch's is of podman's bindings, and of ward-agent's of the makers' libraries.
func TestStartsAllocateLittle(t *testing.T) {
	tier.First(t, "the built programs")
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	for program, most := range map[string]struct{ all, own int }{
		"ward-hook":       {600, 300},
		"git-ward":        {1_400, 520},
		"git-ward-view":   {1_100, 300},
		"git-ward-launch": {27_000, 850},
		"ward-inside":     {330, 40},
		"ward-watcher":    {300, 100},
		"ward-agent":      {4_000, 400},
	} {
		cmd := exec.Command(filepath.Join(bin, program), "--version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, _ := cmd.CombinedOutput() // not each has a version to tell
		all, own, packages := 0, 0, ""
		for line := range strings.Lines(string(out)) {
			var name string
			var at, clock float64
			var bytes, allocs int
			if n, _ := fmt.Sscanf(line, "init %s @%g ms, %g ms clock, %d bytes, %d allocs", &name, &at, &clock, &bytes, &allocs); n != 5 {
				continue
			}
			if all += allocs; strings.HasPrefix(name, "git-ward/") {
				own += allocs
				packages += fmt.Sprintf("\n%s %d", name, allocs)
			}
		}
		if all == 0 || own == 0 {
			t.Errorf("%s tells no initialiser: %.300s", program, out)
		}
		if all > most.all || own > most.own {
			t.Errorf("%s starts with %d allocations, Ward's own %d of them, more than %d and %d:%s", program, all, own, most.all, most.own, packages)
		}
	}
}
