package cycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"git-ward/agent/interaction"
	"git-ward/agent/store"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// Files of an iteration besides those of 003.
const (
	changesFile = "changes.txt"  // changed paths, one a line; the record's are below .ward/
	verdictFile = "verdict.json" // a copy of the host's note
)

const maxArtifacts = 200 // at most this many of an iteration's files are listed one by one

// list returns artifacts.json for the changes, and the contents of the files that it lists, the record's
// included. changes.txt names these files, and also deletions, submodules, links, and changes beyond
// maxArtifacts.
func (r *run) list(ctx context.Context, changes []store.Change, uncommitted map[string][]byte) (list loop.Artifacts, files map[string][]byte, err error) {
	n := r.now.brief.Iteration
	list = loop.Artifacts{SchemaVersion: loop.SchemaVersion, LoopID: r.deps.Declaration.LoopID, Artifacts: []loop.Artifact{}}
	add := func(path, role string, data []byte) {
		list.Artifacts = append(list.Artifacts, loop.Artifact{Iteration: n, Path: path, SHA256: loop.Digest(data), Role: role})
	}
	files = map[string][]byte{}
	read, done := r.deps.Work.Files(ctx)
	defer done()
	var log strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&log, "%s\t%s\n", c.Status, c.Path)
		if c.Status == "D" || c.Special || len(list.Artifacts) >= maxArtifacts {
			continue
		}
		data, err := read(c.Path)
		var large *git.TooLarge // the remote decides whether the file is allowed, and the Solver fixes it
		if err != nil && !errors.As(err, &large) {
			return list, nil, err
		}
		if data != nil {
			add(c.Path, "artifact", data)
		}
	}
	made := log.Len() > 0                                        // Ward's own accounts of the work are not part of it
	for _, path := range slices.Sorted(maps.Keys(uncommitted)) { // not among the work's files, which artifacts.json lists
		files[path] = uncommitted[path]
		made = made || !strings.HasPrefix(path, record.PostMortems+"/")
		fmt.Fprintf(&log, "A\t%s/%s\n", record.Dir, path)
	}
	if len(changes) > 0 || len(uncommitted) > postMortems(uncommitted) {
		path := r.path(n, changesFile)
		files[path] = []byte(log.String())
		if made {
			add(path, "log", files[path])
		}
	}
	if words := diag.CleanLines(diag.Cut(strings.TrimSpace(r.now.result.Words), loop.MaxWords)); words != "" {
		files[r.path(n, loop.WordsFile)] = []byte(words + "\n")
	}
	maps.Copy(files, r.transcript())
	files[r.path(n, loop.ArtifactsFile)], err = loop.Encode(list)
	return list, files, err
}

// postMortems counts the post-mortems among these files: they describe the work and do not
// count as artifacts (003, section 1, step 3).
func postMortems(uncommitted map[string][]byte) (n int) {
	for path := range uncommitted {
		if strings.HasPrefix(path, record.PostMortems+"/") {
			n++
		}
	}
	return n
}

// recall restores what an earlier run knew of the iteration in progress: its use of the
// budget, and its review if the work is claimed.
func (r *run) recall(ctx context.Context) error {
	r.now.calls, r.now.seconds = r.journaled()
	if lost := r.deps.Lost; !r.claimed() && lost.Iteration == r.deps.Journal.Last().Iteration {
		r.count(lost.Calls) // the journal's next step reports it
		r.now.seconds = min(r.now.seconds+lost.Seconds, r.deps.Limits.MaxSecondsPerIteration)
		r.deps.Lost = interaction.Sign{}
	}
	r.now.brief.Calls, r.now.brief.Seconds = r.now.calls, r.now.seconds
	if !r.claimed() {
		r.now.transcript = r.deps.Unit.Words()
		return nil
	}
	read := r.evidence(ctx).read
	words, err := read(r.path(r.now.brief.Iteration, loop.WordsFile))
	if err != nil {
		return err
	}
	changes, err := read(r.path(r.now.brief.Iteration, changesFile))
	if err != nil {
		return err
	}
	r.now.result.Words = strings.TrimSpace(string(words))
	for line := range strings.Lines(string(changes)) {
		if status, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok && !strings.HasPrefix(path, record.Dir+"/") {
			r.now.result.Changes = append(r.now.result.Changes, store.Change{Status: status, Path: path})
		}
	}
	return nil
}

// journaled is what the iteration in progress has used up to its claim, or to the newest step:
// interactions, and the seconds in which the unit was ACTIVE. Pauses in between do not count.
func (r *run) journaled() (calls, seconds int) {
	records := r.deps.Journal.Records
	begun := -1
	for i, rec := range slices.Backward(records) {
		if rec.Event == uow.Iterate {
			begun = i
			break
		}
	}
	if begun < 0 {
		return 0, 0
	}
	end := len(records) - 1
	if r.claimed() {
		for records[end].Event != uow.MakeClaim {
			end--
		}
	}
	for i := begun + 1; i <= end; i++ {
		calls += int(max(0, records[i].Interactions-records[i-1].Interactions)) // a clarification resets them
		from, err := time.Parse(time.RFC3339, records[i-1].Time)
		to, err2 := time.Parse(time.RFC3339, records[i].Time)
		if err == nil && err2 == nil && records[i-1].State == uow.Active && records[i].ReasonCode != uow.Stale {
			seconds += max(0, int(to.Sub(from)/time.Second))
		}
	}
	return calls, min(seconds, r.deps.Limits.MaxSecondsPerIteration)
}
