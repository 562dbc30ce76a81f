package view

import (
	"context"
	"fmt"

	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// Standing is a unit's state: its newest record, and the verdicts on its claims, oldest first.
type Standing struct {
	*uow.Record
	Verdicts []loop.Verdict `json:"verdicts"`
	Waits    uow.Waiting    `json:"-"`
}

// maxClaims bounds the claims of a unit whose verdicts are read: the columns of the plot.
const maxClaims = 30

// Text describes the unit for people.
func (s Standing) Text() string { return loop.Overview(s.Record, s.Verdicts, s.Waits) }

// waitsOf returns what a unit waits for.
func (o *Overview) waitsOf(r *uow.Record) uow.Waiting {
	for _, line := range o.Directives {
		if line.Unit == r.ID {
			return line.WaitsOf(r)
		}
	}
	return r.Waits()
}

// Units lists the units that are not archived, with what they wait for according to o. It leaves out
// units with unreadable journals, which Overview.Waiting lists as incidents.
func (s *Source) Units(ctx context.Context, o *Overview) ([]Standing, error) {
	list := []Standing{}
	err := s.read(ctx, func(r *git.Reader) error {
		all, _, err := state.Units(r)
		if err != nil {
			return err
		}
		for _, unit := range all {
			last, err := s.record(r, unit.Tip)
			if err != nil || last.State == uow.Archived {
				continue
			}
			claims, err := state.Claims(r, unit.Tip, maxClaims)
			if err != nil {
				return fmt.Errorf("%s: %w", unit.ID, err)
			}
			verdicts, err := state.VerdictsOf(r, unit.ID, claims)
			if err != nil {
				return fmt.Errorf("%s: %w", unit.ID, err)
			}
			list = append(list, Standing{last, verdicts, o.waitsOf(last)})
		}
		return nil
	})
	return list, err
}
