package relay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"git-ward/internal/git"
)

const (
	// silence is the stream's timeout; the gate sends something each half minute.
	silence = 90 * time.Second
	maxLine = 4 << 10
)

// watch opens the gate's stream and follows it until it ends, which is an error unless ctx ended it. It
// calls whole each time that the mirror is complete.
func (n *server) watch(ctx context.Context, whole func()) error {
	s, err := n.gate.open(ctx, watchCommand)
	if err != nil {
		return err
	}
	defer s.close()
	defer context.AfterFunc(ctx, func() { s.session.Close() })()
	quiet := time.AfterFunc(silence, func() { s.session.Close() })
	defer quiet.Stop()
	lines := bufio.NewReaderSize(s.out, maxLine)
	listed := false
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return n.streamEnd(s, err)
		}
		quiet.Reset(silence)
		old, now, ref, err := parseLine(string(line))
		switch {
		case err != nil:
			return err
		case old == "HEAD":
			if _, err := n.mirror.repo.Output(ctx, "symbolic-ref", "HEAD", now); err != nil {
				return err
			}
		case old == "." && !listed:
			listed = true
			if err := n.mirror.fetch(ctx); err != nil {
				return err
			}
			whole()
		case old != "." && listed:
			n.mirror.tell(ref, now)
		}
	}
}

// streamEnd returns the error for a stream that has ended.
func (n *server) streamEnd(s *session, err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if err = s.wait(); err == nil {
		err = errors.New("the gate ended the stream of refs")
	}
	return err
}

// parseLine reads a line of the stream: `OLD NEW REF`, `HEAD REF`, or `.`.
func parseLine(line string) (old, now, ref string, err error) {
	fields := strings.Fields(line)
	switch {
	case len(fields) == 1 && fields[0] == ".":
		return ".", "", "", nil
	case len(fields) == 2 && fields[0] == "HEAD" && isRef(fields[1], "refs/heads/"):
		return "HEAD", fields[1], "", nil
	case len(fields) == 3 && git.IsID(fields[0]) && git.IsID(fields[1]) && isRef(fields[2], "refs/"):
		return fields[0], fields[1], fields[2], nil
	}
	return "", "", "", fmt.Errorf("the gate's stream of refs has a line of %d bytes that is none", len(line))
}

// isRef reports whether a word is a valid ref name that cannot leave its directory.
func isRef(word, below string) bool {
	return strings.HasPrefix(word, below) && !strings.Contains(word, "..")
}
