// Ward-inside is the first process of a fenced container and starts the payload. It is small
// and static, because it is bound into every container.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"os"

	"git-ward/internal/cli"
	"git-ward/sandbox/inside"
)

func main() { cli.Main("ward-inside", run) }

const usage = "ward-inside [--life SOCKET [--probe JSON]] [--as ID] [--netns FILE] [--user ID] [--assigned FILE] [--gateway SOCKET [--proxy] [--listen HOST:PORT]] -- CMD [ARG ...]"

// run is the whole program; its exit code is CMD's.
func run(_ context.Context, env *cli.Env) (err error) {
	p := inside.Payload{Dir: env.Dir, Stdin: env.Stdin, Stdout: cli.Raw(env.Stdout), Stderr: cli.Raw(env.Stderr)}
	var surroundings string
	var as int
	p.Args, err = env.Flags("ward-inside", usage, func(fs *flag.FlagSet) {
		fs.StringVar(&p.Life, "life", "", "the launcher's `SOCKET`; everything here ends when the launcher closes it")
		fs.StringVar(&surroundings, "probe", "", "the fence's description, as `JSON`: try the fence first, and start nothing if it does not hold")
		fs.StringVar(&p.Note, "netns", "", "the `FILE` that describes a pod's fence: start nothing in a network namespace other than the one it names")
		fs.IntVar(&as, "as", 0, "become the user and group `ID` first but keep root's capabilities, for engines that give capabilities to root only")
		fs.IntVar(&p.User, "user", 0, "the command's user and group `ID`, without rights; this program's own if not given")
		fs.StringVar(&p.Assigned, "assigned", "", "the launcher's `FILE` of the command's last arguments and variables")
		fs.StringVar(&p.Gateway, "gateway", "", "the gateway's `SOCKET`")
		fs.StringVar(&p.Listen, "listen", "127.0.0.1:0", "`HOST:PORT` of the forwarder, on loopback")
		fs.BoolVar(&p.Proxy, "proxy", false, "set the proxy variables too, for allow-list mode")
	})
	if err != nil {
		return err
	}
	if len(p.Args) == 0 || p.Life == "" && p.Gateway == "" {
		return env.Usage(usage, "a socket and a command are needed")
	}
	if p.User < 0 || as < 0 {
		return env.Usage(usage, "--user and --as are a user's number")
	}
	if as != 0 && os.Geteuid() != as {
		return inside.Become(as, env.Args)
	}
	if surroundings != "" {
		if p.Life == "" {
			return env.Usage(usage, "--probe needs the launcher's socket")
		}
		if err := json.Unmarshal([]byte(surroundings), &p.Probe); err != nil || p.Probe == nil {
			return env.Usage(usage, "--probe is not what a launcher gives")
		}
	}
	code, err := inside.Run(p)
	if code != 0 {
		return cli.ExitCode(code)
	}
	return err
}
