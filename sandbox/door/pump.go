package door

import (
	"io"
	"time"
)

// chunk is the size of one read; a pipe holds as much.
const chunk = 64 << 10

// inputLimit bounds a client's input: idle time, total time, and bytes. Git itself bounds the
// pack (receive.maxInputSize), but not the ref list and push options before it, which it keeps
// in memory.
type inputLimit struct {
	idle     time.Duration
	deadline time.Time
	bytes    int64
}

// feed copies the client's bytes to git until the client is done, gone or past its limit, and
// then closes git's input. A git that still reads takes this as the end of the push; one that
// already works does not notice, so a client may be silent while hooks run.
//
// feed reads on after git has stopped reading, so that a client that is still sending gets to
// read why it was refused.
func (p *push) feed(conn client, limit inputLimit) {
	defer p.stdin.Close()
	var git io.Writer = p.stdin
	list := p.list
	buf := make([]byte, chunk)
	for p.in < limit.bytes {
		until := time.Now().Add(limit.idle)
		if until.After(limit.deadline) {
			until = limit.deadline
		}
		conn.SetReadDeadline(until)
		n, err := conn.Read(buf)
		p.in += int64(n)
		if p.refused = list.read(buf[:n]); p.refused != nil {
			return
		}
		if _, gitErr := git.Write(buf[:n]); gitErr != nil {
			p.stdin.Close()
			git = io.Discard
		}
		if err != nil {
			return
		}
	}
}

// answer copies git's output to the client until git is done. A client that is gone, or reads
// nothing for idle, gets no more, but git's output is still drained.
func (p *push) answer(conn client, idle time.Duration) {
	defer conn.CloseWrite()
	var out io.Writer = conn
	buf := make([]byte, chunk)
	for {
		n, err := p.stdout.Read(buf)
		p.out += int64(n)
		conn.SetWriteDeadline(time.Now().Add(idle))
		said := buf[:n]
		if p.words != nil {
			said = p.words.pass(said)
		}
		if _, clientErr := out.Write(said); clientErr != nil {
			out = io.Discard
		}
		if err != nil {
			return
		}
	}
}
