package git

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOvertaken: a fetch that another one of the clone overtakes brings what it was to bring. One that
// fails for another reason is not done again.
func TestOvertaken(t *testing.T) {
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"}
	run := func(script string) error {
		c := exec.Command("sh", "-ec", script)
		c.Dir, c.Env = dir, env
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	// While the remote makes the pack for the one, the other comes and goes.
	err := run(`git init -q --bare -b main bare
git clone -q bare w 2>/dev/null
cd w; git checkout -q -b main; git commit -q --allow-empty -m 1; git push -q origin main; cd ..
git clone -q bare o; cd o; git commit -q --allow-empty -m 2; git push -q origin main; cd ..
cat >hook <<'END'
#!/bin/sh
if test ! -e "$HOME/overtaken"; then
	: >"$HOME/overtaken"
	env -i PATH="$PATH" HOME="$HOME" git -C "$HOME/w" fetch -q origin
fi
exec "$@"
END
chmod +x hook
git config --global uploadpack.packObjectsHook "$HOME/hook"`)
	if err != nil {
		t.Fatal(err)
	}
	r := Open(filepath.Join(dir, "w/.git"))
	var tries []error
	fetch := func() error {
		tries = append(tries, run("git -C w fetch -q origin"))
		return tries[len(tries)-1]
	}
	if err := r.Overtaken(t.Context(), fetch); err != nil || len(tries) != 2 || tries[0] == nil {
		t.Errorf("%d tries, %v: %v", len(tries), tries, err)
	}
	if err := run(`test "$(git -C w rev-parse origin/main)" = "$(git -C bare rev-parse main)"`); err != nil {
		t.Error("the clone does not have what the remote has:", err)
	}
	n, no := 0, errors.New("no such remote")
	if err := r.Overtaken(t.Context(), func() error { n++; return no }); err != no || n != 1 {
		t.Errorf("%d tries of what fails by itself: %v", n, err)
	}
}
