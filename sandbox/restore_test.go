package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
)

// restored is a backup of a scene's repository (`git clone --mirror` and ward/), put where
// another machine has it and guarded again, as docs/admin.md says.
func (s *story) restored() *story {
	s.T.Helper()
	dir := s.T.TempDir()
	p := &gittest.Pair{T: s.T, Bare: filepath.Join(dir, "elsewhere.git"), Work: filepath.Join(dir, "work"), Env: s.Env}
	p.Run(dir, "git", "clone", "--quiet", "--mirror", s.Bare, p.Bare)
	if out, err := exec.Command("cp", "-a", filepath.Join(s.Bare, "ward"), p.Bare).CombinedOutput(); err != nil {
		s.T.Fatal(err, string(out))
	}
	p.Run(dir, "git", "-C", p.Bare, "config", "--remove-section", "remote.origin")
	if err := os.RemoveAll(s.Bare); err != nil { // the machine is lost
		s.T.Fatal(err)
	}
	p.Run(dir, "git-ward", "init", "--bare", p.Bare)
	p.Run(dir, "git-ward", "clone", p.Bare, p.Work)
	b := branch{"main", p.Work}
	return &story{&scene{host: newHost(s.T, p), revisions: s.revisions, project: b, control: b}, s.T}
}

// TestStory31: the machine is lost in the middle of a unit; what `git clone --mirror` and a
// copy of ward/ have of it is whole elsewhere, and the work goes on there from refs.
func TestStory31(t *testing.T) {
	tier.Full(t, "launches of seconds")
	s := newStory(t)
	s.tell("edit D-1 good\nrun\ntake D-1\nedit D-2 slow\nrun kill 4")
	r := s.restored()
	out, err := r.Try(r.Bare, nil, "", "git-ward", "fsck")
	if err != nil || !strings.Contains(out, " 0 findings") {
		t.Errorf("the restored repository is not whole: %v\n%s", err, out)
	}
	before, err := r.Try(r.Bare, nil, "", "git-ward", "log", "-n", "100")
	if err != nil || !strings.Contains(before, "refs/ward/uow/D-2.1") {
		t.Errorf("its audit does not tell what was before: %v\n%s", err, before)
	}
	r.tell("run\nedit D-3 good\nrun")
	r.ends("D-2", comms.ExitConverged)
	r.ends("D-3", comms.ExitConverged)
	if out, err := r.ward("take", "D-2"); err != nil {
		t.Errorf("git ward take: %v\n%s", err, out)
	}
	r.whole()
}
