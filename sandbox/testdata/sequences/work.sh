# What the script model's worker does on a directive, by the first word of its title;
# the second is the text's revision, which the criterion looks for.
set -eu

# at waits at a place for as long as the test wants it.
at() {
	if mv "$WARD_AGENT_STATE/../halt-$1" "$WARD_AGENT_STATE/../halted" 2>/dev/null; then
		while [ -e "$WARD_AGENT_STATE/../halted" ]; do sleep 0.05; done
	fi
}

if [ "$2" = words ]; then at words; exit; fi
at begin
name=$1
kind=${2%% *}
revision=${2##* }
mkdir -p work
case $kind in
good) echo "$revision" >"work/$name" ;;
linked) # a symbolic link and a program
	echo "$revision" >"work/$name"; chmod +x "work/$name"
	ln -sf "$name" "work/$name.link" ;;
nested) # a repository within the repository, mended once it was refused
	echo "$revision" >"work/$name"
	if [ -d "work/$name.clone" ]; then rm -rf "work/$name.clone"; else git clone --quiet . "work/$name.clone"; fi ;;
papers) # what it writes beside its plan
	echo "$revision" >"work/$name"
	mkdir -p .ward/postmortems .ward/research
	echo "# $name $revision" >".ward/postmortems/own-$name.md"
	echo "found $revision" >".ward/research/$name.md" ;;
large) # more than any file may have, mended once it was refused
	echo "$revision" >"work/$name"
	if [ -e "work/$name.large" ]; then rm "work/$name.large"; else truncate -s 70M "work/$name.large"; fi ;;
slow) # two iterations
	if [ "$(cat "work/$name.draft" 2>/dev/null)" = "$revision" ]; then echo "$revision" >"work/$name"; fi
	echo "$revision" >"work/$name.draft" ;;
own) # commits by itself
	echo "$revision" >"work/$name"
	git add work
	git commit --quiet --message "$name by its own hand" || true ;;
shared) echo "$name $revision" >shared.txt ;; # the line that all of this kind write
away) echo "$(($(cat "work/$name.far" 2>/dev/null || echo 0) + 1))" >"work/$name.far" ;;
budget) echo try >>"work/$name.tries" ;;
refused) echo "key = AKIA""Z7Q4M2X9T5B3K6W8" >"work/$name.key" ;;
tells) # its words are nobody's to keep
	echo "$revision" >"work/$name"
	echo "key = AKIA""Z7Q4M2X9T5B3K6W8" ;;
odd) # names that no checkout should see
	echo "$revision" >"work/$name"
	ln -sf /etc/passwd "work/$name.link"
	echo a >"work/$name.ODD"; echo b >"work/$name.odd"
	: >"work/$name
	lines" ;;
nogit) echo "$revision" >"work/$name"; rm -rf .git ;;
strays) # and leaves the branch
	echo "$revision" >"work/$name"
	git checkout -q -b "elsewhere-$revision"; git add work; git commit -q -m elsewhere || true; git tag -f v9 ;;
amends) # what was there before
	echo "$revision" >"work/$name"
	git add work; git commit -q --amend -m "$name amended" --no-edit || true; git push -q -f origin HEAD:main || true ;;
fails) echo "no $name" >&2; exit 1 ;;
idle | asks) ;;
esac
at step
