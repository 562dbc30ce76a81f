package podman

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/flock"
	"git-ward/internal/glob"
)

// disk is a file system in a file, which podman mounts as a volume. It is the only size limit
// for a volume that needs no quota on the host.
type disk struct {
	mount  Mount
	volume string
	owner  uint32 // on the host
}

// newDisk names the volume after the file, so that two launchers never have two volumes of one
// file. What a killed launcher leaves is removed by its reaper or the next Sweep.
func newDisk(m Mount, ids IDs) disk {
	sum := sha256.Sum256([]byte(m.Source))
	return disk{mount: m, volume: fmt.Sprintf("git-ward-%x", sum[:10]), owner: ids.Base + m.Owner}
}

// makeDisk makes the sparse file if it is missing, and the volume.
func (e *Engine) makeDisk(ctx context.Context, d *disk) error {
	if err := d.makeFile(ctx); err != nil {
		return err
	}
	return e.api.makeVolume(ctx, d.volume, e.run, map[string]string{
		"type": "ext4", "device": d.mount.Source, "o": "loop,nosuid,nodev",
	})
}

// makeFile formats a missing file: one process at a time, so that other unfinished files are a
// killed process's.
func (d *disk) makeFile(ctx context.Context) error {
	lock, err := flock.Dir(filepath.Dir(d.mount.Source))
	if err != nil {
		return err
	}
	defer lock.Close()
	if _, err := os.Stat(d.mount.Source); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	left, err := glob.Below(filepath.Dir(d.mount.Source), unfinished)
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return err
	}
	return d.format(ctx)
}

// unfinished are the temporary names of files being formatted.
const unfinished = ".disk.*"

// format writes a temporary file and renames it, so that an existing file is complete.
func (d *disk) format(ctx context.Context) error {
	f, err := os.CreateTemp(filepath.Dir(d.mount.Source), unfinished)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := f.Truncate(d.mount.Size); err != nil {
		return err
	}
	// As /tmp: everybody inside may write, and remove only his own files.
	owner := fmt.Sprintf("root_owner=%d:%d,nodiscard", d.owner, d.owner)
	// No journal and no blocks reserved for root: its content can be restored from refs, and
	// the limit is the agent's.
	out, err := exec.CommandContext(ctx, sbin("mkfs.ext4"), "-q", "-F", "-m", "0", "-O", "^has_journal", "-E", owner, f.Name()).CombinedOutput()
	if err != nil {
		return diag.Hint(fmt.Errorf("mkfs.ext4: %w: %s", err, out), "on Debian: apt-get install e2fsprogs")
	}
	out, err = exec.CommandContext(ctx, sbin("debugfs"), "-w", "-R", "set_inode_field / mode 041777", f.Name()).CombinedOutput()
	if err != nil {
		return diag.Hint(fmt.Errorf("debugfs: %w: %s", err, out), "on Debian: apt-get install e2fsprogs")
	}
	if err := errors.Join(f.Sync(), os.Rename(f.Name(), d.mount.Source)); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(d.mount.Source))
}

// sbin finds a program in directories that a user's PATH may lack.
func sbin(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return "/sbin/" + name
}
