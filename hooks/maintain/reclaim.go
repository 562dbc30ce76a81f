package maintain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/atomicfile"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/internal/growth"
)

// reclaimer frees what the agent deleted or rewrote at once, when [limits] agent_objects is
// half used. It keeps what other refs, reflogs or former tips reach, and no push loses an
// object that it relies on.
type reclaimer struct {
	ctx   context.Context
	repo  *git.Repo
	chain []audit.Link
}

const (
	// settled is how long one waits for pushes that were admitted to have moved their refs.
	settled = 20 * time.Second
	// maxRounds is how often to start again because a ref now needs an object to be removed.
	maxRounds = 3
	// goingPath has the ids of objects being removed, and the names of packs, for the next run
	// in case this one is killed.
	goingPath = "ward/maintain.going"
)

// run returns how many objects it took away.
func (r *reclaimer) run() (n int, err error) {
	if err := r.forget(nil, 0); err != nil {
		return 0, err
	}
	failpoint.Reach("maintain/forgotten")
	for range maxRounds {
		again := false
		if n, again, err = r.round(); err != nil || !again {
			break
		}
	}
	return n, err
}

// alone keeps pushes out, and waits for those that were admitted.
func (r *reclaimer) alone() (leave func(), err error) {
	if !isGuarded(r.repo) {
		return func() {}, nil // no hook of Ward's is there to wait for
	}
	if leave, err = growth.Alone(r.ctx, r.repo.Dir); err != nil {
		return nil, err
	}
	batch := r.repo.Batch(r.ctx)
	defer batch.Close()
	for end := time.Now().Add(settled); ; {
		names, err := audit.Moving(r.repo, batch)
		if err == nil && len(names) == 0 {
			return leave, nil
		}
		if err == nil && time.Now().After(end) {
			err = fmt.Errorf("%w: push %s was admitted and does not end", growth.ErrBusy, names[0])
		}
		if err == nil {
			err = r.ctx.Err()
		}
		if err != nil {
			leave()
			return nil, err
		}
		failpoint.Reach("maintain/waits")
		time.Sleep(recordsInterval) // a push tells nobody that it has ended
	}
}

// forget removes the agent's former tips from its refs' reflogs. Meanwhile no push may be
// between its admission, which notes the reflog's length, and its end.
func (r *reclaimer) forget(moved []string, keep time.Duration) error {
	leave, err := r.alone()
	if err != nil {
		return err
	}
	defer leave()
	return expire(r.ctx, r.repo, moved, keep)
}

// round finds and removes what can go; again says that some of it came to be needed. Packs are
// written while pushes continue; only the end excludes them.
func (r *reclaimer) round() (n int, again bool, err error) {
	const tick = 10 * time.Millisecond // a file's time may be so much behind the clock
	start := time.Now().Add(-tick)
	refs, err := r.refs()
	if err != nil {
		return 0, false, err
	}
	gone, kinds, err := r.find()
	if err != nil {
		return 0, false, err
	}
	packs, unwritten := r.repack(gone, kinds)
	if len(gone) == 0 && (unwritten != nil || !r.interrupted()) {
		return 0, false, unwritten
	}
	leave, err := r.alone()
	if err != nil {
		return 0, false, err
	}
	defer leave()
	needed, err := r.needed(refs, gone)
	if err != nil || needed || r.found(gone, packs, start) {
		return 0, err == nil, err
	}
	return len(gone), false, errors.Join(unwritten, r.take(gone, kinds, packs))
}

// repack writes what stays of the packs concerned. If that fails on a full disk, that pack's
// objects and what they reach stay for now, and the error says so; the others free space.
func (r *reclaimer) repack(gone set, kinds kinds) (packs []packFile, failed error) {
	batch := r.repo.Batch(r.ctx)
	defer batch.Close()
	for len(gone) > 0 {
		all, err := packsWith(r.repo, gone)
		if err != nil {
			clear(gone)
			return nil, err
		}
		stay := set{}
		for _, p := range all {
			if err := p.repack(r.ctx, r.repo); err != nil {
				failed = errors.Join(failed, err)
				for _, i := range p.goes {
					stay[i] = true
				}
			}
		}
		if len(stay) == 0 {
			return all, failed
		}
		if stay, err = closure(batch, kinds, stay); err != nil {
			clear(gone)
			return nil, errors.Join(failed, err)
		}
		maps.DeleteFunc(gone, func(i id, _ bool) bool { return stay[i] })
	}
	return nil, failed
}

// found reports whether a push found some of these objects already present: git then updates
// the file's time.
func (r *reclaimer) found(gone set, packs []packFile, since time.Time) bool {
	fresh := func(path string) bool {
		info, err := os.Lstat(path)
		return err == nil && info.ModTime().After(since)
	}
	for _, p := range packs {
		if fresh(p.path + ".pack") {
			return true
		}
	}
	for i := range gone {
		if fresh(r.loose(i)) {
			return true
		}
	}
	return false
}

