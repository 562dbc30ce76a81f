package state

import (
	"errors"
	"iter"
	"slices"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// MaxNote bounds the verdicts on one commit, all lines together, in bytes.
const MaxNote = 8 << 20

// VerdictsOn reads the host's verdicts on a commit, oldest first.
func VerdictsOn(r Reader, commit string) ([]loop.Verdict, error) {
	note, err := r.Note(loop.VerdictsRef, commit, MaxNote)
	if errors.Is(err, diag.ErrTooLarge) {
		return nil, nil
	}
	list, _ := loop.ParseVerdicts(note)
	return list, err
}

// VerdictsOf reads the host's verdicts on what a unit claimed, in the order of the
// commits. A verdict that was copied to another commit, or is on another unit's
// claim, is none of them.
func VerdictsOf(r Reader, unit uow.ID, commits []string) ([]loop.Verdict, error) {
	list := []loop.Verdict{}
	for _, commit := range commits {
		all, err := VerdictsOn(r, commit)
		if err != nil {
			return nil, err
		}
		for _, v := range all {
			if v.Unit == unit.String() && v.Commit == commit {
				list = append(list, v)
			}
		}
	}
	return list, nil
}

// Answer returns the host's last verdict on one claim, by the hash of the claim's record; nil
// while there is none.
func Answer(r Reader, commit, claim string) (*loop.Verdict, error) {
	list, err := VerdictsOn(r, commit)
	for _, v := range slices.Backward(list) {
		if v.Claim == claim {
			return &v, err
		}
	}
	return nil, err
}

// Proof is the host's last verdict for a unit on a commit if it is EXACT or CONVERGED for a text
// of the directive, else nil: a later NONE takes an EXACT back.
func Proof(r Reader, commit, unit, directiveHash string) (*loop.Verdict, error) {
	verdicts, err := VerdictsOn(r, commit)
	for _, v := range slices.Backward(verdicts) {
		if v.Unit == unit {
			if !v.Proves(commit, unit, directiveHash) {
				break
			}
			return &v, err
		}
	}
	return nil, err
}

// Converged reports whether the last claim of some unit of a directive ("D-1") is
// proved for this text of it; "" is for any text.
func Converged(r Reader, directive, directiveHash string) (bool, error) {
	for k := 1; ; k++ {
		id := uow.ID{Directive: directive, K: k}
		if tip, err := r.Tip(id.Ref()); err != nil || tip == "" {
			return false, err
		}
		if proof, err := UnitProof(r, id, directiveHash); err != nil || proof != nil {
			return proof != nil, err
		}
	}
}

// UnitProof is the Proof of one unit's last claim. A broken record proves nothing.
func UnitProof(r Reader, id uow.ID, directiveHash string) (*loop.Verdict, error) {
	last, err := Last(r, id)
	if _, ok := errors.AsType[*BrokenRecord](err); ok {
		return nil, nil
	}
	if err != nil || last == nil || last.Claim == nil || directiveHash != "" && last.DirectiveHash != directiveHash {
		return nil, err
	}
	return Proof(r, last.Claim.Commit, last.ID, last.DirectiveHash)
}

// NoteReader is a Reader that can list a notes ref.
type NoteReader interface {
	Reader
	// Noted lists the objects that have a note of a notes ref.
	Noted(ref string) ([]string, error)
}

// Noted has the host's notes on one object.
type Noted struct {
	Object   string
	Verdicts []loop.Verdict // oldest first
	Broken   error          // lines that are no verdicts, or a note that is too large
}

// AllVerdicts reads every note of verdicts, with what is broken in it: for those
// who prove the repository.
func AllVerdicts(r NoteReader) iter.Seq2[Noted, error] {
	return func(yield func(Noted, error) bool) {
		objects, err := r.Noted(loop.VerdictsRef)
		if err != nil {
			yield(Noted{}, err)
			return
		}
		for _, object := range objects {
			n := Noted{Object: object}
			note, err := r.Note(loop.VerdictsRef, object, MaxNote)
			if errors.Is(err, diag.ErrTooLarge) {
				n.Broken, err = err, nil
			} else if err == nil {
				n.Verdicts, n.Broken = loop.ParseVerdicts(note)
			}
			if !yield(n, err) || err != nil {
				return
			}
		}
	}
}
