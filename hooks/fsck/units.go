package fsck

import (
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// units proves every journal, and those of one directive together.
func (w *workProof) units() (map[uow.ID]*state.Journal, error) {
	units, strangers, err := state.Units(w.reader)
	if err != nil {
		return nil, err
	}
	for _, ref := range strangers {
		_, why := uow.ParseRef(ref)
		w.report.add(diag.Clean(ref), "fsck/unit", drop, "%v", why)
	}
	all := map[uow.ID]*state.Journal{}
	journals := map[string][]*state.Journal{} // by directive, in the units' order
	for _, u := range units {
		j, err := state.ReadJournal(w.reader, u)
		if err != nil {
			return nil, err
		}
		for _, d := range j.Findings {
			w.report.add(u.ID.Ref(), "fsck/unit", d.Hint, "commit %s, %s", diag.Short(j.Commits[len(j.Records)]), d.Message)
		}
		w.steps += len(j.Records)
		all[u.ID] = j
		journals[u.ID.Directive] = append(journals[u.ID.Directive], j)
	}
	for _, units := range journals {
		w.ledgers(units)
	}
	return all, nil
}

// ledgers verifies that the sums of a directive's units continue correctly.
func (w *workProof) ledgers(journals []*state.Journal) {
	var records [][]*uow.Record
	for _, j := range journals {
		records = append(records, j.Records)
	}
	for _, d := range uow.CheckLedgers(records...) {
		w.report.add(journals[0].ID.Ref(), "fsck/"+strings.TrimPrefix(d.Rule, "uow/"), d.Hint, "%s", d.Message)
	}
}

func (c claims) collect(journal []*uow.Record) {
	var before *uow.Record
	for _, r := range journal {
		if r.Asks(before) {
			c[r.Hash] = r
		}
		before = r
	}
}