// loose is where an object lies that is in no pack.
func (r *reclaimer) loose(i id) string {
	name := i.String()
	return filepath.Join(r.repo.Dir, "objects", name[:2], name[2:])
}

// find names the objects that can go.
func (r *reclaimer) find() (gone set, kinds kinds, err error) {
	if kinds, err = unreached(r.ctx, r.repo); err != nil {
		return nil, nil, err
	}
	agent, others := brought(r.chain)
	if err := r.left(agent); err != nil {
		return nil, nil, err
	}
	batch := r.repo.Batch(r.ctx)
	defer batch.Close()
	gone, err = garbage(batch, kinds, agent, others)
	return gone, kinds, err
}

// interrupted reports whether a run that was killed had begun to take something away.
func (r *reclaimer) interrupted() bool {
	_, err := os.Lstat(filepath.Join(r.repo.Dir, goingPath))
	return err == nil
}

// left adds what a run that was killed had begun to take away.
func (r *reclaimer) left(agent set) error {
	lines, err := r.going()
	for _, line := range lines {
		if i, ok := parseID(line); ok {
			agent[i] = true
		}
	}
	return err
}

// going reads what a run that was killed left; nothing where none was.
func (r *reclaimer) going() ([]string, error) {
	data, err := os.ReadFile(filepath.Join(r.repo.Dir, goingPath))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(data)), err
}

// finishPacks removes remains of packs that a killed run had begun to remove: without its
// index, which went first, nobody finds such a pack. If the index exists, removal had not
// started, or the pack was pushed again.
func (r *reclaimer) finishPacks() error {
	lines, err := r.going()
	for _, line := range lines {
		if _, isID := parseID(line); isID || filepath.Base(line) != line || !strings.HasPrefix(line, "pack-") {
			continue
		}
		p := packFile{path: filepath.Join(r.repo.Dir, "objects/pack", line)}
		if _, missing := os.Lstat(p.path + ".idx"); errors.Is(missing, os.ErrNotExist) {
			err = errors.Join(err, p.remove())
		}
	}
	return err
}

// refs are all refs with their values.
func (r *reclaimer) refs() (map[string]string, error) {
	tips, err := r.repo.Refs(r.ctx, "refs/")
	all := make(map[string]string, len(tips))
	for _, tip := range tips {
		all[tip.Name] = tip.ID
	}
	return all, err
}

// needed reports whether a ref that has moved since leads to some of what is to go.
func (r *reclaimer) needed(before map[string]string, gone set) (bool, error) {
	now, err := r.refs()
	if err != nil {
		return false, err
	}
	var tips strings.Builder
	for name, value := range now {
		if before[name] != value {
			tips.WriteString(value + "\n")
		}
	}
	if tips.Len() == 0 {
		return false, nil
	}
	for _, value := range before {
		tips.WriteString("^" + value + "\n")
	}
	out, err := r.repo.OutputFrom(r.ctx, []byte(tips.String()), "rev-list", "--objects", "--no-object-names", "--ignore-missing", "--stdin")
	for line := range bytes.Lines(out) {
		if i, ok := parseID(strings.TrimSpace(string(line))); ok && gone[i] {
			return true, err
		}
	}
	return false, err
}

// take removes the objects while readers can still find all others. Commits go first, so that
// a killed run's remains reach nothing.
func (r *reclaimer) take(gone set, kinds kinds, packs []packFile) error {
	going := filepath.Join(r.repo.Dir, goingPath)
	if err := r.finishPacks(); err != nil {
		return err
	}
	var list bytes.Buffer
	for i := range gone {
		list.WriteString(i.String() + "\n")
	}
	for _, p := range packs {
		list.WriteString(filepath.Base(p.path) + "\n")
	}
	if err := errors.Join(atomicfile.Write(going, list.Bytes(), 0o644), growth.Mark(r.repo.Dir)); err != nil {
		return err
	}
	failpoint.Reach("maintain/listed")
	// These say that objects are there which are not, and are made anew.
	root, err := os.OpenRoot(filepath.Join(r.repo.Dir, "objects"))
	if err != nil {
		return err
	}
	defer root.Close()
	for _, index := range []string{"info/commit-graph", "info/commit-graphs", "pack/multi-pack-index"} {
		if err := root.RemoveAll(index); err != nil {
			return err
		}
		failpoint.Reach("maintain/index-gone")
	}
	for _, p := range packs {
		err = errors.Join(err, p.remove())
		failpoint.Reach("maintain/pack-gone")
	}
	order := map[string]int{"tag": 0, "commit": 1, "tree": 2, "blob": 3}
	for _, i := range slices.SortedFunc(maps.Keys(gone), func(a, b id) int { return order[kinds[a]] - order[kinds[b]] }) {
		if removeErr := os.Remove(r.loose(i)); !errors.Is(removeErr, os.ErrNotExist) {
			err = errors.Join(err, removeErr)
			failpoint.Reach("maintain/object-gone")
		}
	}
	failpoint.Reach("maintain/taken")
	if err == nil {
		err = os.Remove(going)
	}
	return err
}
