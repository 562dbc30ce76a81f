package receive

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"git-ward/hooks/checks"
	"git-ward/internal/cli"
)

// What the door puts into the environment of its receive-pack (ID-1).
const (
	tokenVar  = "WARD_PUSH_TOKEN"
	pushIDVar = "WARD_PUSH_ID"
)

// identify proves who pushes by the transport: the door's token makes the
// agent, the repository's own user (or one on [identity] pm) the PM. Commit
// metadata says nothing. The error is a refusal.
func (s *session) identify() (checks.Principal, string, error) {
	id, token := s.env.Getenv(pushIDVar), s.env.Getenv(tokenVar)
	if token != "" || id != "" {
		if err := s.verifyToken(id, token); err != nil {
			return "", newPushID(s.start), err
		}
		return checks.Agent, id, nil
	}
	id = newPushID(s.start)
	ok, err := s.isPM()
	if err != nil {
		return "", id, err
	}
	if !ok {
		return "", id, cli.Hint(fmt.Errorf("user id %d may not push: it is neither the repository's owner nor on [identity] pm", os.Geteuid()),
			"push as the owner (sudo -u OWNER git push), or let the host admin add you to [identity] pm in ward/config.toml")
	}
	return checks.PM, id, nil
}

func (s *session) verifyToken(id, token string) error {
	if !plainID(id) {
		return fmt.Errorf("the push id is not one that the door makes")
	}
	key, err := os.ReadFile(filepath.Join(s.repo.Dir, "ward", "door.key"))
	if err != nil {
		return fmt.Errorf("the door's key cannot be read: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id))
	given, err := hex.DecodeString(token)
	if len(key) < 32 || err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		return cli.Hint(fmt.Errorf("the push token is wrong"), "agents push through the door only; unset WARD_PUSH_TOKEN and WARD_PUSH_ID to push as yourself")
	}
	return nil
}

// plainID keeps a push id usable as a file name.
func plainID(id string) bool {
	if len(id) < 8 || len(id) > 80 {
		return false
	}
	for _, ch := range id {
		if !(ch >= '0' && ch <= '9' || ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch == '-') {
			return false
		}
	}
	return true
}

// newPushID names a push of the PM: sortable, and never twice.
func newPushID(t time.Time) string {
	var nonce [8]byte
	rand.Read(nonce[:])
	return t.Format("20060102T150405Z") + "-" + hex.EncodeToString(nonce[:])
}

// actAsOwner makes a root process the repository's owner, for good. What root
// writes into a user's repository, the user cannot extend (FIELD-NOTES).
func (s *session) actAsOwner() error {
	owner, err := s.owner()
	if err != nil || os.Geteuid() != 0 || owner.Uid == 0 {
		return err
	}
	return errors.Join(syscall.Setgroups(nil), syscall.Setgid(int(owner.Gid)), syscall.Setuid(int(owner.Uid)))
}

func (s *session) owner() (*syscall.Stat_t, error) {
	stat := new(syscall.Stat_t)
	return stat, syscall.Stat(s.repo.Dir, stat)
}

func (s *session) isPM() (bool, error) {
	owner, err := s.owner()
	if err != nil {
		return false, err
	}
	uid := os.Geteuid()
	if int(owner.Uid) == uid {
		return true, nil
	}
	names := s.config.Identity.PM
	if len(names) == 0 {
		return false, nil
	}
	number := strconv.Itoa(uid)
	if slices.Contains(names, number) {
		return true, nil
	}
	u, err := user.LookupId(number)
	return err == nil && slices.Contains(names, u.Username), nil
}
