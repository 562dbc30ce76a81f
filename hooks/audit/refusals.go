package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
)

// Refuse records a refused push. A refusal that says the same as the newest
// record is only counted, in a file beside the repository, so that an agent
// that pushes the same mistake in a loop cannot fill the chain; the count
// enters the chain with the next record.
func Refuse(ctx context.Context, repo *git.Repo, batch *git.Batch, r *Record) error {
	return (&Pending{Entry: Entry{Record: r}, Since: git.Zero}).Refuse(ctx, repo, batch)
}

// Refuse records a refused push and takes its pending file away.
func (p *Pending) Refuse(ctx context.Context, repo *git.Repo, batch *git.Batch) error {
	p.Record.cut()
	p.Record.redact()
	w, err := NewWriter(ctx, repo, batch)
	if err != nil {
		return err
	}
	defer w.Close()
	lock, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if p.path != "" {
		// Another writer was faster, or the hook admitted the push after its file was read and
		// before its end was noticed.
		now, err := readPending(p.path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && now.State == Admitted {
			return nil
		}
		if err != nil {
			return fmt.Errorf("ward/pending/%s: %w", filepath.Base(p.path), err)
		}
	}
	p.Record.fit()
	last, top, err := Last(batch)
	if err != nil {
		return err
	}
	if last != nil && last.sameRefusal(p.Record) {
		text := strconv.FormatInt(last.ID, 10) + " " + strconv.Itoa(Repeats(repo, last.ID)+1) + "\n"
		err = atomicfile.Write(repeatsPath(repo), []byte(text), fileMode(filepath.Dir(repeatsPath(repo))))
	} else if last == nil || !countRefusal(repo, last.ID, p.Record) {
		since := p.Since
		if p.path == "" {
			since = top
		}
		err = w.append(ctx, &p.Entry, since)
	}
	if err != nil || p.path == "" {
		return err
	}
	failpoint.Reach("audit/refusal-recorded")
	return removeFile(p.path)
}

func repeatsPath(repo *git.Repo) string { return filepath.Join(repo.Dir, "ward", "refusals") }

// Repeats is how often the refusal with this record id was repeated since. An unreadable count
// is 0, so that it cannot block a push.
func Repeats(repo *git.Repo, id int64) int {
	info, err := os.Lstat(repeatsPath(repo))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxRepeatsFile {
		return 0
	}
	data, err := os.ReadFile(repeatsPath(repo))
	if err != nil {
		return 0
	}
	of, count, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || of != strconv.FormatInt(id, 10) {
		return 0 // about an older record, whose count is in the chain
	}
	return n
}
