package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/vm/halting"
	"git-ward/vm/halting/proof"
)

// maxReports bounds what --check reads.
const maxReports = 256 << 20

// verified is the JSON of analyze --check.
type verified struct {
	File  string       `json:"file"`
	Risk  halting.Risk `json:"estimated_risk"`
	Holds bool         `json:"holds"`
	Fault string       `json:"fault,omitempty"`
}

// check verifies the proofs of analyze's own JSON, by the independent checker,
// against the plans as they are now. A LOW or HIGH without a proof that holds is
// a finding; the other risks claim nothing.
func (a *analysis) check() error {
	data, err := a.readReports()
	if err != nil {
		return err
	}
	var worst error
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var r report
		if err := json.Unmarshal(line, &r, json.RejectUnknownMembers(true)); err != nil {
			return cli.Hint(fmt.Errorf("%s: not a report: %w", a.reports, err), "give it the output of `git ward udc analyze --json`")
		}
		worst = worse(worst, a.verify(&r))
	}
	return worst
}

func (a *analysis) readReports() ([]byte, error) {
	in := a.env.Stdin
	if a.reports != "-" {
		file, err := os.Open(a.env.Path(a.reports))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxReports+1))
	if err == nil && len(data) > maxReports {
		err = fmt.Errorf("%s has more than %d bytes", a.reports, maxReports)
	}
	return data, err
}

func (a *analysis) verify(r *report) error {
	if r.File == "-" {
		return errors.New("the report is about standard input, which is gone: analyze a file")
	}
	p, err := a.reader.plan(r.File)
	if err != nil {
		return err
	}
	o, err := a.environment(p)
	if err != nil {
		return err
	}
	v := verified{File: r.File, Risk: r.Risk, Holds: true}
	if err := holds(r, func(pr *proof.Proof) error { return proof.Check(halting.Flat(p, o), pr, o.Limits()) }); err != nil {
		v.Holds, v.Fault = false, err.Error()
	}
	if err := a.showVerified(v, r.Proof); err != nil {
		return err
	}
	if !v.Holds {
		return cli.ErrFindings
	}
	return nil
}

// holds says why a report claims more than its proof proves.
func holds(r *report, check func(*proof.Proof) error) error {
	switch {
	case r.Proof == nil && (r.Risk == halting.Low || r.Risk == halting.High):
		return fmt.Errorf("%s without a proof", r.Risk)
	case r.Proof == nil:
		return nil
	case r.Risk != halting.Low && r.Risk != halting.High:
		return fmt.Errorf("%s claims nothing, and has a proof", r.Risk)
	case (r.Proof.Claim == proof.Halts) != (r.Risk == halting.Low):
		return fmt.Errorf("%s with a proof that it %s", r.Risk, r.Proof.Claim)
	}
	return check(r.Proof)
}

func (a *analysis) showVerified(v verified, pr *proof.Proof) error {
	if a.json {
		return diag.WriteJSON(a.env.Stdout, v)
	}
	text := "nothing to verify"
	switch {
	case !v.Holds:
		text = "the proof does not hold: " + diag.Clean(v.Fault)
	case pr != nil:
		text = "the proof holds: " + string(pr.Claim)
	}
	_, err := fmt.Fprintf(a.env.Stdout, "%s: %s: %s\n", diag.Clean(v.File), v.Risk, text)
	return err
}

// kinds are the certificates that a proof has, in words.
func kinds(pr *proof.Proof) []string {
	var all []string
	for _, c := range []struct {
		has  bool
		text string
	}{
		{pr.Run != nil, "a run that ends"},
		{pr.Cycle != nil, "a configuration that comes back"},
		{pr.Language != nil, "a set of tapes that no step leaves"},
		{pr.Invariant != nil, "bounds that every step keeps"},
	} {
		if c.has {
			all = append(all, c.text)
		}
	}
	return all
}
