package door

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// endChildren asks every process of a group to end, but not its leader.
//
// Receive-pack must not be the one to die: since git 2.39 it leaves its
// quarantine behind when a signal ends it (tmp-objdir.c). When its unpacker or
// its hook dies instead, it refuses the push, tells the client, and cleans up.
func endChildren(leader int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile
		}
		// pid (name) state parent group ...; the name may hold anything (proc(5)).
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && pid != leader && len(fields) > 2 && string(fields[2]) == strconv.Itoa(leader) {
			syscall.Kill(pid, syscall.SIGTERM)
		}
	}
}

// killGroup ends whatever is left of a group.
func killGroup(leader int) { syscall.Kill(-leader, syscall.SIGKILL) }
