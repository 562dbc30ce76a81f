package fence

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/process"
)

// recordsTime bounds what the end of a launch waits for the records of pushes.
const recordsTime = 20 * time.Second

// keepRecords writes, beside the launch, the records of pushes that an earlier launcher's
// end left without one (AUD-2). What it returns waits for that, and does the same once
// more for what this launch leaves.
func (l *launch) keepRecords(ctx context.Context) (finish func()) {
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		l.writeRecords(ctx)
	}()
	return func() {
		<-begun
		l.writeRecords(ctx)
	}
}

// writeRecords starts git-ward only where a push waits for its record: most launches
// start none.
func (l *launch) writeRecords(ctx context.Context) {
	files, err := os.ReadDir(filepath.Join(l.spec.Bare, "ward/pending"))
	if err != nil || !slices.ContainsFunc(files, func(f os.DirEntry) bool { return strings.HasSuffix(f.Name(), ".json") }) {
		return
	}
	// The launch's own end must not end it: it is what the end waits for.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordsTime)
	defer cancel()
	if err := l.runWard(ctx, "maintain", "--records", l.spec.Bare); err != nil {
		l.log.Warn().Err(err).Msg("pushes wait for their records: git ward fsck --repair writes them")
	}
}

// runWard runs a verb of git-ward's, with the environment that a launch was given, and
// logs what it says.
func (l *launch) runWard(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, l.spec.Programs.Ward, args...)
	cmd.Dir, cmd.Env = l.spec.Bare, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C"}
	process.EndGroup(cmd, syscall.SIGTERM, time.Second)
	out, err := cmd.CombinedOutput()
	if said := strings.TrimSpace(string(out)); said != "" {
		l.log.Info().Str("says", diag.Clean(said[:min(len(said), 2000)])).Msg("git ward " + args[0])
	}
	return err
}
