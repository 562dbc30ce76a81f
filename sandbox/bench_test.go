package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"git-ward/internal/benchtest"
	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/image"
)

// firstByte is the time until a program says something.
func firstByte(t *testing.T, cmd *exec.Cmd) time.Duration {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = out.Read(make([]byte, 1))
	took := time.Since(start)
	if waitErr := cmd.Wait(); err != nil || waitErr != nil {
		t.Fatal(err, waitErr)
	}
	return took
}

// TestBenchLaunch is the whole of `git ward launch -- echo`, its door, gateway and
// rules in place and read back, against plain `podman run` of the same image with the
// same network: a bridge, and none.
func TestBenchLaunch(t *testing.T) {
	tier.Full(t, "it measures")
	benchtest.Only(t)
	p := fenced(t)
	var recipe image.Recipe
	if err := recipe.Complete(); err != nil {
		t.Fatal(err)
	}
	storage := testStorage
	conf := filepath.Join(t.TempDir(), "containers.conf")
	if err := os.WriteFile(conf, []byte("[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for mode, network := range map[string]string{"public": "bridge", "allowlist": "none"} {
		setEgress(t, p, mode)
		var ward, plain []time.Duration
		for range 9 {
			cmd := exec.Command("env", "git-ward", "launch", "--bare", p.Bare, "--state", filepath.Join(filepath.Dir(p.Bare), "state"), "--", "echo", "x")
			cmd.Dir, cmd.Env = p.Work, p.Env
			ward = append(ward, firstByte(t, cmd))
			cmd = exec.Command("env", "podman", "--root", storage+"/root", "--runroot", storage+"/run", "--tmpdir", storage+"/tmp", "--storage-driver", "overlay",
				"run", "--rm", "--network", network, "--ulimit", "nproc=64:64", "--ulimit", "nofile=1024:1024", recipe.Name(), "echo", "x")
			cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+conf)
			plain = append(plain, firstByte(t, cmd))
		}
		benchtest.Against(fmt.Sprintf("git ward launch to first byte, rules verified, [egress] mode %s", mode), benchtest.Median(ward), "podman run --network "+network, benchtest.Median(plain))
	}
}

// setEgress sets a repository's [egress] mode.
func setEgress(t *testing.T, p *gittest.Pair, mode string) {
	t.Helper()
	configtest.Set(t, p.Bare, "[egress] mode = \""+mode+"\"")
}

// pushes is a script that pushes single commits and prints how many microseconds
// each took.
const pushes = `set -e
cd "$(mktemp -d)"
git clone --quiet "$1" w
cd w
git config user.name Pat
git config user.email pat@example.org
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do
	echo "$2 $i" > file
	git add file
	git commit --quiet --message "$i"
	start=${EPOCHREALTIME/./}
	git push --quiet origin HEAD:refs/heads/agent/"$2" 2>/dev/null
	echo $((${EPOCHREALTIME/./} - start))
done`

// TestBenchDoor is a push of one commit from inside, through the door, against the
// same push over a plain path on the host, both through Ward's hooks.
func TestBenchDoor(t *testing.T) {
	tier.Full(t, "it measures")
	benchtest.Only(t)
	p := fenced(t)
	inside, err := p.Try(p.Work, nil, "", "git-ward", "launch", "--bare", p.Bare, "--state", filepath.Join(filepath.Dir(p.Bare), "state"), "--", "bash", "-c", pushes, "pushes", "/mnt/remote", "inside")
	if err != nil {
		t.Fatal(err, inside)
	}
	host := p.Run(p.Work, "bash", "-c", pushes, "pushes", p.Bare, "host")
	benchtest.Against("push of one commit from inside, through the door", benchtest.Median(times(t, inside)), "plain path on the host", benchtest.Median(times(t, host)))
	p.Fsck()
}

// TestBenchVerify is the host's judging of a claim of one criterion, each command on
// a checkout of its own and twice, as `git ward verify` does it and the launcher,
// against the same command on a checkout that is there.
func TestBenchVerify(t *testing.T) {
	tier.Full(t, "it measures")
	benchtest.Only(t)
	t.Run("unfenced", func(t *testing.T) { benchVerify(t, gittest.New(t), "as processes", "--unfenced") })
	t.Run("fenced", func(t *testing.T) { benchVerify(t, fenced(t), "in containers") })
}

func benchVerify(t *testing.T, p *gittest.Pair, how string, more ...string) {
	const line = "grep -q Directives COMMS.md"
	p.Commit("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: say what to do\n\n- [ ] it has directives (`"+line+"`)\n\n## Reports\n")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(out)
	}
	var judged, plain []time.Duration
	for range 9 {
		start := time.Now()
		p.Run(p.Work, "git-ward", append(append([]string{"verify", "--bare", p.Bare}, more...), "refs/heads/main", "D-1")...)
		judged = append(judged, time.Since(start))
		start = time.Now()
		p.Run(p.Work, "sh", "-c", line)
		plain = append(plain, time.Since(start))
	}
	benchtest.Against("a claim of one criterion, judged twice "+how, benchtest.Median(judged), "its command once, as it is", benchtest.Median(plain))
}

// times reads the lines that are numbers of microseconds, but the first two: they
// start what later pushes find.
func times(t *testing.T, out string) []time.Duration {
	var all []time.Duration
	for line := range strings.Lines(out) {
		if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			all = append(all, time.Duration(n)*time.Microsecond)
		}
	}
	if len(all) != 22 {
		t.Fatalf("%d pushes were timed:\n%s", len(all), out)
	}
	return all[2:]
}
