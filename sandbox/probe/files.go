package probe

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

func files(p *Surroundings) []attempt {
	return []attempt{
		{"SBX-3", "write to the root file system", notWritable("/", "/etc", "/usr", "/usr/local/go", "/ward")},
		{"SBX-3", "nothing writable but /tmp and the state volume", writable},
		{"SBX-3", "/tmp and " + p.State + " are writable", func(context.Context, *Surroundings) (bool, string) {
			for _, dir := range []string{"/tmp", p.State} {
				if err := tryWrite(dir); err != nil {
					return false, err.Error()
				}
			}
			return true, "both"
		}},
		{"SBX-4", "write to the repository's mount", notWritable(p.Bare, filepath.Join(p.Bare, "refs"), filepath.Join(p.Bare, "objects"))},
		{"SBX-4", "rename the repository's mount away", denied(func() error { return os.Rename(p.Bare, p.Bare+".away") })},
		{"SBX-4", "remount the repository writable", denied(func() error { return unix.Mount("", p.Bare, "", unix.MS_REMOUNT|unix.MS_BIND, "") })},
		{"SBX-4", "unmount the repository", denied(func() error { return unix.Unmount(p.Bare, unix.MNT_DETACH) })},
		{"SBX-4", "the host's settings and hooks are covered", covered},
		{"SBX-4", "no host path or secret in the repository's config", plainConfig},
	}
}

func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".ward-probe-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

func notWritable(dirs ...string) func(context.Context, *Surroundings) (bool, string) {
	return func(context.Context, *Surroundings) (bool, string) {
		for _, dir := range dirs {
			if _, err := os.Stat(dir); err != nil {
				continue
			}
			if err := tryWrite(dir); err == nil {
				return false, dir + " is WRITABLE"
			}
		}
		return true, "read-only or denied: " + strings.Join(dirs, " ")
	}
}

// writable looks for writable paths that are not declared.
func writable(_ context.Context, p *Surroundings) (bool, string) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false, err.Error()
	}
	if open := writableBeside(string(data), []string{"/tmp", p.State}); len(open) > 0 {
		return false, strings.Join(open, " ") + " can be WRITTEN to"
	}
	return true, "each directory of each mount was tried"
}

// writableBeside lists writable paths except the declared ones: the topmost directories of
// every mount in proc_pid_mountinfo(5) in which a file can be made, and mounted files. It
// skips no file system type and no path by name.
func writableBeside(mountinfo string, declared []string) (open []string) {
	mounts := mountsOf(mountinfo)
	for _, at := range writableOf(mounts) {
		if slices.Contains(declared, at) {
			continue
		}
		filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
			_, mount := mounts[path]
			switch {
			case err != nil: // unreadable, or gone by now
				return fs.SkipDir
			case path != at && (mount || slices.Contains(declared, path)):
				if d.IsDir() {
					return fs.SkipDir
				}
			case d.IsDir() && tryWrite(path) == nil, path == at && d.Type().IsRegular() && unix.Access(at, unix.W_OK) == nil:
				open = append(open, path)
				return fs.SkipDir
			}
			return nil
		})
	}
	return open
}

// Mounts are where proc_pid_mountinfo(5) has something mounted that may be written to, sorted.
func Mounts(mountinfo string) []string { return writableOf(mountsOf(mountinfo)) }

func writableOf(mounts map[string]bool) (list []string) {
	for at, writable := range mounts {
		if writable {
			list = append(list, at)
		}
	}
	slices.Sort(list)
	return list
}

// mountsOf says by path whether a mount is writable.
func mountsOf(mountinfo string) map[string]bool {
	mounts := map[string]bool{}
	for line := range strings.Lines(mountinfo) {
		if fields := strings.Fields(line); len(fields) > 5 {
			mounts[unescape(fields[4])] = slices.Contains(strings.Split(fields[5], ","), "rw") // of several mounts at one point the last is visible
		}
	}
	return mounts
}

// unescape decodes a path of proc_pid_mountinfo(5).
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// covered looks for what must be hidden: the door's key, the settings, hooks.
func covered(_ context.Context, p *Surroundings) (bool, string) {
	for _, dir := range []string{"ward", "hooks", "custom_hooks", "hooks.chained", "custom_hooks.chained"} {
		entries, err := os.ReadDir(filepath.Join(p.Bare, dir))
		if err != nil {
			continue // not even listable
		}
		if len(entries) > 0 {
			return false, fmt.Sprintf("%s/ shows %d entries", dir, len(entries))
		}
		if tryWrite(filepath.Join(p.Bare, dir)) == nil {
			return false, dir + "/ is WRITABLE"
		}
	}
	return true, "ward/ and hooks/ are empty and read-only"
}

func plainConfig(_ context.Context, p *Surroundings) (bool, string) {
	data, err := os.ReadFile(filepath.Join(p.Bare, "config"))
	if err != nil {
		return false, err.Error()
	}
	for _, word := range []string{"extraheader", "password", "token", "include", "[url", "[remote", "[credential"} {
		if bytes.Contains(bytes.ToLower(data), []byte(word)) {
			return false, "the config holds " + word
		}
	}
	return true, "settings of the repository only"
}
