package door

import (
	"bytes"
	"errors"
	"strconv"
)

// errCertificate ends a push that has a push certificate.
var errCertificate = errors.New("the push brings a certificate (git push --signed): the door proves who pushes by itself, push with --no-signed")

// commandList reads the command list at the head of a push as it passes, packet by packet
// (gitprotocol-pack(5)), and looks for a push certificate. Git accepts an unrequested
// certificate, stores its text in the repository before any hook runs, and keeps it when the
// push is refused (GATE-2).
type commandList struct {
	head []byte // of the current packet: its length and its first bytes
	skip int    // bytes of the packet that are still to come
	done bool   // the list has ended, or is malformed
	size int    // bytes so far
}

// tokenBytes is how many bytes of a command list one token pays for. An accepted push stays in
// the audit with the names of its refs, and no maintenance removes it. So pushes with long
// lists are rarer, and the bucket bounds their sum (GATE-6).
const tokenBytes = 4 << 10

// tokens returns the price of a list beyond the token that its push has paid. It is at most a full bucket,
// so that an endless list does not lock out its sender for hours.
func (l *commandList) tokens(burst int) float64 {
	if l == nil {
		return 0
	}
	return float64(min(l.size/tokenBytes, burst))
}

const (
	lengthBytes = 4
	certWord    = "push-cert"
)

// read looks at the next bytes; a nil list ignores them. Its error refuses the push.
func (l *commandList) read(data []byte) error {
	for l != nil && !l.done && len(data) > 0 {
		if l.skip > 0 {
			n := min(l.skip, len(data))
			l.skip, data = l.skip-n, data[n:]
			l.size += n
			continue
		}
		l.head, data = append(l.head, data[0]), data[1:]
		l.size++
		if len(l.head) < lengthBytes {
			continue
		}
		size, err := strconv.ParseUint(string(l.head[:lengthBytes]), 16, 16)
		if l.done = err != nil || size < lengthBytes; l.done { // a flush packet, or a malformed length
			return nil
		}
		text := l.head[lengthBytes:]
		if bytes.Equal(text, []byte(certWord)) {
			return errCertificate
		}
		if len(l.head) == int(size) || !bytes.HasPrefix([]byte(certWord), text) {
			l.skip, l.head = int(size)-len(l.head), nil
		}
	}
	return nil
}
