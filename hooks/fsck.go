package hooks

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"strings"

	"git-ward/hooks/audit"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

const fsckUsage = "fsck [--repair] [--json] [DIR]"

// Fsck is `git ward fsck`: it walks the audit chain again and proves that each
// record follows the one before, that the notes say the same, that every ref is
// where the chain left it, that no push is half recorded, and that the units of
// work, verdicts and evidence are whole (GIT-3). --repair
// finishes half-recorded pushes and rebuilds the notes, which are only an index;
// the chain itself is never rewritten.
func Fsck(ctx context.Context, env *cli.Env) error {
	var repair, asJSON bool
	args, err := env.Flags("fsck", fsckUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&repair, "repair", false, "finish half-recorded pushes and rebuild the notes")
		fs.BoolVar(&asJSON, "json", false, "findings as JSON on one line")
	})
	if err != nil {
		return err
	}
	repo, err := repository(ctx, env, args, fsckUsage)
	if err != nil {
		return err
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	f := &fsck{ctx: ctx, env: env, repo: repo, batch: batch}
	if err := f.run(repair); err != nil {
		return err
	}
	f.found = diag.Normalize(f.found)
	if asJSON {
		err = diag.WriteJSON(env.Stdout, map[string]any{"records": len(f.chain), "notes": f.notes, "unit_records": f.records, "verdicts": f.verdictCount, "repaired": f.repaired, "findings": f.found})
	} else {
		for _, line := range f.repaired {
			fmt.Fprintln(env.Stdout, "repaired: "+line)
		}
		diag.WriteText(env.Stdout, f.found)
		if f.records > 0 || f.verdictCount > 0 {
			fmt.Fprintf(env.Stdout, "%d records of units, %d verdicts\n", f.records, f.verdictCount)
		}
		fmt.Fprintf(env.Stdout, "%d records, %d notes, %d findings\n", len(f.chain), f.notes, len(f.found))
	}
	if err == nil && diag.HasErrors(f.found) {
		return cli.ErrFindings
	}
	return err
}

type fsck struct {
	ctx   context.Context
	env   *cli.Env
	repo  *git.Repo
	batch *git.Batch

	chain                 []link
	notes                 int
	records, verdictCount int
	claims                map[string]*uow.Record    // by their hash
	granted               map[string][]loop.Verdict // by unit and commit
	found                 []diag.Diagnostic
	repaired              []string
}

