package checks

import (
	"git-ward/hooks/walk"
	"git-ward/protocols/uow"
)

var policyCheck = Check{
	Name:  "policy",
	Doc:   "The interaction policy follows its form: every unit that becomes ACTIVE reads it from main (UOW-3).",
	Rules: []string{"uow/policy"},
	Tip: func(pass *Pass, t *walk.Tip) error {
		d, err := readDocument(pass, t, uow.PolicyPath, uow.MaxPolicy)
		if d == nil || err != nil || d.deleted {
			return err
		}
		_, found := uow.ParsePolicy(d.new)
		d.reportAll(found)
		return nil
	},
}
