#!/bin/sh
# Makes a bare Debian in $1 (or /) into Ward's image. Part of the recipe: a
# change here is a new image.
set -eu
root=${1:-}

printf 'agent:x:1000:1000::/bot:/bin/bash\nwatcher:x:1001:1001::/bot:/bin/sh\n' >>"$root/etc/passwd"
printf 'agent:x:1000:\nwatcher:x:1001:\n' >>"$root/etc/group"

# Mount points; the tmpfs or disk at /bot takes its mode.
mkdir -p "$root/bot" "$root/mnt/remote" "$root/ward/bin" "$root/ward/door" "$root/usr/local/go"
chmod 1777 "$root/bot"

# The remote is read-only and owned by nobody known inside. What is pushed to
# "origin", the name that a clone gives it, goes through the door.
cat >"$root/etc/gitconfig" <<'G'
[safe]
	directory = /mnt/remote
[remote "origin"]
	receivepack = /ward/bin/ward-agent connect /ward/door/sock
G

# podman's files would name the host. Without a resolver none is asked.
printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
: >"$root/etc/resolv.conf"
echo ward >"$root/etc/hostname"

# The sources name the host's mirror, perhaps with a password in the address.
rm -rf "$root/etc/apt/sources.list" "$root"/etc/apt/sources.list.d/* "$root"/etc/apt/auth.conf* \
	"$root"/etc/apt/apt.conf.d/*proxy* "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/var/log/*

# Nothing inside may change its user by a file; no-new-privileges says it again.
find "$root/usr" "$root/bin" "$root/sbin" -xdev -type f -perm /6000 -exec chmod ug-s {} + 2>/dev/null || true
