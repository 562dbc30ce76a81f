package kube

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/scratch"
	"git-ward/protocols/loop"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/kube/manifest"
	"git-ward/sandbox/verifier"
)

// Verify runs a claim's commands in their own Job, whose only way out is near's connection to
// the gate, and which has no key of a model or lease. The result comes back through near.
func (e *Engine) Verify(ctx context.Context, claim verifier.Claim) (*verifier.Facts, error) {
	word := rand.Text()
	limits := verifier.Limits{Time: e.Settings.Verify.Timeout.Duration, Output: e.Settings.Verify.OutputSize}
	order := verifier.NewOrder(&claim, limits, e.Image, word)
	text, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	v, err := e.listen(word)
	if err != nil {
		return nil, err
	}
	defer v.close()
	spec := e.verifierSpec(&claim, string(text), word)
	take, err := e.giveKey(spec, "verify."+word[:16], []string{"--verdict", v.socket})
	if err != nil {
		return nil, err
	}
	defer take()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	r := &run{Engine: e, spec: spec, name: "verifier", told: e.Tell}
	go func() { ended <- r.whole(ctx) }()
	select {
	case a := <-v.answers:
		cancel()
		return a.facts, errors.Join(a.err, ignore(<-ended))
	case err := <-ended:
		select {
		case a := <-v.answers: // both at once
			return a.facts, a.err
		default:
		}
		if err == nil {
			err = fmt.Errorf("the verifier's Job %s ended without a result", spec.Name)
		}
		return nil, diag.Hint(err, "the verdict is tried again; `git ward launch --logs` has what the pod said")
	}
}

// ignore is for the end of a Job that was requested.
func ignore(error) error { return nil }

// verifierSpec is the pod that runs an order.
func (e *Engine) verifierSpec(claim *verifier.Claim, order, word string) *manifest.Spec {
	runs := claim.Replays + 1 + loop.ControlRuns // with what the claim adds
	longest := time.Duration(len(claim.Commands)*runs) * e.Settings.Verify.Timeout.Duration
	if claim.Against != nil {
		longest = 2*longest + claim.Against.Time
	}
	spec := e.Spec("", 0, time.Now().Add(min(longest, longestVerify)))
	spec.Name, spec.Only = manifest.VerifierName(e.Repository(), claim.Commit, word), strings.ToLower(rand.Text()[:16])
	delete(spec.Labels, directiveLabel)
	spec.Verify = &manifest.Verify{Order: order}
	if e.Settings.Verify.Network == "none" {
		spec.Policy.Mode, spec.Policy.Resolvers = firewall.Allowlist, nil // no gateway there
	}
	return spec
}

// longestVerify bounds a verification in the cluster.
const longestVerify = 24 * time.Hour

// answers receives one verification's answer on a socket, which its key reaches.
type answers struct {
	dir      *scratch.Dir
	socket   string
	listener net.Listener
	answers  chan answer
}

type answer struct {
	facts *verifier.Facts
	err   error
}

// answerTime is how long a client may take to deliver an answer.
const answerTime = 5 * time.Minute

func (e *Engine) listen(word string) (*answers, error) {
	dir, err := scratch.Make(e.Scratch, "verdict-")
	if err != nil {
		return nil, err
	}
	v := &answers{dir: dir, socket: filepath.Join(dir.Path, "sock"), answers: make(chan answer, 1)}
	if v.listener, err = net.Listen("unix", v.socket); err != nil {
		return nil, errors.Join(err, dir.Remove())
	}
	go func() {
		for {
			conn, err := v.listener.Accept()
			if err != nil {
				return
			}
			v.take(conn, word, e)
		}
	}()
	return v, nil
}

// take reads one answer. It ignores one without the order's secret.
func (v *answers) take(conn net.Conn, word string, e *Engine) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(answerTime))
	facts, err := verifier.ReadAnswer(conn, word)
	if errors.Is(err, verifier.ErrWord) {
		e.Log.Warn().Err(err).Msg("an answer was not accepted")
		return
	}
	conn.Write([]byte(taken))
	select {
	case v.answers <- answer{facts, err}:
	default: // there is one
	}
}

func (v *answers) close() {
	v.listener.Close()
	v.dir.Remove()
}
