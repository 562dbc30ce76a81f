package checks_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// journals writes the records of units, on the server or in the push.
func (f *fixture) journals(s *server, p *checks.Push, pushed bool) {
	for _, unit := range f.units {
		if unit.pushed != pushed {
			continue
		}
		id, err := uow.ParseID(unit.id)
		s.must(err)
		at, err := uow.ParseID(unit.at)
		s.must(err)
		world := f.world(s, id)
		var last *uow.Record
		tip := s.ref(at.Ref())
		if tip != git.Zero {
			last = f.records(s, tip)
		}
		old := tip
		for _, step := range unit.steps {
			words := strings.Fields(step)
			s.time = s.time.Add(time.Minute)
			in := uow.Input{Event: uow.Event(words[0]), Actor: uow.Actor(words[1]), Time: s.time}
			key, value := "", ""
			for _, word := range words[2:] {
				switch k, v, _ := strings.Cut(word, "="); {
				case k == "commit":
					in.Commit = s.id(v)
				case k == "record":
					in.Record = s.id(v)
				case k == "expired":
					in.Expired = &uow.Expired{Record: s.id(v), Manifest: strings.Repeat("0", 64)}
				default:
					key, value = k, v
				}
			}
			in.Reason = slices.Concat(uow.Reasons(in.Event, in.Actor), []uow.Reason{"none"})[0]
			next, found := uow.Advance(id, last, in, world)
			if len(found) > 0 {
				s.t.Fatalf("%s: %s: %s", step, found[0].Rule, found[0].Message)
			}
			if key != "" {
				spoil(s, next, key, value)
			}
			data, err := next.Marshal()
			s.must(err)
			tip = s.record(tip, data)
			last = next
		}
		if pushed {
			p.Updates = append(p.Updates, push.Update{Ref: at.Ref(), Old: old, New: tip})
		} else {
			s.setRef(at.Ref(), tip)
		}
	}
}

// spoil makes a record wrong in one thing.
func spoil(s *server, r *uow.Record, key, value string) {
	switch key {
	case "hash":
		r.Hash = strings.Repeat(value, 64)
		return
	case "iteration":
		n, err := strconv.ParseInt(value, 10, 64)
		s.must(err)
		r.Iteration = n
	case "actor":
		r.Actor = uow.Actor(value)
	default:
		s.t.Fatalf("%q is nothing of a record that a fixture spoils", key)
	}
	s.must(r.Seal())
}

// records reads back the newest record of a journal that is on the server.
func (f *fixture) records(s *server, tip string) *uow.Record {
	batch := git.Open(s.dir).Batch(s.t.Context())
	defer batch.Close()
	_, data, err := batch.Read(tip+":"+uow.File, uow.MaxRecord)
	s.must(err)
	r, err := uow.ParseRecord(data)
	s.must(err)
	return r
}

// record writes a commit of a journal.
func (s *server) record(parent string, data []byte) string {
	tree := s.tree(map[string]git.Entry{uow.File: {Mode: git.ModeFile, ID: s.write("blob", data)}})
	header := ""
	if parent != git.Zero {
		header = "parent " + parent + "\n"
	}
	when := fmt.Sprintf("Ward <ward@localhost> %d +0000", s.time.Unix())
	return s.write("commit", fmt.Appendf(nil, "tree %s\n%sauthor %s\ncommitter %s\n\nstep\n", tree, header, when, when))
}

// world is what main says to a unit.
func (f *fixture) world(s *server, id uow.ID) uow.World {
	var text []byte
	for _, name := range f.order {
		if data, ok := f.commits[name].data[comms.Path]; ok && (strings.HasPrefix(name, "main") || strings.HasPrefix(name, "ward")) {
			text = data
		}
	}
	doc, _ := comms.Parse(text)
	d := doc.Directive(id.Directive)
	if d == nil {
		s.t.Fatalf("main has no directive %s", id.Directive)
	}
	main, found := loop.Main(d, loop.Base(config.Default().Loop), nil)
	if len(found) > 0 {
		s.t.Fatal(found)
	}
	return uow.World{Main: main, Verdict: func(string) bool { return true }}
}
