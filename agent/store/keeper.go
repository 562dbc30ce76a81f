package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"git-ward/agent/stop"
	"git-ward/internal/git"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// maxKept bounds all keeping for one unit, in bytes of changed files: the host also counts
// replaced versions until its maintenance has deleted them ([limits] agent_objects).
const maxKept = 16 << 20

// Trailers of a commit that holds what a worker had not committed.
const (
	trailerKeptBy   = "Ward-Kept-By"   // the working clone
	trailerKeptOn   = "Ward-Kept-On"   // the remote's commit of the unit's branch
	trailerKeptSize = "Ward-Kept-Size" // bytes pushed so far by keeping for the unit
)

// keptBranch is the branch of a unit's kept tree: rescue/D-3-kept-1 for D-3.1.
func keptBranch(id uow.ID) string { return fmt.Sprintf("rescue/%s-kept-%d", id.Directive, id.K) }

// keeping is the state of keeping for one unit, shared by all Keepers of this process.
type keeping struct {
	ref     string
	tip     string       // that the remote has, "" for none
	tried   string       // what it was to become by a push whose answer is not known, git.Zero for gone, "" for none
	mine    atomic.Bool  // the worker continues from the tip
	apart   bool         // he does not: set it aside before keeping another
	brought atomic.Int64 // bytes, including earlier runs
	full    bool         // that the limit is reached was reported
	refused string       // a tree that the remote refused
	without []string     // paths that it refuses
}

// keepingOf is the one for a unit.
func (s *Store) keepingOf(id uow.ID) *keeping {
	if s.kept == nil {
		s.kept = map[uow.ID]*keeping{}
	}
	k := s.kept[id]
	if k == nil {
		k = &keeping{ref: "refs/heads/" + keptBranch(id)}
		s.kept[id] = k
	}
	return k
}

// arrived reports whether a push arrived that was interrupted before its answer.
func (k *keeping) arrived(ctx context.Context, bare string) bool {
	if k.tried == "" {
		return false
	}
	now, err := git.Open(bare).Ref(ctx, k.ref)
	if err != nil || now != k.tried {
		return false
	}
	if k.tip, k.tried = now, ""; now == git.Zero {
		k.tip = ""
	}
	k.mine.Store(true)
	return true
}

// Saver puts what a worker has changed and not committed on a branch of its unit's while he
// works, so that it outlives the container (AGT-5). It moves nothing but that branch, and
// touches neither the work's clone nor its index.
type Saver struct {
	*keeping
	clone clone  // separate from the work's repository, where git runs concurrently
	ready bool   // this Saver has initialised it
	work  *clone // the worker's tree, which is only read
	unit  uow.ID
	base  string // tree of the worker's first commit
	on    string // what the remote had of the branch then, "" for nothing
	head  string // HEAD when the index was last made
	start string // commit that the index is made of
	last  string // commit of the last kept tree, or the worker's first commit
	tree  string // of last
	short bool   // the tree that was taken last is without a file that the remote refuses
	same  bool   // the working tree was that when Keep last looked
	gone  bool   // the work's repository is, so that head says what is checked out
	say   func(what string)
}

// Saver makes the Saver of the present unit for one worker who begins now. It says what
// cannot be kept, once for each reason.
func (w *Work) Saver(ctx context.Context, say func(what string)) (*Saver, error) {
	head, err := w.Head(ctx)
	if err != nil {
		return nil, err
	}
	s := w.clone.store
	k := &Saver{keeping: s.keepingOf(w.Record.id), work: &w.clone, unit: w.Record.id, head: head, start: cmp.Or(w.tookUp, head), say: say}
	if w.tip != w.left {
		k.on = w.tip
	}
	k.clone = clone{store: s, dir: filepath.Join(filepath.Dir(w.clone.dir), "."+s.name+".kept"), lends: filepath.Join(w.clone.gitDir(), "objects")}
	k.last = k.start
	if k.base, err = w.Record.treeOf(ctx, head); err != nil {
		return nil, err
	}
	k.tree, err = w.Record.treeOf(ctx, k.last)
	return k, err
}

