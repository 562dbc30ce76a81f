package uow

import "fmt"

// Mender is who can do something about what stopped a unit.
type Mender string

// The menders.
const (
	ByPM     Mender = "the PM"    // by a word, in the directive or to its unit
	ByAdmin  Mender = "the admin" // by a setting, the image or the machine: no word of the PM's helps before
	ByNobody Mender = "nobody"    // it passes by itself, or nothing is wrong
)

// mends say who does what about a reason. A reason that is not here is the PM's. None of them is a
// rule of a protocol, which a lesson could change by itself.
var mends = map[Reason]struct {
	by   Mender
	does string
}{
	TransientFailure: {ByAdmin, "looks after the model's provider; a longer `patience` in [model] of config.toml bridges short outages"},
	ModelDenied:      {ByAdmin, "corrects [model] in config.toml, its key file, id or also, and launches again"},
	ProgramKilled:    {ByAdmin, "gives the containers more memory, or the PM cuts the directive into smaller ones"},
	NoTool:           {ByAdmin, "brings it, by the image or [sandbox] programs in config.toml"},
	VerdictTimeout:   {ByAdmin, "raises `timeout` in [verify] of config.toml, or the PM has the directive decided by quicker commands"},
	Backpressure:     {ByAdmin, "makes room on the host's disk, or mends what `depends_on` in [loop] of config.toml names"},
	NotStarted:       {ByPM, "adds a criterion to the directive that starts the program as [bootstrap] run does"},
}

// By is who can mend a reason.
func (r Reason) By() Mender {
	if m, ok := mends[r]; ok {
		return m.by
	}
	return ByPM
}

// Mend says who does what about a reason that stopped a unit, such as D-1.1.
func (r Reason) Mend(unit string) string {
	if m, ok := mends[r]; ok {
		return string(m.by) + " " + m.does
	}
	return fmt.Sprintf("the PM reads what `git ward uow show %s` notes of it, and says in the directive how it is avoided", unit)
}
