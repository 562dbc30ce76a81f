package supervisor

import (
	"bytes"
	"crypto/rand"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"git-ward/internal/process"
	"git-ward/protocols/boot"
)

// question asks the started process whether it is up, over an inherited socket. A line in a
// file proves only that somebody wrote it; here the kernel names the process that answered
// (unix(7), SO_PASSCRED), and the answer contains a word that only the started process can
// have read.
type question struct {
	ours   int      // the watcher's end
	theirs *os.File // the process's end; closed here after the start
	want   string   // the answer
	got    []byte   // an incomplete line

	answerer int // id of the process that answered; 0: none yet
}

// askFD is the process's end of the socket, after the standard streams.
const askFD = "3"

// ask makes the question for one start.
func ask(branch, commit string) (*question, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	word := strings.ToLower(rand.Text())
	q := &question{ours: pair[0], theirs: os.NewFile(uintptr(pair[1]), "question"), want: boot.Answer(branch, commit, word)}
	err = unix.SetsockoptInt(q.ours, unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	if err == nil {
		_, err = unix.Write(q.ours, []byte(word+"\n"))
	}
	if err != nil {
		q.close()
		return nil, err
	}
	return q, nil
}

func (q *question) close() {
	q.theirs.Close()
	unix.Close(q.ours)
}

const (
	// maxHeard is the size of one read, in bytes.
	maxHeard = 4 << 10
	// maxRead bounds the reads of one check; the rest waits for the next.
	maxRead = 64
)

// answered reports whether the process has answered since the last check. leader is the id of the first
// started process, which is not yet reaped, so that the id is not reused. The answer must come from user.
func (q *question) answered(leader int, user uint32) bool {
	buf, control := make([]byte, maxHeard), make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	for range maxRead {
		n, c, _, _, err := unix.Recvmsg(q.ours, buf, control, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return false
		}
		if pid := by(control[:c], leader, user); q.take(buf[:n]) && pid != 0 {
			q.answerer = pid
			return true
		}
	}
	return false
}

// take appends data and reports whether one of its lines is the answer.
func (q *question) take(data []byte) (is bool) {
	q.got = append(q.got, data...)
	for {
		line, rest, whole := bytes.Cut(q.got, []byte{'\n'})
		if !whole {
			break
		}
		is = is || string(line)+"\n" == q.want
		q.got = rest
	}
	if len(q.got) > boot.MaxLine { // too long for an answer
		q.got = q.got[:boot.MaxLine]
	}
	return is
}

// by returns the sender in these control messages if it is the started process or a descendant, else 0.
func by(control []byte, leader int, user uint32) int {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for _, m := range messages {
		if who, err := unix.ParseUnixCredentials(&m); err == nil {
			if who.Uid == user && comesFrom(int(who.Pid), leader) {
				return int(who.Pid)
			}
			return 0
		}
	}
	return 0
}

// maxDepth bounds the chain of parents from a process to the started one.
const maxDepth = 64

// comesFrom reports whether a process is the leader, in its session, or its descendant.
// Leftovers of an earlier start are none of these.
func comesFrom(pid, leader int) bool {
	for range maxDepth {
		if pid == leader {
			return true
		}
		p, ok := process.Read(pid)
		if !ok || p.Dead || p.Parent <= 0 {
			return false
		}
		if p.Session == leader {
			return true
		}
		pid = p.Parent
	}
	return false
}
