package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/hookdir"
	"git-ward/internal/runstate"
)

// Version checks whether a repository's hooks and launcher belong to this version of Ward,
// whose hook binary is at a path. An upgrade replaces the programs, but neither the hooks,
// which are the repository's own copies, nor a running launcher (GET-1).
func Version(ctx context.Context, bare, hook string) []Finding {
	e := &examiner{ctx: ctx}
	e.hookVersion(bare, hook)
	e.launcherVersion(bare)
	return e.found
}

func (e *examiner) hookVersion(bare, hook string) {
	ours, err := os.Open(hook)
	if err != nil {
		e.add("ward-hook", Warning, "install Ward again", "is not beside this git ward: %v", err)
		return
	}
	defer ours.Close()
	for _, path := range hookdir.Installed(e.ctx, bare) {
		if same, err := alike(ours, path); err == nil && !same && hookdir.IsWard(path) {
			e.add("hooks' version", Warning, "git ward init --update --bare "+diag.Word(bare), "%s is from another build of Ward, and judges by that build's rules", path)
			return
		}
	}
	e.add("hooks' version", Fine, "", "this Ward's")
}

// alike compares an open file with another, block by block: each launch does, and a hook is megabytes.
func alike(ours *os.File, path string) (bool, error) {
	theirs, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer theirs.Close()
	a, errA := ours.Stat()
	b, errB := theirs.Stat()
	if err := errors.Join(errA, errB); err != nil || a.Size() != b.Size() {
		return false, err
	}
	const block = 64 << 10
	have, want := make([]byte, block), make([]byte, block)
	for at := int64(0); at < a.Size(); at += block {
		n := min(block, a.Size()-at)
		_, errA := ours.ReadAt(want[:n], at)
		_, errB := theirs.ReadAt(have[:n], at)
		if err := errors.Join(errA, errB); err != nil || !bytes.Equal(have[:n], want[:n]) {
			return false, err
		}
	}
	return true, nil
}

// launcherVersion reports a running launcher whose program was replaced: the kernel calls its
// file deleted. It is not visible for another user's launcher.
func (e *examiner) launcherVersion(bare string) {
	pid, running := runstate.Running(bare)
	if !running {
		return
	}
	if path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && strings.HasSuffix(path, " (deleted)") {
		e.add("launcher's version", Warning, fmt.Sprintf("git ward launch --stop --bare %s # and launch again", diag.Word(bare)), "process %d runs a version of Ward that has been replaced; it keeps running", pid)
	}
}
