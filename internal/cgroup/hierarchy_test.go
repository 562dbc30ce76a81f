package cgroup

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Where groups are made, from what the kernel says of a process: beside its own group in
// v2, below it in v1, and as its mounts show it where it is in a container.
func TestParse(t *testing.T) {
	const v1 = `30 25 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
31 25 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 25 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
33 25 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
34 25 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
`
	for _, c := range []struct{ name, groups, mounts, want string }{
		{"v1", "9:name=systemd:/a\n8:pids:/\n4:memory:/user/1\n3:cpu,cpuacct:/x\n0::/\n", v1,
			"/sys/fs/cgroup/pids /sys/fs/cgroup/memory/user/1 /sys/fs/cgroup/cpu,cpuacct/x"},
		{"v1 in a container", "8:pids:/docker/7\n4:memory:/docker/7/in\n",
			"31 25 0:28 /docker/7 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n32 25 0:29 /docker/7 /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
			"/sys/fs/cgroup/pids /sys/fs/cgroup/memory/in"},
		{"v1 outside of its mount", "8:pids:/\n4:memory:/\n",
			"31 25 0:28 /docker/7 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n32 25 0:29 /docker/7 /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", ""},
		{"memory alone bounds too little", "4:memory:/\n", v1, ""},
		{"v2", "0::/user.slice/u/app.scope\n", "30 25 0:27 / V2 rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n", "V2/user.slice/u"},
		{"nothing mounted", "0::/\n", "", ""},
	} {
		root := t.TempDir()
		if err := os.MkdirAll(root+"/user.slice/u", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+"/user.slice/u/cgroup.subtree_control", []byte("cpu memory pids\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range parse([]byte(c.groups), []byte(strings.ReplaceAll(c.mounts, "V2", root))).hierarchies() {
			got = append(got, h.parent)
		}
		if text, want := strings.Join(got, " "), strings.ReplaceAll(c.want, "V2", root); text != want {
			t.Errorf("%s: %s, want %s", c.name, text, want)
		}
	}
}

// Each version's own words for the same bounds.
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		h         hierarchy
		want, all string // with bounds, and without
	}{
		{hierarchy{controllers: []string{"memory"}}, "memory.memsw.limit_in_bytes=-1 memory.limit_in_bytes=5 memory.memsw.limit_in_bytes=5",
			"memory.memsw.limit_in_bytes=-1 memory.limit_in_bytes=-1"},
		{hierarchy{controllers: []string{"pids"}}, "pids.max=7", "pids.max=max"},
		{hierarchy{v2: true, controllers: []string{"cpu", "io", "memory", "pids"}}, "memory.max=5 memory.swap.max=0 pids.max=7 cpu.weight=50",
			"memory.max=max memory.swap.max=max pids.max=max cpu.weight=50"},
	} {
		for l, want := range map[Limits]string{{5, 7}: c.want, {}: c.all} {
			var got []string
			for _, s := range c.h.settings(l) {
				got = append(got, s.file+"="+s.value)
			}
			if text := strings.Join(got, " "); text != want {
				t.Errorf("%+v: %s, want %s", l, text, want)
			}
		}
	}
}

// What systemd is asked for, as busctl wants it.
func TestScopeCall(t *testing.T) {
	got := strings.Join(scopeCall("ward-x.scope", true, Limits{5, 7}), " ")
	want := fmt.Sprintf("call --quiet --user org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StartTransientUnit ssa(sv)a(sa(sv)) ward-x.scope fail "+
		"6 PIDs au 1 %d CollectMode s inactive-or-failed CPUWeight t 50 MemoryMax t 5 MemorySwapMax t 0 TasksMax t 7 0", os.Getpid())
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
