package podman

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// reaper outlives the launcher for a moment. A container is a child of conmon,
// not of podman or of us, so it would go on after a SIGKILL of the launcher:
// behind its rules still, but with no door, no gateway and nobody to end it.
// The reaper reads a pipe whose other end only we hold, and when that closes
// removes what carries our name.
type reaper struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// reap removes more than once: a container that the dying service was making may
// appear after the first look. Its own tools for that: podman does not know of a
// container whose init it did not live to see, so conmons are found by the
// settings that they inherited from our service, and the runtime removes what
// each holds; one that was not yet written down is in the storage alone
// (--external), by its name; and podman 4.3 leaves a volume mounted. $1 is the
// run, $2 the service's directory, $3 one that goes when the launcher died.
const reap = `
networks() { ls /run/netns 2>/dev/null | grep '^netns-'; }
others=$(networks)
read -r word || died=yes
run=$1 dir=$2 scratch=$3
shift 3
unused() { [ -e "/run/netns/$1" ] && ! find /proc/[0-9]*/ns/net -lname "net:\[$(stat -Lc %i "/run/netns/$1")\]" 2>/dev/null | grep -q .; }
inside() { if [ "$(id -u)" = 0 ]; then "$@"; else "$podman" unshare "$@"; fi; }
podman=$1
argument() { tr '\0' '\n' <"/proc/$1/cmdline" | sed -n "/^$2\$/{n;p;q}"; }
if [ "$word" != nothing ]; then
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		left=
		ids=$("$@" ps --all --external --no-trunc --format '{{.ID}} {{.Names}}' | sed -n "s/ .*` + namePrefix + `$run-.*//p")
		[ -z "$ids" ] || "$@" rm --force --time 0 --volumes $ids
		for p in $(grep -slaF "CONTAINERS_CONF=$dir/" /proc/[0-9]*/environ); do
			p=${p#/proc/} p=${p%/environ}
			id=$(argument "$p" -c) runtime=$(argument "$p" -r)
			[ -n "$id" ] && [ -n "$runtime" ] || continue
			left=yes
			# What the runtime is just making it must finish first, to know it whole.
			inside "$runtime" state "$id" >/dev/null || [ "$i" = 12 ] || continue
			inside "$runtime" delete --force "$id"
			kill -9 "$p"
			find /sys/fs/cgroup -depth -type d -path "*/libpod*$id*" -exec rmdir {} +
		done
		for v in $("$@" volume ls --quiet --filter "label=` + labelRun + `=$run"); do
			at=$("$@" volume inspect --format '{{.Mountpoint}}' "$v")
			while umount -l "$at"; do :; done
			"$@" volume rm --force "$v"
		done
		[ "$i" -lt 3 ] || [ -n "$left$ids" ] || break
		sleep 0.3
	done
	for p in $(grep -slaF "unix://$dir/sock" /proc/[0-9]*/cmdline); do
		p=${p#/proc/}
		kill -9 "${p%/cmdline}"
	done
	# A network that podman did not live to write down: one of our time, in which
	# nobody is, now and in a while. Others that are just being made are in use then.
	stale=
	[ "$(id -u)" != 0 ] || for n in $(networks); do
		case "$others" in *"$n"*) ;; *) unused "$n" && stale="$stale $n" ;; esac
	done
	[ -z "$stale" ] || sleep 5
	for n in $stale; do
		unused "$n" && umount -l "/run/netns/$n" && rm -f "/run/netns/$n"
	done
fi
rm -rf "$dir"
[ -z "${died:-}" ] || [ -z "$scratch" ] || rm -rf "$scratch"
`

// startReaper: podman is the program with its global arguments.
func startReaper(podman, env []string, run, dir, scratch string) (*reaper, error) {
	args := append([]string{"-c", reap, "ward-reaper", run, dir, scratch}, podman...)
	r := &reaper{cmd: exec.Command("/bin/sh", args...)}
	r.cmd.Env = env
	r.cmd.Dir = "/"
	// A session of its own: what kills the launcher's group must not kill it.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := r.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r.pipe = pipe
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the reaper does not start: %w", err)
	}
	return r, nil
}

// stop lets the reaper do its work, which is nothing when the caller has removed
// every container itself, and waits for it.
func (r *reaper) stop(nothing bool) error {
	word := "all\n"
	if nothing {
		word = "nothing\n"
	}
	io.WriteString(r.pipe, word)
	r.pipe.Close()
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("the reaper: %w", err)
	}
	return nil
}
