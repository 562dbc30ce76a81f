# What the script model's worker does on a directive, by the first word of its title;
# the second is the text's revision, which the criterion looks for.
set -eu
name=$1
kind=${2%% *}
revision=${2##* }
mkdir -p work
case $kind in
good) echo "$revision" >"work/$name" ;;
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
fails) echo "no $name" >&2; exit 1 ;;
idle | asks) ;;
esac