// Run keeps at each tick until the work is over, or the context ends, which cuts off a push.
func (k *Saver) Run(ctx context.Context, ticks <-chan time.Time, over <-chan struct{}) {
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-over:
			return
		case <-ticks:
		}
		if err := k.Keep(ctx); err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			k.say(said)
		}
	}
}

// Keep keeps what the working tree holds now, where it is not what was kept last. Where it is
// what the worker began from nothing is kept. What the remote does not take is tried again by
// the next call, without the files that it names.
func (k *Saver) Keep(ctx context.Context) error {
	k.same = false
	if err := k.ensure(ctx); err != nil {
		return err
	}
	k.arrived(ctx, k.clone.store.Bare)
	if k.apart {
		if _, err := k.clone.putAside(ctx, k.keeping, k.unit); err != nil {
			return err
		}
	}
	for {
		if again, err := k.once(ctx); !again || err != nil {
			return err
		}
	}
}

// Outlive keeps the tree of a worker who has left no repository behind. Gone says that he has, and lost
// that some of what his tree held is not kept. A tree without any file is never kept: nobody wants to
// go on from it. Branch has what is kept, now or earlier, "" for nothing.
func (k *Saver) Outlive(ctx context.Context) (gone, lost bool, branch string) {
	gone, err := k.work.gone(ctx)
	if err != nil {
		k.say(fmt.Sprintf("whether the worker's repository is still there is not known: %v", err))
	}
	if !gone {
		return false, false, ""
	}
	k.gone, k.same = true, false
	if left, err := os.ReadDir(k.work.dir); err == nil && slices.ContainsFunc(left, func(e fs.DirEntry) bool { return e.Name() != ".git" && e.Name() != record.Dir }) {
		if err := k.Keep(ctx); err != nil {
			k.say(err.Error())
		}
	}
	if k.tip != "" {
		branch = strings.TrimPrefix(k.ref, "refs/heads/")
	}
	return true, !k.same, branch
}

// once is one try; again says that the remote named files, which the next try leaves out.
func (k *Saver) once(ctx context.Context) (again bool, err error) {
	tree, size, err := k.take(ctx)
	k.same = err == nil && tree == k.tree && !k.short
	if err != nil || tree == k.tree || tree == k.refused || tree == "" {
		return false, err
	}
	commit := ""
	if tree != k.base {
		trailers := []string{record.TrailerDirective + ": " + k.unit.Directive, trailerKeptBy + ": " + k.work.identity(), fmt.Sprintf("%s: %d", trailerKeptSize, k.brought.Load()+size)}
		if k.on != "" {
			trailers = append(trailers, trailerKeptOn+": "+k.on)
		}
		commit, err = k.git(ctx, "commit-tree", tree, "-p", k.head, "-m", message("agent: what was not committed", "", trailers))
	}
	if err != nil {
		return false, err
	}
	if commit != k.tip {
		if again, err := k.push(ctx, commit, tree); again || err != nil {
			return again, err
		}
	}
	k.tip = commit
	k.brought.Add(size)
	k.last, k.tree, k.same = cmp.Or(commit, k.head), tree, !k.short
	k.start = k.last
	k.mine.Store(true)
	return false, nil
}

// push moves the unit's branch, and deletes it when nothing is kept any more.
func (k *Saver) push(ctx context.Context, commit, tree string) (again bool, err error) {
	k.tried = cmp.Or(commit, git.Zero)
	err = k.clone.pushAll(ctx, []move{{k.ref, k.tip, commit}})
	if err != nil && ctx.Err() != nil {
		return false, err
	}
	arrived := err == nil || k.arrived(ctx, k.clone.store.Bare)
	if k.tried = ""; arrived {
		return false, nil
	}
	if rewritten, no := k.rewritten(ctx); rewritten || no != nil {
		return rewritten, no
	}
	refused := stop.As(err, stop.Refused)
	if refused == nil || len(refused.Findings) == 0 {
		return false, fmt.Errorf("what is not committed is not kept: %w", err)
	}
	more := named(refused, k.without)
	k.without = append(k.without, more...)
	if len(more) == 0 || len(k.without) > maxShown {
		k.refused = tree
	}
	k.say("of what is not committed the remote does not take: " + refused.Output)
	return k.refused != tree, nil
}

