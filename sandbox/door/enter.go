package door

import (
	"context"
	"fmt"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/token"
	"git-ward/protocols/gate"
)

// Environ returns the environment of a push that the host itself makes. A token signed with the repository's
// key states the principal and the name (ID-1); id identifies the push.
func Environ(bare, id, principal, name string) ([]string, error) {
	key, err := readKey(bare)
	if err != nil {
		return nil, fmt.Errorf("the door's key cannot be read: %w", err)
	}
	return token.Environ(key, id, principal, name), nil
}

// Enter pushes a commit of repo to a ref of the bare repository, through its hooks, as a principal with a
// name, and ends the push after limit. If the gate refuses the commit, it returns the gate's answer along
// with the error; for any other error refused is nil.
func Enter(ctx context.Context, repo *git.Repo, bare string, limit time.Duration, principal, name, commit, ref string) (refused *gate.Answer, err error) {
	env, err := Environ(bare, token.NewID(time.Now()), principal, name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	said, err := repo.PushAs(ctx, env, []string{gate.AsJSON}, bare, commit+":"+ref)
	if err == nil {
		return nil, nil
	}
	if a, _ := gate.Read(string(said)); a != nil && a.Verdict == gate.Refused {
		return a, err
	}
	return nil, err
}
