package audit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/git"
)

// Refuse records a refused push. A refusal that says the same as the newest
// record is only counted, in a file beside the repository, so that an agent
// that pushes the same mistake in a loop cannot fill the chain; the count
// enters the chain with the next record.
func Refuse(ctx context.Context, repo *git.Repo, batch *git.Batch, r *Record) error {
	r.redact()
	w, err := NewWriter(ctx, repo, batch)
	if err != nil {
		return err
	}
	defer w.Close()
	last, _, err := Last(batch)
	if err != nil {
		return err
	}
	if last == nil || !last.sameRefusal(r) {
		return w.Append(ctx, Entry{Record: r})
	}
	lock, err := w.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	n, err := Repeats(repo, last.ID)
	if err != nil {
		return err
	}
	text := strconv.FormatInt(last.ID, 10) + " " + strconv.Itoa(n+1) + "\n"
	return atomicfile.Write(repeatsPath(repo), []byte(text), 0o600)
}

func repeatsPath(repo *git.Repo) string { return filepath.Join(repo.Dir, "ward", "refusals") }

// Repeats is how often the refusal with this record id was repeated since.
func Repeats(repo *git.Repo, id int64) (int, error) {
	data, err := os.ReadFile(repeatsPath(repo))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	of, count, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	n, err := strconv.Atoi(count)
	if of != strconv.FormatInt(id, 10) {
		return 0, nil // about an older record, whose count is in the chain
	}
	return n, err
}
