package door

import (
	"bytes"
	"errors"
	"strconv"
)

// errCertificate ends a push that brings a certificate.
var errCertificate = errors.New("the push brings a certificate (git push --signed): the door proves who pushes by itself, push with --no-signed")

// commandList reads the list of commands at the head of a push as it goes by, packet
// by packet (gitprotocol-pack(5)), for a push certificate: git takes one whether it
// asked for one or not, and stores its text, whatever that is, in the repository
// itself before any hook runs, and keeps it when the push is refused (GATE-2).
type commandList struct {
	head []byte // of the present packet: its length and the first of its bytes
	skip int    // bytes of it that are still to come
	done bool   // the list is over, or nothing that git reads
	size int    // bytes so far
}

// tokenBytes are how much of a list a token pays for. What is accepted stays in the
// audit with the names of its refs, and no maintenance takes it away: pushes of long lists
// come less often, so that what all of them leave is bounded by the bucket (GATE-6).
const tokenBytes = 4 << 10

// tokens are what a list costs beside the one that its push has paid, at most as many as
// there can be: one without end is refused, and does not keep its sender out for hours.
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

// read looks at what comes next; a nil list looks at nothing. Its error is a refusal.
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
		if l.done = err != nil || size < lengthBytes; l.done { // a flush, or what git gives up on
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
