package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/internal/tier"
	"git-ward/sandbox/verifier/cache"
)

// stdWork is what an agent does: it tests a tiny module, notes which packages Go compiled for that, and
// writes into all that its cache has and into the library.
const stdWork = `mkdir m && cd m && echo 'module m' >go.mod &&
printf 'package m\nimport ("strings"; "testing")\nfunc TestM(t *testing.T) { t.Log(strings.ToUpper("m")) }\n' >m_test.go &&
(go test -count=1 -x . 2>trace.txt >/dev/null && times >t && tail -n 1 t >../times.txt) && sed -n 's,.*/compile .* -p \([^ ]*\) .*,\1,p' trace.txt | sort >../compiled.txt &&
find "$(go env GOCACHE)" -type l -exec sh -c 'for f; do echo evil >"$f"; done' sh {} + ; find "$(go env GOCACHE)" -type l -exec readlink {} + | head -n 1 | sed 's,/[^/]*/[^/]*$,,' >../from.txt
touch /ward/std/x; cd .. && rm -r m && git add compiled.txt from.txt times.txt && git commit -qm worked`

// TestStd: the first test of Go in a fenced container compiles nothing of the standard library, which
// the host compiled once for the image; what an agent writes there is not what the next one reads; the
// library of another image's Go is not taken (FIRST-1).
func TestStd(t *testing.T) {
	tier.Full(t, "it works on directives in containers, and compiles the standard library")
	p := fenced(t)
	configtest.Set(t, p.Bare, `[model] command = ["sh", "work.sh"]`, `prompt = "stdin"`)
	compiled := func(id string) (packages []string, from string) {
		t.Helper()
		p.Git("fetch", "--quiet")
		p.Git("reset", "--quiet", "--hard", "origin/main")
		comms, err := os.ReadFile(filepath.Join(p.Work, "COMMS.md"))
		if err != nil {
			t.Fatal(err)
		}
		p.Write("COMMS.md", strings.Replace(string(comms), "## Directives\n", "## Directives\n\n### "+id+": a test\n\nTest.\n\n- [ ] it was tested (`test -s compiled.txt && test ! -e /ward/std`)\n- work: compiled.txt, from.txt, times.txt\n", 1))
		p.Write("work.sh", stdWork)
		p.Git("add", "--all")
		p.Git("commit", "--quiet", "--message", id)
		p.Git("push", "--quiet", "origin", "main")
		out := p.Run(p.Work, "git-ward", "launch", "--bare", p.Bare, "--once", "--model", "exec", "--state", filepath.Join(filepath.Dir(p.Bare), "state"))
		p.Git("fetch", "--quiet")
		if report := p.Git("show", "origin/main:COMMS.md"); !strings.Contains(report, " "+id+" EXIT_CONVERGED\n") {
			t.Fatalf("no report, or a verdict read the library:\n%s\n%s", report, out)
		}
		for _, ref := range strings.Fields(p.Git("for-each-ref", "--format=%(refname)", "refs/remotes/origin/agent/*")) {
			if strings.Contains(ref, id) {
				t.Logf("%s: the test of a tiny module took, of user's and system's processor time, %s", id, p.Git("show", ref+":times.txt"))
				return strings.Fields(p.Git("show", ref+":compiled.txt")), strings.TrimSpace(p.Git("show", ref+":from.txt"))
			}
		}
		t.Fatalf("no work:\n%s", out)
		return nil, ""
	}
	for _, id := range []string{"D-1", "D-2"} { // the second after the first has written
		if packages, from := compiled(id); strings.Join(packages, " ") != "m main" || from != "/ward/std" {
			t.Errorf("%s: Go compiled %q with the cache of %q", id, packages, from)
		}
	}
	dir := filepath.Join(testStorage, "ward-std")
	entries, err := filepath.Glob(filepath.Join(dir, "*", "ward.json"))
	if err != nil || len(entries) == 0 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(filepath.Dir(e), string(cache.Go), "x")); err == nil {
			t.Error("an agent wrote into the library")
		}
	}
	// For an image that none was compiled for, the agent compiles it.
	aside := dir + ".aside"
	if err := os.Rename(dir, aside); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.RemoveAll(dir)
		if err := os.Rename(aside, dir); err != nil {
			t.Error(err)
		}
	})
	if packages, from := compiled("D-3"); len(packages) < 20 || from != "" {
		t.Errorf("without a library, Go compiled %q with the cache of %q", packages, from)
	}
}
