package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
)

// stub makes a tree whose scripts/test comes no further than its setup, which is a line of
// the shell, and a PATH on which no machine is too small for it.
func stub(t *testing.T, dir, setup string) {
	t.Helper()
	for _, name := range []string{"test", "environment"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "tree/scripts", name), string(text), 0o755)
	}
	write(t, filepath.Join(dir, "tree/scripts/setup"), "#!/bin/sh\n"+setup, 0o755)
	write(t, filepath.Join(dir, "path/df"), "#!/bin/sh\necho 9000000\n", 0o755)
	write(t, filepath.Join(dir, "path/wc"), "#!/bin/sh\necho 1\n", 0o755)
}

// TestOddTemp: a TMPDIR that shells, PATH or a mount read otherwise is refused in one line,
// and nothing is left in it.
func TestOddTemp(t *testing.T) {
	dir := t.TempDir()
	stub(t, dir, "echo it begins\nexit 1\n")
	for name, odd := range map[string]bool{"plain-1_.+~@": false, "a b": true, "a:b": true, "a\nb": true, "a'b": true, "$a": true, "a,b": true, "\u00e4": true} {
		temp := filepath.Join(dir, name)
		if err := os.Mkdir(temp, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(filepath.Join(dir, "tree/scripts/test"), "quick")
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "path")+":"+os.Getenv("PATH"), "TMPDIR="+temp)
		out, err := await.Output(t, cmd)
		refused := strings.HasSuffix(out, ": set TMPDIR\n") && strings.Count(out, "\n") == 1
		if exitCode(err) != 2 || refused != odd || strings.Contains(out, "it begins") == odd {
			t.Errorf("%q: %v\n%s", name, err, out)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%q: %v is left (%v)", name, left, err)
		}
	}
}

