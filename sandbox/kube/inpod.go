package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/sandbox/image"
	noted "git-ward/sandbox/pod"
	"git-ward/sandbox/verifier"
)

// InPod is a verifier's container: it carries out the order in a file, and brings the answer
// to near's socket. What the order's commands are, and what they leave, has another user.
type InPod struct {
	Bare    string // the mirror
	Order   string // unreadable for the commands' user: it has the order's secret
	Note    string // the pod fence's note
	Scratch string // a directory for objects
	Result  string // near's socket
}

// maxOrder bounds an order, in bytes.
const maxOrder = 4 << 20

// Run carries the order out. Its error is one of the way to the gate: all else is an answer.
func (p *InPod) Run(ctx context.Context) error {
	// All processes and files of the commands' user are removed between two commands; on a
	// host that could hit another program. Only in a pod does the note name this namespace.
	if _, err := noted.Read(p.Note); err != nil {
		return fmt.Errorf("this runs in a verifier's pod, and nowhere else: %w", err)
	}
	f, err := os.Open(p.Order)
	if err != nil {
		return err
	}
	defer f.Close()
	var order verifier.Order
	if err := json.NewDecoder(io.LimitReader(f, maxOrder)).Decode(&order); err != nil {
		return fmt.Errorf("the order cannot be read: %w", err)
	}
	// Programs that this process starts have none of its capabilities.
	if _, _, errno := syscall.AllThreadsSyscall6(syscall.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("this process's rights cannot be kept from the commands: %w", errno)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	claim := order.Claim()
	claim.Scratch = p.Scratch
	runner := &verifier.User{ID: image.AgentID, Limits: order.Limits, Image: order.Image}
	facts, err := verifier.Verify(ctx, git.Open(p.Bare), runner, claim)
	answer := verifier.NewAnswer(order.Word, facts, err)
	return p.bring(ctx, &answer)
}

// bring delivers the answer to the gate and waits for its confirmation.
func (p *InPod) bring(ctx context.Context, a *verifier.Answer) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", p.Result)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := a.Write(conn); err != nil {
		return err
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		return err
	}
	said, err := io.ReadAll(io.LimitReader(conn, 1<<10))
	if err == nil && string(said) != taken {
		err = fmt.Errorf("the gate has not taken the answer: %s", diag.Clean(string(said)))
	}
	return err
}

// taken is the gate's confirmation of an answer.
const taken = "taken\n"
