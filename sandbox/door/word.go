package door

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"git-ward/internal/diag"
)

// words follows git's answer to a push packet by packet (gitprotocol-common(5)), so that the
// door can insert a packet of its own between two. Git itself only knows that its unpacker or
// hook has ended.
type words struct {
	why  func() string // the door's message, "" for none yet
	said bool

	head   []byte // of the current packet: its length and its first byte
	rest   int    // bytes of it that are still to come
	listed bool   // the ref list is over: side bands may follow
	lost   bool   // malformed: no longer followed
}

// pass returns what the client gets for git's output. The door's message comes before a
// side-band packet; clients without side bands get none.
func (w *words) pass(data []byte) (out []byte) {
	for len(data) > 0 {
		if w.lost || w.rest > 0 {
			n := len(data)
			if !w.lost {
				n = min(n, w.rest)
				w.rest -= n
			}
			out, data = append(out, data[:n]...), data[n:]
			continue
		}
		w.head, data = append(w.head, data[0]), data[1:]
		if len(w.head) < lengthBytes {
			continue
		}
		size, err := strconv.ParseUint(string(w.head[:lengthBytes]), 16, 16)
		switch {
		case err != nil || 0 < size && size < lengthBytes:
			w.lost = true
		case size == 0: // a flush
			w.listed = true
		case size > lengthBytes && len(w.head) == lengthBytes:
			continue
		case size > lengthBytes:
			if band := w.head[lengthBytes]; w.listed && 1 <= band && band <= 3 {
				out = append(out, w.word()...)
			}
			w.rest = int(size) - len(w.head)
		}
		out, w.head = append(out, w.head...), nil
	}
	return out
}

// word is the packet with the door's message, sent once.
func (w *words) word() []byte {
	if w.said {
		return nil
	}
	why := w.why()
	w.said = why != ""
	if !w.said {
		return nil
	}
	const progress = 2 // the band that git shows to people
	return packet(fmt.Sprintf("%c%s\n", progress, why))
}

// packet is a text as git's packet.
func packet(text string) []byte { return fmt.Appendf(nil, "%04x%s", len(text)+lengthBytes, text) }

// whyEnded tells a client why its push was ended.
func (s *service) whyEnded(cause error) string {
	var much tooMuch
	switch {
	case errors.As(cause, &much):
		return s.outward(much.Error())
	case errors.Is(cause, context.DeadlineExceeded):
		return fmt.Sprintf("the push was ended: it took longer than %v", s.total)
	case cause != nil:
		return "the push was ended: the door closes"
	}
	return ""
}

// outward is a line for the client, without the host's directories.
func (s *service) outward(line string) string {
	return diag.Clean(strings.ReplaceAll(line, s.bare, "the repository"))
}
