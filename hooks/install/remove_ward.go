package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/keyline"
	"git-ward/internal/pattern"
)

// made are the names of Ward's files in ward/. Anything else there is somebody's, such as
// ward/launch.env and ward/allowed_signers: it stays, and is listed.
var made = pattern.New(`^(?:agent-objects\.(?:json|lock)|aside|audit\.lock|authorized_keys(?:\.lock)?|backpressure\.json|before|before\.json|cache|` +
	`config\.before|config\.toml|door|door\.key|(?:door|launch)\.log(?:\.1)?|held|judging|launch\.lock|launcher\.json|live|` +
	`maintain\.(?:going|lock|mark|run|turn)|meter\.json(?:\.lock)?|notified\.json|pending|receive\.config|redacted|refusals|refusals\.hour|` +
	`signs\.json|suite\.json|unfolded|verdict\.(?:key|pub)|verify\.lock|workers)$`)

// inside are the directories among them, and the names of what Ward makes in them. All else of
// those names is a file.
var inside = map[string]*pattern.Pattern{
	"aside":   pattern.New(`^.+\.json(?:\.[0-9]+)?$`),
	"cache":   pattern.New(`^(?:fill\.lock|[0-9a-f]+-[0-9a-f]+-[0-9]+|ward-(?:fill|old|disk)-[0-9a-z]+(?:\.mark)?)$`),
	"door":    pattern.New(`^(?:receive|upload)-pack-.+$`),
	"held":    pattern.New(`^D-[0-9]+\.[0-9a-f]+(?:\.word)?\.json$`),
	"judging": pattern.New(`^D-[0-9]+.*\.json$`),
	"live":    pattern.New(`^D-[0-9]+\.jsonl(?:\.1)?$`),
	"pending": pattern.New(`^.+\.json$`),
	"workers": pattern.New(`^.+\.json$`),
}

// isUnfinished reports whether an entry of ward/ is what a killed writer left of a file that Ward
// makes.
func isUnfinished(e fs.DirEntry) bool {
	of := atomicfile.Unfinished(e.Name())
	return of != "" && e.Type().IsRegular() && made.MatchString(of)
}

// keysIn are the keys in ward/ that a person put there.
func keysIn(ward string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(ward, keyline.File))
	return keyline.Theirs(data), ignore(err)
}

// heldDir is the entry of ward/ with the only copy of what a person wrote (internal/held). It
// stays without --purge.
const heldDir = "held"

// content classifies the entries of ward/ by what happens to them.
type content struct {
	ours   []string // names of what goes
	half   []string // of them, as people see them, what a killed writer left
	theirs []string // what stays, as people see it: Ward did not make it
	keys   []string // those that a person put there, to which the file of keys comes down
	held   bool
}

// sort runs for the plan, and again when it is executed.
func (r *remover) sort(ward *os.Root, keys []string) (c content, err error) {
	entries, err := fs.ReadDir(ward.FS(), ".")
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		name := "ward/" + diag.Clean(e.Name())
		shape, isDir := inside[e.Name()]
		switch {
		case e.Name() == heldDir && !r.purge:
			c.held = true
		case e.Name() == keyline.File && len(keys) > 0:
			c.keys = keys
			c.theirs = append(c.theirs, fmt.Sprintf("%s of %s", diag.Count(len(keys), "line"), name))
		case made.MatchString(e.Name()) && isDir && e.IsDir():
			c.held = c.held || e.Name() == heldDir
			if err := c.sortDirectory(ward, e.Name(), shape); err != nil {
				return c, err
			}
		case made.MatchString(e.Name()) && !isDir && !e.IsDir():
			c.ours = append(c.ours, e.Name())
		case isUnfinished(e):
			c.ours, c.half = append(c.ours, e.Name()), append(c.half, name)
		default:
			c.theirs = append(c.theirs, name)
		}
	}
	return c, nil
}

// sortDirectory sorts a directory of Ward's: it is removed completely if everything in it is Ward's.
func (c *content) sortDirectory(ward *os.Root, dir string, shape *pattern.Pattern) error {
	entries, err := fs.ReadDir(ward.FS(), dir)
	if err != nil {
		return err
	}
	var ours []string
	for _, e := range entries {
		name := e.Name()
		if half := atomicfile.Unfinished(name); half != "" {
			name = half
		}
		if shape.MatchString(name) && (dir == "cache" || e.Type().IsRegular()) {
			ours = append(ours, dir+"/"+e.Name())
		} else {
			c.theirs = append(c.theirs, "ward/"+dir+"/"+diag.Clean(e.Name()))
		}
	}
	if len(ours) == len(entries) {
		ours = []string{dir}
	}
	c.ours = append(c.ours, ours...)
	return nil
}

// look sorts ward/ as it is now. The caller closes root.
func (r *remover) look() (root *os.Root, found content, err error) {
	ward := filepath.Join(r.Dir, "ward")
	if err := unmounted(ward); err != nil {
		return nil, found, err
	}
	keys, err := keysIn(ward)
	if err != nil {
		return nil, found, err
	}
	if root, err = os.OpenRoot(ward); err != nil {
		return nil, found, err
	}
	if found, err = r.sort(root, keys); err != nil {
		root.Close()
		return nil, found, err
	}
	return root, found, nil
}

// files removes what Ward made in ward/, and last in it the record of what stood before.
func (r *remover) files(context.Context) error {
	if !r.wards() {
		return nil
	}
	root, found, err := r.look()
	if err != nil {
		return err
	}
	root.Close()
	stays := found.held && !r.purge
	what := "ward/"
	if stays {
		r.plan.Stays = append(r.plan.Stays, "ward/"+heldDir+", what is held out of directives: it lies nowhere else, and --purge deletes it")
		what = "what else Ward made in ward/"
	}
	if len(found.theirs) > 0 {
		r.plan.Stays = append(r.plan.Stays, "what Ward did not make: "+strings.Join(found.theirs, ", "))
		what = "what Ward made in ward/"
	}
	if len(found.half) > 0 {
		what += ", and what is half written: " + strings.Join(found.half, ", ")
	}
	stays = stays || len(found.theirs) > 0
	if len(found.ours) == 0 && len(found.keys) == 0 && stays {
		return nil
	}
	r.plan.Lost = append(r.plan.Lost, "the settings in ward/config.toml, the keys of door and verdicts, and what was spent")
	if found.held && r.purge {
		r.plan.Lost = append(r.plan.Lost, "the only copy of what is held out of directives, in ward/"+heldDir)
	}
	r.step(change("remove", "%s", what), func() error { return r.removeFiles(stays) })
	return nil
}

// removeFiles removes what is Ward's by now, and ward/ itself unless it stays.
func (r *remover) removeFiles(stays bool) error {
	ward := filepath.Join(r.Dir, "ward")
	if _, err := os.Lstat(ward); err != nil {
		return ignore(err)
	}
	root, now, err := r.look()
	if err != nil {
		return err
	}
	defer root.Close()
	if len(now.keys) > 0 {
		if err := atomicfile.Write(filepath.Join(ward, keyline.File), []byte(strings.Join(now.keys, "\n")+"\n"), 0o600); err != nil {
			return err
		}
	}
	for _, name := range now.ours {
		if name == filepath.Base(beforeFile) { // it goes last
			continue
		}
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	err = ignore(root.Remove(filepath.Base(beforeFile)))
	if !stays {
		err = errors.Join(err, ignore(os.Remove(ward)))
	}
	return err
}
