package podman

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"git-ward/internal/cli"
)

// disk is a file system in a file, which podman mounts as a volume. It is the
// only limit on a volume's size that needs no quota on the host's file system.
type disk struct {
	mount  Mount
	volume string
	owner  uint32 // on the host
}

// newDisk names the volume after the file, so that a launcher that died leaves
// the next one nothing but the same volume.
func newDisk(m Mount, ids IDs) disk {
	sum := sha256.Sum256([]byte(m.Source))
	return disk{mount: m, volume: fmt.Sprintf("git-ward-%x", sum[:10]), owner: ids.Base + m.Owner}
}

// makeDisk makes the file when it is missing, sparse, and the volume.
func (e *Engine) makeDisk(ctx context.Context, d *disk) error {
	if _, err := os.Stat(d.mount.Source); errors.Is(err, os.ErrNotExist) {
		if err := d.format(ctx); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return e.api.makeVolume(ctx, d.volume, e.run, map[string]string{
		"type": "ext4", "device": d.mount.Source, "o": "loop,nosuid,nodev",
	})
}

// format writes beside the file and renames, so that a file that is there is
// whole.
func (d *disk) format(ctx context.Context) error {
	f, err := os.CreateTemp(filepath.Dir(d.mount.Source), ".disk.*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(f.Truncate(d.mount.Size), f.Close()); err != nil {
		return err
	}
	// As /tmp: whoever works inside may write, and nobody removes what is another's.
	owner := fmt.Sprintf("root_owner=%d:%d,nodiscard", d.owner, d.owner)
	// No journal and no blocks kept for root: what is in it can be had again
	// from refs, and the limit is the agent's.
	out, err := exec.CommandContext(ctx, sbin("mkfs.ext4"), "-q", "-F", "-m", "0", "-O", "^has_journal", "-E", owner, f.Name()).CombinedOutput()
	if err != nil {
		return cli.Hint(fmt.Errorf("mkfs.ext4: %w: %s", err, out), "on Debian: apt-get install e2fsprogs")
	}
	out, err = exec.CommandContext(ctx, sbin("debugfs"), "-w", "-R", "set_inode_field / mode 041777", f.Name()).CombinedOutput()
	if err != nil {
		return cli.Hint(fmt.Errorf("debugfs: %w: %s", err, out), "on Debian: apt-get install e2fsprogs")
	}
	return os.Rename(f.Name(), d.mount.Source)
}

// sbin is a program in a directory that an ordinary PATH may lack.
func sbin(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return "/sbin/" + name
}
