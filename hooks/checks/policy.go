package checks

import (
	"git-ward/protocols/uow"
)

var policyCheck = Check{
	Name: "policy",
	Doc:  "The interaction policy follows its form: every unit that becomes ACTIVE reads it from main (UOW-3).",
	Tip: func(r *Run, t *Tip) error {
		d, err := r.document(t, uow.PolicyPath, uow.MaxPolicy)
		if d == nil || err != nil || d.deleted {
			return err
		}
		_, found := uow.ParsePolicy(d.new)
		r.reportAll(d, found)
		return nil
	},
}