func (f *fsck) report(ref, rule, hint, format string, args ...any) {
	f.found = append(f.found, diag.Diagnostic{Ref: ref, Rule: rule, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (f *fsck) run(repair bool) error {
	if err := f.pending(repair); err != nil {
		return err
	}
	chain, err := readChain(f.ctx, f.repo, f.batch)
	f.chain = chain
	if err != nil {
		f.report(audit.ChainRef, "fsck/chain", "restore refs/ward/audit from a clone that fetched it", "broken after record %d: %v", len(chain), err)
		return nil
	}
	if len(chain) == 0 {
		f.report(audit.ChainRef, "fsck/chain", "git ward init --bare DIR starts it", "there is no audit chain")
		return nil
	}
	f.links()
	missing, err := f.index()
	if err != nil {
		return err
	}
	if repair && missing {
		if err := f.rebuild(); err != nil {
			return err
		}
	}
	if err := f.tips(); err != nil {
		return err
	}
	return f.work()
}

// pending looks for pushes that moved refs and were never recorded. In a clone
// there is nothing to look at.
func (f *fsck) pending(repair bool) error {
	all, err := audit.LoadPending(f.repo)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		f.report(audit.ChainRef, "fsck/pending", "move the file away by hand once its refs are checked", "%v", err)
		return nil
	}
	left := 0
	for _, p := range all {
		if !p.Process.Alive() {
			left++
		}
	}
	if left == 0 {
		return nil
	}
	if !repair {
		f.report(audit.ChainRef, "fsck/pending", "git ward fsck --repair records it now, the next push does, too",
			"%d pushes ended without their record", left)
		return nil
	}
	n, err := audit.Reconcile(f.ctx, f.repo, f.batch)
	f.repaired = append(f.repaired, fmt.Sprintf("recorded %d unfinished pushes", n))
	return err
}

// links checks that each record is the next of the one before it.
func (f *fsck) links() {
	for i, l := range f.chain {
		line, err := l.Marshal()
		if err != nil {
			f.report(audit.ChainRef, "fsck/chain", "", "record %d: %v", l.ID, err)
		}
		if _, raw, err := f.batch.Read(l.Commit+":record.json", 64<<20); err != nil || !bytes.Equal(raw, line) {
			f.report(audit.ChainRef, "fsck/chain", "somebody wrote it by hand; compare with a clone's chain", "record %d is not in canonical form", l.ID)
		}
		if l.ID != int64(i+1) {
			f.report(audit.ChainRef, "fsck/chain", "compare with a clone's chain: git fetch refuses a rewritten one",
				"commit %s holds record %d where %d belongs", diag.Short(l.Commit), l.ID, i+1)
			return
		}
	}
	for ref, b := range balances(f.chain) {
		if _, ok := b.tip(); !ok {
			f.report(diag.Clean(ref), "fsck/gap", "somebody moved the ref on the host, past the hooks",
				"the recorded moves of the ref do not link up")
		}
	}
}

// index compares the notes with the chain, in both directions, and reports
// whether the notes lack something that the chain has.
func (f *fsck) index() (missing bool, err error) {
	want := map[string]map[string]bool{} // object -> record lines
	for _, l := range f.chain {
		line, err := l.Marshal()
		if err != nil {
			return false, err
		}
		if l.Verdict != audit.Accepted {
			continue
		}
		for _, tip := range l.Tips() {
			if want[tip] == nil {
				want[tip] = map[string]bool{}
			}
			want[tip][string(line)] = true
		}
	}
	have, err := f.readNotes()
	if err != nil {
		return false, err
	}
	for object, lines := range want {
		for line := range lines {
			if !have[object][line] {
				missing = true
				f.report(audit.NotesRef, "fsck/notes", "git ward fsck --repair rebuilds the notes from the chain", "the note on %s lacks its record", diag.Short(object))
			}
		}
	}
	for object, lines := range have {
		for line := range lines {
			f.notes++
			if !want[object][line] {
				missing = true
				f.report(audit.NotesRef, "fsck/notes", "git ward fsck --repair rebuilds the notes from the chain", "the note on %s holds a line that the chain does not", diag.Short(object))
			}
		}
	}
	return missing, nil
}

// readNotes reads all notes of the audit as sets of lines.
func (f *fsck) readNotes() (map[string]map[string]bool, error) {
	tip, err := f.repo.Ref(f.ctx, audit.NotesRef)
	if err != nil || tip == git.Zero {
		return nil, err
	}
	out, err := f.repo.Output(f.ctx, "ls-tree", "-r", tip)
	if err != nil {
		return nil, err
	}
	notes := map[string]map[string]bool{}
	for entry := range strings.Lines(string(out)) {
		meta, path, _ := strings.Cut(strings.TrimSuffix(entry, "\n"), "\t")
		fields := strings.Fields(meta)
		object := strings.ReplaceAll(path, "/", "")
		if len(fields) != 3 || !git.IsID(object) {
			f.report(audit.NotesRef, "fsck/notes", "git ward fsck --repair rebuilds the notes from the chain", "%q is not a note", path)
			continue
		}
		_, data, err := f.batch.Read(fields[2], 64<<20)
		if err != nil {
			return nil, err
		}
		set := map[string]bool{}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSuffix(line, "\n"); line != "" {
				set[line] = true
			}
		}
		notes[object] = set
	}
	return notes, nil
}

// rebuild writes the notes anew from the chain, on top of what is there, so that
// a clone can still follow.
func (f *fsck) rebuild() error {
	w, err := audit.NewWriter(f.ctx, f.repo, f.batch)
	if err != nil {
		return err
	}
	defer w.Close()
	records := make([]*audit.Record, len(f.chain))
	for i, l := range f.chain {
		records[i] = l.Record
	}
	if err := w.RebuildNotes(f.ctx, records); err != nil {
		return err
	}
	f.repaired = append(f.repaired, "rebuilt "+audit.NotesRef+" from the chain")
	kept := f.found[:0]
	for _, d := range f.found {
		if d.Rule != "fsck/notes" {
			kept = append(kept, d)
		}
	}
	f.found, f.notes = kept, 0
	_, err = f.index()
	return err
}

// tips compares every ref with where the chain left it. In a clone, other
// branches are expected, so only the server's own repository is compared.
func (f *fsck) tips() error {
	bare, err := f.repo.Output(f.ctx, "rev-parse", "--is-bare-repository")
	if err != nil || strings.TrimSpace(string(bare)) != "true" {
		return err
	}
	alive, err := audit.LoadPending(f.repo)
	if err != nil {
		return nil // reported above
	}
	busy := map[string]bool{}
	for _, p := range alive {
		for _, ref := range p.Record.Refs {
			busy[ref.Ref] = true
		}
	}
	r, err := unrecorded(f.ctx, f.repo, f.chain)
	if err != nil {
		return err
	}
	for _, ref := range r.Refs {
		if !busy[ref.Ref] {
			f.report(diag.Clean(ref.Ref), "fsck/unrecorded", "somebody moved it on the host, past the hooks; git ward init --bare DIR records it as it is",
				"is at %s, but the audit has it at %s", short(ref.New), short(ref.Old))
		}
	}
	return nil
}
