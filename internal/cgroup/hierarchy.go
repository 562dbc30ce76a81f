package cgroup

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// controllers are those whose limits Ward sets. A cgroups v1 hierarchy has some of them, the
// v2 hierarchy all that were delegated.
var controllers = []string{"memory", "pids", "cpu"}

// needed are those without which a group would limit too little.
var needed = []string{"memory", "pids"}

// hierarchy is one in which a group is made.
type hierarchy struct {
	v2          bool
	controllers []string
	own         string // the process's own group, as a directory
	parent      string // where a group is made: of v2 beside its own, because one with processes has no controllers below it
}

// place is where a process is: its groups, and where their hierarchies are mounted.
type place struct{ all []hierarchy }

const self = "/proc/self"

// read reads cgroup and mountinfo of a process's directory in /proc.
func read(proc string) (place, error) {
	groups, err := os.ReadFile(filepath.Join(proc, "cgroup"))
	if err != nil {
		return place{}, err
	}
	mounts, err := os.ReadFile(filepath.Join(proc, "mountinfo"))
	if err != nil {
		return place{}, err
	}
	return parse(groups, mounts), nil
}

// parse finds the hierarchies that have a controller of ours.
func parse(groups, mounts []byte) (p place) {
	mounted := parseMounts(mounts)
	for line := range bytes.Lines(groups) {
		fields := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(fields) != 3 {
			continue
		}
		names, path := strings.Split(fields[1], ","), fields[2]
		for _, m := range mounted {
			own, below := m.dir(path)
			if !below || m.v2 != (fields[1] == "") || !m.v2 && !m.has(names) {
				continue
			}
			h := hierarchy{v2: m.v2, controllers: names, own: own, parent: own}
			if m.v2 {
				if path != "/" {
					h.parent = filepath.Dir(own)
				}
				data, _ := os.ReadFile(filepath.Join(h.parent, "cgroup.subtree_control"))
				h.controllers = strings.Fields(string(data))
			}
			if slices.ContainsFunc(h.controllers, func(c string) bool { return slices.Contains(controllers, c) }) {
				p.all = append(p.all, h)
			}
			break // a hierarchy may be mounted twice
		}
	}
	return p
}

// mount is a hierarchy's.
type mount struct {
	v2          bool
	root, at    string   // which group is at which directory
	controllers []string // v1
}

func (m *mount) has(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(m.controllers, n) })
}

// dir is a group's directory, if it is below this mount.
func (m *mount) dir(group string) (dir string, below bool) {
	rel, err := filepath.Rel(m.root, group)
	return filepath.Join(m.at, rel), err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// parseMounts reads mountinfo(5): id, parent, device, root, mount point, options, tags,
// "-", type, source, options of the file system.
func parseMounts(data []byte) (all []mount) {
	for line := range bytes.Lines(data) {
		before, after, _ := strings.Cut(string(line), " - ")
		a, b := strings.Fields(before), strings.Fields(after)
		if len(a) < 5 || len(b) < 3 || b[0] != "cgroup" && b[0] != "cgroup2" {
			continue
		}
		all = append(all, mount{v2: b[0] == "cgroup2", root: a[3], at: a[4], controllers: strings.Split(b[2], ",")})
	}
	return all
}

// unified reports whether what bounds memory is cgroups v2.
func (p place) unified() bool {
	return slices.ContainsFunc(p.all, func(h hierarchy) bool { return h.v2 && slices.Contains(h.controllers, "memory") })
}

// hierarchies are those in which a group is made, none unless all that is needed is there.
func (p place) hierarchies() []hierarchy {
	for _, c := range needed {
		if !slices.ContainsFunc(p.all, func(h hierarchy) bool { return slices.Contains(h.controllers, c) }) {
			return nil
		}
	}
	return p.all
}

// setting is one file of a group.
type setting struct {
	file, value string
	optional    bool // the kernel may be built without it
}

// settings are the bounds in a hierarchy's own words. The host's own work gets half of
// what another group gets of processors, where they are short.
func (h *hierarchy) settings(l Limits) (all []setting) {
	add := func(controller, v1, v2, value string, optional bool) {
		file := v1
		if h.v2 {
			file = v2
		}
		if file != "" && slices.Contains(h.controllers, controller) {
			all = append(all, setting{file, value, optional})
		}
	}
	// "No limit" is written, too, because a reused group still has the limits of its earlier
	// launcher. memory.memsw is raised first: memory.limit may not exceed it.
	add("memory", "memory.memsw.limit_in_bytes", "", "-1", true)
	if l.Memory > 0 {
		n := strconv.FormatInt(l.Memory, 10)
		add("memory", "memory.limit_in_bytes", "memory.max", n, false)
		add("memory", "memory.memsw.limit_in_bytes", "", n, true)
		add("memory", "", "memory.swap.max", "0", true)
	} else {
		add("memory", "memory.limit_in_bytes", "", "-1", false)
		add("memory", "", "memory.max", "max", false)
		add("memory", "", "memory.swap.max", "max", true)
	}
	processes := "max"
	if l.Processes > 0 {
		processes = strconv.FormatInt(l.Processes, 10)
	}
	add("pids", "pids.max", "pids.max", processes, false)
	add("cpu", "cpu.shares", "cpu.weight", map[bool]string{false: "512", true: "50"}[h.v2], true)
	return all
}
