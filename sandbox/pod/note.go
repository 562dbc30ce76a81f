// Package pod is how the containers of one Kubernetes pod communicate without the launcher.
// The first installs the rules in their shared network namespace, and notes which namespace
// that is and what it refuses. Later containers refuse to start in any other (MANY-3).
package pod

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"

	"golang.org/x/sys/unix"
)

// Note is what the fence writes for later containers, in a directory that they may only read.
type Note struct {
	Namespace string   `json:"namespace"` // of the network, see Namespace
	Hosts     []string `json:"hosts"`     // addresses of the node and of the API server
	Refused   []string `json:"refused"`   // HOST:PORT over TCP that the agent may not reach: the gate, the kubelet, the API server
	Resolver  string   `json:"resolver"`  // address; "" for none
}

// NotHeld is the exit code of a container in which nothing started because its fence does
// not hold: a new pod would fare no better. No program of Ward's ends so otherwise.
const NotHeld = 77

// maxNote bounds a note, in bytes.
const maxNote = 1 << 20

// Write writes the note atomically, readable for everybody.
func (n *Note) Write(path string) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return atomicfile.WritePrivate(path, append(text, '\n'), 0o644)
}

// Read reads the note, and refuses it where the caller is in another network namespace than
// the one that was fenced: an engine that makes a pod's sandbox anew gives it a new one.
func Read(path string) (n Note, err error) {
	f, err := os.Open(path)
	if err != nil {
		return n, diag.Hint(fmt.Errorf("there is no note that this pod's network is fenced: %w", err), "the init container fence runs first; its logs say why it has not")
	}
	defer f.Close()
	dec := json.NewDecoder(io.LimitReader(f, maxNote))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&n); err != nil {
		return n, fmt.Errorf("the fence's note %s: %w", path, err)
	}
	own, err := Namespace()
	if err != nil {
		return n, err
	}
	if n.Namespace == "" || n.Namespace != own {
		return n, diag.Hint(fmt.Errorf("this is the network namespace %s, and %q is fenced: nothing starts", own, n.Namespace),
			"the pod has a new sandbox, or a runtime with a network of its own (RuntimeClass): docs/cluster.md")
	}
	return n, nil
}

// Namespace names the caller's network namespace, DEVICE:INODE: two processes in one get
// the same name. The kernel may use a name again when a namespace is gone.
func Namespace() (string, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/net", &st); err != nil {
		return "", errors.Join(errors.New("this process's network namespace cannot be told"), err)
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino), nil
}
