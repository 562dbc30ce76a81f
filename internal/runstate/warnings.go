package runstate

import (
	"fmt"
	"os"
	"path/filepath"

	"git-ward/internal/config"
	"git-ward/internal/growth"
)

// Warnings lists reasons why nothing may move in a repository, one line each, with a remedy.
// Nothing is decided by them.
func Warnings(bare string, settings *config.Config) (lines []string) {
	add := func(line string) {
		if line != "" {
			lines = append(lines, line)
		}
	}
	add(killed(bare))
	add(unfolded(bare))
	add(nearlyFullDisk(bare, settings.Limits.DiskFree))
	add(nearlyFull(bare, settings.Limits.AgentObjects))
	if len(settings.Notify.Command) > 0 {
		add(notifyFails(bare))
	}
	return lines
}

// nearlyFullDisk says that a repository's disk has less left than [limits] disk_free.
func nearlyFullDisk(bare string, want int64) string {
	free, err := growth.Free(bare)
	if err != nil || free >= want {
		return ""
	}
	return fmt.Sprintf("the disk of %s has %d MiB left, less than [limits] disk_free (%d MiB): the agent's pushes are refused, and verdicts wait; make room",
		bare, free>>20, want>>20)
}

// nearlyFull says that what the agent pushed leaves no room but for the last small pushes.
func nearlyFull(bare string, limit int64) string {
	l, err := growth.Read(bare)
	if err != nil {
		return err.Error() + ": git ward maintain " + bare + " counts anew"
	}
	if l.Bytes < limit-limit/8 {
		return ""
	}
	return fmt.Sprintf("what the agent pushed takes %d KiB of the %d of [limits] agent_objects, and more is refused: take or drop work, "+
		"then git ward maintain --reclaim %s; or raise it", l.Bytes>>10, limit>>10, bare)
}

// killed says that the last launcher was killed: one that ends in order takes its directory's
// name out of the lock.
func killed(bare string) string {
	f, err := os.Open(filepath.Join(bare, LockPath))
	if err != nil {
		return ""
	}
	defer f.Close()
	if _, running := Running(bare); running {
		return ""
	}
	last := ReadLock(f)
	if last.ID == "" {
		return ""
	}
	return fmt.Sprintf("the last launcher, process %d, was killed, or the machine ended: the next launch goes on from refs", last.PID)
}
