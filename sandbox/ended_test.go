package sandbox

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestEndedPushIsRecorded: a push that the door ends at a bound before any hook has seen
// it has a record that names the bound, and with the bound out of the way another; one
// that is ended in a hook has the hook's (GATE-6).
func TestEndedPushIsRecorded(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	p := gittest.New(t)
	push := func(cpu string) {
		t.Helper()
		configtest.Set(t, p.Bare, "[door] cpu = \""+cpu+"\"")
		line := fmt.Sprintf("%040d %040d refs/heads/agent/x\x00report-status", 0, 1)
		input := fmt.Sprintf("%04x%s0000%s", len(line)+4, line, deltas(100, 10))
		env := []string{"SSH_ORIGINAL_COMMAND=git-receive-pack 'x'", "SSH_CONNECTION=x"}
		if out, _ := p.Try("", env, input, "git-ward", "door", "--stdio", "--bare", p.Bare, "--agent", "robo"); !strings.Contains(out, "ng refs/heads/agent/x") && !strings.Contains(out, "unpack") {
			t.Errorf("%q", out)
		}
	}
	log := func() string { return p.Run("", "git-ward", "log", p.Bare) }
	push("1h")
	if strings.Contains(log(), "limit/cpu") {
		t.Errorf("without the bound:\n%s", log())
	}
	push("1s")
	push("1s") // and once more, which is counted only
	if last := log(); !strings.Contains(last, "robo") || !strings.Contains(last, "limit/cpu") {
		t.Errorf("%s", last)
	}

	// In a hook of the repository's own, after Ward's checks: Ward's writes the record. On a
	// slow machine what comes before the hook takes a second.
	configtest.Set(t, p.Bare, "[door] cpu = \"5s\"")
	own := filepath.Join(p.Bare, "hooks.chained")
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	gittest.Program(t, filepath.Join(own, "pre-receive"), "#!/bin/sh\nwhile :; do :; done\n")
	ssh := filepath.Join(t.TempDir(), "ssh")
	script := "#!/bin/sh\nSSH_ORIGINAL_COMMAND=\"$2\" exec git-ward door --stdio --bare '" + p.Bare + "' --agent robo\n"
	gittest.Program(t, ssh, script)
	p.Commit("a.txt", "one\n")
	out, err := p.Try(p.Work, []string{"GIT_SSH=" + ssh, "GIT_SSH_VARIANT=simple"}, "", "git", "push", "ssh://host/x", "HEAD:refs/heads/agent/y")
	if err == nil || !strings.Contains(out, "of processor time") {
		t.Errorf("%v\n%s", err, out)
	}
	// On a busy machine Ward's hook has no time for its own words, and the door's are there.
	all := log()
	if last := p.Run("", "git-ward", "log", "-n", "1", p.Bare); !strings.Contains(last, "agent/y") || !strings.Contains(last, "chained/pre-receive") && !strings.Contains(last, "limit/cpu") {
		t.Errorf("%s", last)
	}
	if strings.Count(all, "agent/y") != 1 {
		t.Errorf("not one record of the push:\n%s", all)
	}
	p.Fsck()
}

// deltas is a pack of n blobs that are deltas to one MiB of zeros and repeat it so often.
func deltas(n, mib int) string {
	const base = 1 << 20
	var pack bytes.Buffer
	add := func(kind byte, size int, from []byte, content []byte) {
		b := kind<<4 | byte(size&15)
		for size >>= 4; size > 0; size >>= 7 {
			pack.WriteByte(b | 0x80)
			b = byte(size & 0x7f)
		}
		pack.WriteByte(b)
		pack.Write(from)
		z := zlib.NewWriter(&pack)
		z.Write(content)
		z.Close()
	}
	pack.WriteString("PACK\x00\x00\x00\x02")
	binary.Write(&pack, binary.BigEndian, uint32(n+1))
	const blob, refDelta = 3, 7 // gitformat-pack(5)
	zeros := make([]byte, base)
	add(blob, base, nil, zeros)
	id := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", base), zeros...))
	for i := range n {
		delta := binary.AppendUvarint(binary.AppendUvarint(nil, base), uint64(mib*base+4))
		for range mib {
			delta = append(delta, 0x80|0x40, base>>16)
		}
		delta = binary.BigEndian.AppendUint32(append(delta, 4), uint32(i))
		add(refDelta, len(delta), id[:], delta)
	}
	sum := sha1.Sum(pack.Bytes())
	return pack.String() + string(sum[:])
}