// TestKilledRun: what a killed scripts/test left is removed by the next, which says so, when
// nothing that it began is at work any more; and nothing else is.
func TestKilledRun(t *testing.T) {
	dir := t.TempDir()
	temp, up := filepath.Join(dir, "tmp"), filepath.Join(dir, "up")
	stub(t, dir, "[ \"$STAY\" ] || exit 1\nmktemp >/dev/null\necho $$ >\"$STAY.new\" && mv \"$STAY.new\" \"$STAY\"\nexec sleep 86400\n")
	start := func(stay string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(dir, "tree/scripts/test"), "quick")
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "path")+":"+os.Getenv("PATH"), "TMPDIR="+temp, "STAY="+stay)
		return cmd
	}
	if err := os.Mkdir(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	killed := start(up)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the run is at work", func() bool { _, err := os.Stat(up); return err == nil })
	killed.Process.Kill()
	await.Exit(t, killed)
	pid, err := os.ReadFile(up)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(child, syscall.SIGKILL) })
	runs, err := filepath.Glob(filepath.Join(temp, "*")) // what a step makes lies in it, too
	if err != nil || len(runs) != 1 {
		t.Fatalf("%v %v", runs, err)
	}
	left := runs[0]
	marks, err := filepath.Glob(filepath.Join(left, ".run-*"))
	if err != nil || len(marks) != 1 {
		t.Fatalf("marks %v %v", marks, err)
	}
	mark := filepath.Base(marks[0])

	// What looks like it, and is somebody else's.
	write(t, filepath.Join(temp, "ward.nomark/file"), "", 0o644)
	write(t, filepath.Join(temp, "ward.amarkd", mark, "file"), "", 0o644)
	write(t, filepath.Join(temp, "ward.longer.name", mark), "", 0o644)
	write(t, filepath.Join(temp, "warden", mark), "", 0o644)
	write(t, filepath.Join(dir, "elsewhere", mark), "", 0o644)
	write(t, filepath.Join(temp, "ward.linked/file"), "", 0o644)
	for link, to := range map[string]string{"ward.alinks": filepath.Join(dir, "elsewhere"), "ward.linked/" + mark: filepath.Join(dir, "elsewhere", mark)} {
		if err := os.Symlink(to, filepath.Join(temp, link)); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		for _, name := range []string{"ward.theirs", "ward.theirm"} {
			write(t, filepath.Join(temp, name, mark), "", 0o644)
		}
		for _, name := range []string{"ward.theirs", "ward.theirm/" + mark} {
			if err := os.Chown(filepath.Join(temp, name), 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
	}
	others := func() string {
		var lines []string
		for line := range strings.Lines(tree(t, temp)) {
			if path, _, _ := strings.Cut(line, " "); !strings.HasPrefix(temp+path+"/", left+"/") && path != "" {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	before := others()
	next := func() string {
		out, err := await.Output(t, start(""))
		if exitCode(err) != 2 {
			t.Fatalf("%v\n%s", err, out)
		}
		return out
	}
	if out := next(); strings.Contains(out, "removing") {
		t.Errorf("removed while its child is at work:\n%s", out)
	}
	syscall.Kill(child, syscall.SIGKILL)
	out := ""
	await.True(t, "what the run left is removed", func() bool {
		out = next()
		_, err := os.Stat(left)
		return os.IsNotExist(err)
	})
	if !strings.Contains(out, "test: removing "+left+", which a run left that was killed\n") || strings.Count(out, "removing") != 1 {
		t.Error(out)
	}
	if after := others(); after != before {
		t.Errorf("others' are\n%swere\n%s", after, before)
	}
	if _, err := os.Stat(filepath.Join(dir, "elsewhere", mark)); err != nil {
		t.Error(err)
	}
}

// TestClosedStreams: scripts/environment opens what a caller has closed, so that no file is
// taken for the input or an output, and a script that prints does not fail.
func TestClosedStreams(t *testing.T) {
	text, err := os.ReadFile("environment") // so that go test knows what is read
	if err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"sh", "bash"} {
		for _, closed := range []string{"<&-", ">&-", "2>&-", "<&- >&- 2>&-"} {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "environment"), string(text), 0o644)
			cmd := exec.Command("sh", "-c", shell+` -euc '. ./environment; for n in 0 1 2; do ls -l /proc/$$/fd/$n >>"$1" 2>>"$1"; echo a line; done' "$0" "$1" `+closed, shell, filepath.Join(dir, "streams"))
			cmd.Dir = dir
			cmd.Stdin = strings.NewReader("")
			out, err := await.Output(t, cmd)
			streams, _ := os.ReadFile(filepath.Join(dir, "streams"))
			if err != nil || strings.Count(string(streams), " -> ") != 3 {
				t.Errorf("%s %s: %v\n%s%s", shell, closed, err, out, streams)
			}
		}
	}
}

// TestHome: a HOME that is missing, empty or relative is the account's.
func TestHome(t *testing.T) {
	if _, err := os.ReadFile("environment"); err != nil { // so that go test knows what is read
		t.Fatal(err)
	}
	home := func(set string) string {
		out, err := await.Output(t, exec.Command("sh", "-euc", set+"; . ./environment; echo $HOME"))
		if err != nil {
			t.Fatalf("%s: %v\n%s", set, err, out)
		}
		return out
	}
	want := home("unset HOME")
	for _, set := range []string{"HOME=", "export HOME=relative", "export HOME=./home"} {
		if got := home(set); got != want || !strings.HasPrefix(got, "/") {
			t.Errorf("%s: %q, not %q", set, got, want)
		}
	}
}

// TestGoIsAskedOnce: scripts/environment asks Go for all that stays in one call, and gets of
// each what `go env NAME` says.
func TestGoIsAskedOnce(t *testing.T) {
	dir := t.TempDir()
	settings := "GOPROXY=https://proxy.example,direct\nGONOSUMDB=example.org/a b\nGOPRIVATE=\n"
	write(t, filepath.Join(dir, "env"), settings, 0o644)
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "path/go"), "#!/bin/sh\necho \"$*\" >>"+dir+"/asked\nexec "+real+" \"$@\"\n", 0o755)
	text, err := os.ReadFile("environment")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "environment"), string(text), 0o644)
	for _, shell := range []string{"sh", "bash"} {
		os.Remove(filepath.Join(dir, "asked"))
		cmd := exec.Command(shell, "-c", `set -eu; . ./environment; for name in $finds; do eval echo "\"$name=\${$name:-}\""; done`)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + filepath.Join(dir, "path") + ":" + os.Getenv("PATH"), "HOME=" + dir, "GOENV=" + filepath.Join(dir, "env"), "GOSUMDB=off"}
		out, err := await.Output(t, cmd)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		asked, _ := os.ReadFile(filepath.Join(dir, "asked"))
		if n := strings.Count(string(asked), "\n"); n != 2 { // the values, and the names of all the others
			t.Errorf("%s: Go is called %d times:\n%s", shell, n, asked)
		}
		names := 0
		for line := range strings.Lines(out) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			ask := exec.Command(real, "env", name)
			ask.Dir, ask.Env = "/", cmd.Env
			want, err := ask.Output()
			if err != nil || string(want) != value+"\n" {
				t.Errorf("%s: %s is %q, and Go says %q (%v)", shell, name, value, want, err)
			}
			names++
		}
		if names < 10 || !strings.Contains(out, "\nGOPROXY=https://proxy.example,direct\n") {
			t.Errorf("%s:\n%s", shell, out)
		}
	}
}
