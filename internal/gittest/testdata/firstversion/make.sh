#!/bin/bash
# Makes the repository of this directory with the binaries of the first version:
# usage: make.sh BIN DIR, where BIN holds what `go build -o BIN/ ./...` makes of 3182fbb.
set -eu
bin=$(cd "$1" && pwd)
mkdir "$2"
dir=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
export PATH=$bin:$PATH HOME=$dir/home GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 TZ=UTC LC_ALL=C
mkdir "$HOME"
git config --global user.name Pat
git config --global user.email pat@example.org
cd "$dir"
git ward init --bare remote.git
git ward clone remote.git work
cd work
awk '{ print } /^## Directives/ {
	print "\n### D-1: greet the user\n\nAdd a script greet.sh that greets whoever is named by its first argument.\n\n- [ ] it greets (`sh greet.sh Ada | grep -x \"Hello, Ada.\"`)"
	print "\n### D-2: three answers\n\nWrite the answers a, b and c, which are 1, 2 and 3.\n\n- [ ] all are right (`test \"$(cat a b c | tr -d \"\\\\n\")\" = 123`)\n- residual: `sh missing.sh`"
}' COMMS.md >COMMS.new
mv COMMS.new COMMS.md
cat >missing.sh <<'SH'
n=3
for pair in a1 b2 c3; do [ "$(cat "${pair%?}" 2>/dev/null)" = "${pair#?}" ] && n=$((n - 1)); done
echo $n
SH
cat >script.jsonl <<'LINES'
{"directive":"D-1","text":"I write the script.","calls":[{"name":"write_file","args":{"path":"greet.sh","content":"#!/bin/sh\n# greet.sh NAME: greets NAME.\necho \"Hello, $1.\"\n"}}]}
{"directive":"D-1","text":"greet.sh greets whoever is named by its first argument."}
{"directive":"D-2","iteration":0,"text":"The first answer.","calls":[{"name":"bash","args":{"command":"echo 1 > a"}}]}
{"directive":"D-2","iteration":1,"text":"The second.","calls":[{"name":"bash","args":{"command":"echo 2 > b"}}]}
{"directive":"D-2","iteration":2,"text":"The third.","calls":[{"name":"bash","args":{"command":"echo 3 > c"}}]}
{"directive":"D-2","text":"The answers go on."}
LINES
git add . && git commit -q -m "D-1: greet the user, D-2: three answers" && git push -q origin main
cd ..

# The launch, killed with all that it started at D-2.1's second claim.
setsid git-ward launch --unfenced --once --bare remote.git --state state --model script >launch.log 2>&1 &
pid=$!
tree() {
	echo "$1"
	for c in $(cat /proc/"$1"/task/*/children 2>/dev/null); do tree "$c"; done
}
while kill -0 $pid 2>/dev/null; do
	if [ "$(git -C remote.git log --format=%s refs/ward/uow/D-2.1 2>/dev/null | grep -c claim)" = 2 ]; then
		# shellcheck disable=SC2046 # words
		kill -9 $(tree $pid) 2>/dev/null || true
		break
	fi
	sleep 0.01
done
wait || true

# The PM takes D-1, adds a lesson of it, and slips once.
cd work
git pull -q --rebase
git merge -q --no-ff -m "take D-1" origin/agent/D-1
git push -q origin main
postmortem=$(ls postmortems/*D-1.md)
printf '\n**Lesson:** Nobody said what greet.sh does without an argument.\n**Action:** ask for it in the directive\n' >>"$postmortem"
git add . && git commit -q -m "post-mortem of D-1: what was learned"
git ward lesson extract "$postmortem"
git add . && git commit -q -m "lessons: from D-1's post-mortem" || true
git push -q origin main
mkdir logs && echo "a log" >logs/run.log && git add -f . && git commit -q -m "a slip of the pen"
git push -q origin main || true
git ward fsck ../remote.git
cd ../remote.git
git repack -adfq --window=250 --depth=50
git bundle create -q "$here/refs.bundle" --all
cp config "$here/"
cp ward/config.toml "$here/ward/"
