package sandbox

import (
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
)

// TestRollsBackForAll: where an agent of one directive rolled back to, the next directive's container
// starts, too, until main moves.
func TestRollsBackForAll(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	p := gittest.New(t)
	configtest.Set(t, p.Bare, `[bootstrap] run = ["sh", "run.sh"]`, `probation = false`)
	dir := filepath.Dir(p.Bare)
	says := func(name string) string {
		return "echo " + name + " >>" + dir + "/ran\nexec " + filepath.Join(bin, "ward-agent") + ` "$@"` + "\n"
	}
	program := func(text string) string {
		p.Git("pull", "--quiet", "--rebase")
		p.Write("run.sh", text)
		p.Git("add", "--all")
		p.Git("commit", "--quiet", "--message", "a program")
		if out, err := p.Push("main"); err != nil {
			t.Fatal(err, out)
		}
		return strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	}
	script := ""
	for _, n := range []string{"1", "2", "3"} { // at once: it is main's code, too
		script += `{"directive":"D-` + n + `","text":"I write it.","calls":[{"name":"bash","args":{"command":"echo done >f` + n + `"}}]}` + "\n" + `{"directive":"D-` + n + `","text":"It is written."}` + "\n"
	}
	p.Write("script.jsonl", script)
	toDo(t, p, "1")
	old := program(says("old"))
	now := program("read -r word <&3\necho \"SUCCESS $WARD_BRANCH $WARD_COMMIT $word\" >&3\necho now >>" + dir + "/ran\n" +
		"S=$(dirname \"$(dirname \"$WARD_BOOT_LOG\")\")\necho " + old + " >\"$S/.signal/.r\"; mv \"$S/.signal/.r\" \"$S/.signal/rollback\"\n")
	launch := func(state string) { // as in a container, where nothing is left of the one before
		t.Helper()
		if out, err := await.Output(t, launchMany(p, 1, "--unfenced", "--state", filepath.Join(dir, state))); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	ran := func(want string) {
		t.Helper()
		if got := strings.Join(strings.Fields(p.Run(dir, "cat", "ran")), " "); got != want {
			t.Errorf("%s ran, not %s", got, want)
		}
	}
	launch("s1")
	ran("now old")
	pinned := func() string {
		return strings.Join(strings.Fields(p.Run(p.Bare, "git", "for-each-ref", "--format=%(objectname)", boot.PinFrom, boot.PinTo)), " ")
	}
	if got := pinned(); !strings.HasSuffix(got, " "+old) || p.Run(p.Bare, "git", "rev-parse", strings.Fields(got)[0]+":run.sh") != p.Run(p.Bare, "git", "rev-parse", now+":run.sh") {
		t.Errorf("pinned: %q", got)
	}
	toDo(t, p, "2")
	launch("s2")
	ran("now old old")
	program(says("next"))
	toDo(t, p, "3")
	launch("s3")
	ran("now old old next")
	eachOnce(t, p, 3)
	if got := pinned(); got != "" {
		t.Errorf("it is pinned still: %q", got)
	}
	p.Fsck()
}

// toDo pushes one directive more.
func toDo(t *testing.T, p *gittest.Pair, n string) {
	t.Helper()
	p.Git("pull", "--quiet", "--rebase")
	p.Write("COMMS.md", strings.Replace(p.Git("show", "HEAD:COMMS.md"), "## Reports", "### D-"+n+": a file of its own\n\n- [ ] it is there (`test -s f"+n+"`)\n- work: f"+n+"\n\n## Reports", 1))
	p.Git("add", "--all")
	p.Git("commit", "--quiet", "--message", "a directive")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
}
