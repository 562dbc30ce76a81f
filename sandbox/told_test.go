package sandbox

import (
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/live"
	"git-ward/internal/runstate"
	"git-ward/internal/tier"
)

// TestToldAndKilled: what the worker does is seen while it does it, and when the launcher is
// killed with all that it started, what was said until then is on the record after the next
// run, whatever the PM has done meanwhile (SEE-1).
func TestToldAndKilled(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	for name, meanwhile := range map[string]func(*desk){
		"gone on with": func(d *desk) { d.letFree() },
		"cancelled":    func(d *desk) { d.uow("cancel", "D-1.1"); d.letFree() }, // what ticks has left its group
		"edited": func(d *desk) {
			d.Write("COMMS.md", strings.Replace(d.comms(), "Make made.txt.", "Make made.txt, please.", 1))
			d.push("the directive, edited")
			d.letFree()
		},
		"gone": func(d *desk) {
			before, _, _ := strings.Cut(d.comms(), "### D-1")
			d.Write("COMMS.md", before+"## Reports\n")
			d.push("the directive is gone")
			d.letFree()
		},
		"stopped by a file, and let go on": func(d *desk) {
			d.Write("scratch/STOP", "the price\n")
			d.push("stop")
			d.once()
			d.Git("rm", "--quiet", "scratch/STOP")
			d.push("go on")
			d.letFree()
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.launch()
			seen := func(kind live.Kind, text string) bool {
				events, err := runstate.Tail(d.Bare, "D-1", 1000)
				for _, e := range events {
					if e.Kind == kind && strings.Contains(e.Text, text) {
						return true
					}
				}
				return err != nil
			}
			d.await("the command that runs", func() bool { return d.ticked() > 0 && seen(live.Called, "while ! test -e") })
			pid, running := runstate.Running(d.Bare)
			if !running || pid == 0 {
				t.Fatal("no launcher runs")
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			d.await("the launcher's end", func() bool { _, running := runstate.Running(d.Bare); return !running })
			meanwhile(d)
			d.once()
			d.Git("fetch", "--quiet", "origin", "+refs/ward/record/*:refs/ward/record/*")
			kept := ""
			for file := range strings.Lines(d.Git("ls-tree", "-r", "--name-only", "refs/ward/record/D-1.1")) {
				if strings.Contains(file, "/transcript") {
					kept += d.Git("show", "refs/ward/record/D-1.1:"+strings.TrimSpace(file))
				}
			}
			if !strings.Contains(kept, "[the work was interrupted") || strings.Count(kept, "while ! test -e") < 1 {
				logs, _ := d.Try(d.Work, nil, "", "git-ward", "launch", "--logs", "--bare", d.Bare)
				t.Errorf("the record's transcripts:\n%s\n%s", kept, logs)
			}
			if name != "gone" && !seen(live.Ended, "") { // of what no directive speaks of any more nobody may be told
				t.Error("the end is not told")
			}
			d.Fsck()
		})
	}
}
