package uow

import "fmt"

// Mender is who can fix what stopped a unit.
type Mender string

// The menders.
const (
	ByPM     Mender = "the PM"    // by an edit of the directive or a command for its unit
	ByAdmin  Mender = "the admin" // by a setting, the image or the machine; the PM cannot help before that
	ByNobody Mender = "nobody"    // it passes by itself, or nothing is wrong
)

// mends says who does what about a reason. For any other reason it is the PM. No lesson can change this
// table, because it is not a rule of a protocol.
var mends = map[Reason]struct {
	by   Mender
	does string
}{
	TransientFailure: {ByAdmin, "looks after the model's provider; a longer `patience` in [model] of config.toml bridges short outages"},
	ModelDenied:      {ByAdmin, "corrects [model] in config.toml, its command, key file, id or also, and launches again"},
	ProgramKilled:    {ByAdmin, "gives the containers more memory, or the PM cuts the directive into smaller ones"},
	NoTool:           {ByAdmin, "brings it, by [sandbox] image or into bin/ of [sandbox] programs in config.toml"},
	VerdictTimeout:   {ByAdmin, "raises `timeout` in [verify] of config.toml, or the PM has the directive decided by quicker commands"},
	Backpressure:     {ByAdmin, "makes room on the host's disk, or mends what `depends_on` in [loop] of config.toml names"},
	NotStarted:       {ByPM, "adds a criterion to the directive that starts the program as [bootstrap] run does"},
}

// By returns who can fix a reason.
func (r Reason) By() Mender {
	if m, ok := mends[r]; ok {
		return m.by
	}
	return ByPM
}

// Mend says who does what about the reason that stopped a unit, such as D-1.1.
func (r Reason) Mend(unit string) string {
	if m, ok := mends[r]; ok {
		return string(m.by) + " " + m.does
	}
	return fmt.Sprintf("the PM reads what `git ward uow show %s` notes of it, and says in the directive how it is avoided", unit)
}
