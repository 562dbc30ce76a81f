package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"git-ward/internal/lines"
)

// mover is a `git update-ref --stdin` child for transactions one after the other.
type mover struct {
	cmd    *Child
	in     io.WriteCloser
	out    *bufio.Reader
	errs   lines.Head
	cancel context.CancelFunc
	rest   *time.Timer // ends it where nobody asks
}

// MoveRef moves a ref in one transaction, with the caller's environment, as Command has it,
// and a text for the reflog. Under Keep, moves of one kind share a child. The error is
// ChildError's.
func MoveRef(ctx context.Context, dir string, env []string, reflog string, update RefUpdate) error {
	k := keeperOf(ctx)
	// A repository that was made anew in the same place is another one.
	of := strings.Join(append([]string{fmt.Sprint(dir, markFile(dir).inode, markFile(dir+"/.git").inode), reflog}, env...), "\x00")
	m, err := k.takeMover(ctx, of, dir, env, reflog)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, m.cancel)
	err = m.move(update)
	if stop() && err == nil && k.giveMover(of, m) {
		return nil
	}
	if ended := m.end(); err != nil {
		err = ChildError(ctx, "update-ref", errors.Join(ended, err), m.errs.Bytes())
	}
	return err
}

func (k *keeper) takeMover(ctx context.Context, of, dir string, env []string, reflog string) (*mover, error) {
	if k != nil {
		k.mu.Lock()
		m := k.movers[of]
		if m != nil {
			m.rest.Stop()
			delete(k.movers, of)
		}
		k.mu.Unlock()
		if m != nil && alive(m.cmd) {
			return m, nil
		}
		if m != nil {
			m.end()
		}
	}
	own, cancel := apart(ctx)
	m := &mover{cmd: Command(own, dir, env, "update-ref", "-m", reflog, "--stdin", "-z"), cancel: cancel}
	m.cmd.Stderr = &m.errs
	in, err := m.cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	m.in, m.out = in, bufio.NewReader(out)
	if err = m.cmd.Start(); err != nil {
		cancel()
	}
	return m, err
}

// giveMover keeps a child for the next move, and reports whether it did.
func (k *keeper) giveMover(of string, m *mover) bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended || k.movers[of] != nil {
		return false
	}
	k.movers[of] = m
	m.rest = k.after(restTime, func() func() error {
		if k.movers[of] != m {
			return nil
		}
		delete(k.movers, of)
		return m.end
	})
	return true
}

// move makes one transaction. After an error the child is unusable.
func (m *mover) move(u RefUpdate) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "start\x00update %s\x00%s\x00%s\x00commit\x00", u.Ref, u.New, u.Old)
	if _, err := m.in.Write(b.Bytes()); err != nil {
		return err
	}
	for _, want := range []string{"start: ok\n", "commit: ok\n"} { // git-update-ref(1)
		if line, err := m.out.ReadString('\n'); err != nil {
			return err
		} else if line != want {
			return fmt.Errorf("unexpected answer %q", line)
		}
	}
	return nil
}

// end ends the child, which discards an uncommitted transaction.
func (m *mover) end() error {
	defer m.cancel()
	m.in.Close()
	return m.cmd.Wait()
}