// rewritten accepts another commit on the unit's branch in place of the last kept one: the
// host removed something from it (git ward redact).
func (k *Saver) rewritten(ctx context.Context) (bool, error) {
	now, err := git.Open(k.clone.store.Bare).Ref(ctx, k.ref)
	if err != nil || k.tip == "" || now == git.Zero || now == k.tip {
		return false, err
	}
	message, err := k.clone.messageOf(ctx, now)
	if err != nil || !hasTrailer(message, trailerKeptBy, k.work.identity()) {
		return false, err
	}
	k.tip = now
	return true, nil
}

// take writes the working tree's content into the keeping repository. It returns the tree, and
// the size of its differences from the last one; the tree is "" if that is too much.
func (k *Saver) take(ctx context.Context) (tree string, size int64, err error) {
	head := k.head
	if !k.gone {
		if head, err = k.work.checkedOut(ctx); err != nil || head == "" {
			return "", 0, cmp.Or(err, errors.New("what is not committed is not kept: no commit is checked out"))
		}
	}
	if head != k.head { // other files may be tracked now
		k.head, k.start = head, head
	}
	if _, err := k.git(ctx, "read-tree", "--reset", k.start); err != nil {
		return "", 0, err
	}
	if _, err := k.git(ctx, "update-index", "-q", "--refresh"); err != nil {
		return "", 0, err
	}
	if size, err = k.size(ctx); err != nil {
		return "", 0, err
	}
	if k.brought.Load()+size > maxKept {
		if !k.full {
			k.full = true
			k.say(fmt.Sprintf("what is not committed is not kept: for %s it would be more than %d MiB", k.unit, maxKept>>20))
		}
		return "", 0, nil
	}
	if _, err := k.git(ctx, "add", "--all"); err != nil {
		return "", 0, err
	}
	whole, err := k.git(ctx, "write-tree")
	if err != nil || len(k.without) == 0 {
		k.short = false
		return whole, size, err
	}
	for _, path := range k.without {
		if _, err := k.git(ctx, "reset", "--quiet", k.head, "--", ":(top,literal)"+path); err != nil {
			return "", 0, err
		}
	}
	tree, err = k.git(ctx, "write-tree")
	k.short = tree != whole
	return tree, size, err
}

// size is the size of files that differ from the last kept tree.
func (k *Saver) size(ctx context.Context) (size int64, err error) {
	tracked, err := k.git(ctx, "diff-index", "-z", "--name-only", "--no-renames", k.last, "--")
	if err != nil {
		return 0, err
	}
	others, err := k.git(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(k.work.dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	for name := range strings.SplitSeq(tracked+others, "\x00") {
		if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		} else if err != nil && name != "" && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	return size, nil
}

// git runs git on the working tree with the keeping repository.
func (k *Saver) git(ctx context.Context, args ...string) (string, error) {
	return k.clone.store.run(ctx, k.work.dir, append([]string{"--git-dir=" + k.clone.gitDir(), "--work-tree=" + k.work.dir}, args...)...)
}

// ensure prepares the keeping repository, which each Saver makes again: it reads objects of
// the remote and the work's clone, which may have been deleted.
func (k *Saver) ensure(ctx context.Context) error {
	if !k.ready {
		if err := removeAll(k.clone.dir); err != nil {
			return err
		}
		k.ready = true
	}
	return errors.Join(k.clone.ensure(ctx), k.clone.exclude())
}
