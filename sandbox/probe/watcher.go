package probe

import (
	"context"
	"fmt"
	"os"
)

// What is the watcher's alone, inside the fence: its door's socket, its directory, and the
// log that only it appends to. Where there is no watcher, for a command, there is nothing.
const (
	watcherDoor  = "/ward/watcher/sock"
	watcherFiles = ".watcher"
	bootLog      = "logs/bootstrap.log"
)

func watcher(p *Surroundings) []attempt {
	return []attempt{
		{"HOOK-4b", "the watcher's door answers nobody else", watchersDoorShut},
		{"BOOT-2", "nobody else reads what the watcher keeps", unreadable(p.State + "/" + watcherFiles)},
		{"BOOT-1", "only the watcher writes to bootstrap.log", unwritable(p.State + "/" + bootLog)},
	}
}

// watchersDoorShut connects; that must fail, or be closed without an answer.
func watchersDoorShut(context.Context, *Surroundings) (bool, string) {
	conn, err := dial(watcherDoor)
	if err != nil {
		return true, err.Error()
	}
	defer conn.Close()
	n, err := conn.Read(make([]byte, 1))
	return n == 0, fmt.Sprintf("connected; %d bytes, %v", n, err)
}

func unreadable(path string) func(context.Context, *Surroundings) (bool, string) {
	return func(context.Context, *Surroundings) (bool, string) {
		names, err := os.ReadDir(path)
		return err != nil, fmt.Sprintf("%d names, %v", len(names), err)
	}
}

func unwritable(path string) func(context.Context, *Surroundings) (bool, string) {
	return func(context.Context, *Surroundings) (bool, string) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0) // nothing is written
		if err == nil {
			f.Close()
		}
		return err != nil, fmt.Sprint(err)
	}
}
