package probe

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

func files(p *Surroundings) []attempt {
	return []attempt{
		{"SBX-3", "write to the root file system", notWritable("/", "/etc", "/usr", "/usr/local/go", "/ward")},
		{"SBX-3", "nothing writable but /tmp, the state volume and the kernel's own", writableMounts},
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

// writableMounts reads proc_pid_mountinfo(5): the mount point is the fifth
// field, its options the sixth, the file system's type follows " - ".
func writableMounts(_ context.Context, p *Surroundings) (bool, string) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false, err.Error()
	}
	var open []string
	for line := range strings.Lines(string(data)) {
		head, tail, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(head), strings.Fields(tail)
		if len(fields) < 6 || len(kind) == 0 || !slices.Contains(strings.Split(fields[5], ","), "rw") {
			continue
		}
		at := fields[4]
		kernel := slices.Contains([]string{"proc", "devpts", "mqueue", "cgroup", "cgroup2"}, kind[0])
		if kernel || at == "/tmp" || at == p.State || at == "/dev" || strings.HasPrefix(at, "/dev/") ||
			strings.HasPrefix(at, "/proc/") || strings.HasPrefix(at, "/run") { // masked: /dev/null or empty
			continue
		}
		if tryWrite(at) == nil || unix.Access(at, unix.W_OK) == nil {
			open = append(open, at)
		}
	}
	if len(open) > 0 {
		return false, strings.Join(open, " ")
	}
	return true, "by /proc/self/mountinfo"
}

// covered looks for what must not be seen: the door's key, the settings, hooks.
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
