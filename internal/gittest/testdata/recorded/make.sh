#!/bin/bash
# Makes the repository of this directory with released binaries.
# usage: make.sh BIN DIR, where BIN holds what `scripts/build BIN` makes of 0.1.0 (04aaec86).
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
{"directive":"D-3","text":"I write the farewell.","calls":[{"name":"write_file","args":{"path":"leave.sh","content":"#!/bin/sh\necho \"Goodbye, $1.\"\n"}}]}
{"directive":"D-3","text":"leave.sh says goodbye."}
{"directive":"D-4","text":"What is wanted is not said."}
LINES
# ask puts directives into COMMS.md, and pushes.
ask() {
	awk -v text="$1" '/^## Reports/ { print text } { print }' COMMS.md >COMMS.new
	mv COMMS.new COMMS.md
	git add . && git commit -q -m "directives" && git push -q origin main
}
ask '### D-1: greet the user

Add a script greet.sh that greets whoever is named by its first argument.

- [ ] it greets (`sh greet.sh Ada | grep -x "Hello, Ada."`)

### D-3: say goodbye

Add a script leave.sh.

- [ ] it says goodbye (`sh leave.sh Ada | grep -x "Goodbye, Ada."`)

### D-4: do what is wanted

What is wanted is in the file wanted.

- [ ] it is there (`test -f wanted`)
'
cd ..
git ward launch --unfenced --once --bare remote.git --state state --model script >launch.log 2>&1 || true

# The PM takes D-1, slips once, and asks for more.
cd work
git pull -q --rebase
git ward take D-1
git pull -q --rebase
mkdir logs && echo "a log" >logs/run.log && git add -f . && git commit -q -m "a slip of the pen"
git push -q origin main || true
git reset -q --hard HEAD^
ask '### D-2: three answers

Write the answers a, b and c, which are 1, 2 and 3.

- [ ] all are right (`test "$(cat a b c | tr -d "\\\\n")" = 123`)
- residual: `sh missing.sh`
'
cd ..

# The launch, killed with all that it started at D-2.1's second claim.
setsid git-ward launch --unfenced --once --bare remote.git --state state --model script >>launch.log 2>&1 &
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
git ward fsck remote.git
cd remote.git
git repack -adfq --window=250 --depth=50
git bundle create -q "$here/refs.bundle" --all
cp config "$here/"
cp ward/config.toml "$here/ward/"
