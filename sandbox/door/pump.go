package door

import (
	"io"
	"time"
)

// chunk is the size of one read; a pipe holds as much.
const chunk = 64 << 10

// inputLimit is how much a client's input may take: silence, time, and bytes. Git
// bounds the pack by itself (receive.maxInputSize), but not the list of refs or
// the push options before it, which it keeps in memory.
type inputLimit struct {
	idle     time.Duration
	deadline time.Time
	bytes    int64
}

// feed copies the client's bytes to git until the client is done, gone or past
// its limit, and then ends git's input. For a git that waits for the client
// that is the end of the push; one that works on does not notice, so a client
// may well be silent while hooks run.
//
// Bytes that git does not take any more are read all the same, so that a client
// that is still sending comes to read why it was refused.
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

// answer copies git's bytes to the client until git is done. A client that is
// gone, or takes nothing for idle, gets no more; git is read all the same.
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
