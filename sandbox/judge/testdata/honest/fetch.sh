# Fetches a library from where it is published, by the registry's own client, into ./library.
# usage: fetch.sh KIND NAME [MODULE...]
#   go   MODULE@VERSION, and the modules that it needs
#   npm  PACKAGE@VERSION
#   deb  SOURCE=VERSION, as the distribution of the machine has it
set -eu
kind=$1 name=$2
shift
case $kind in
go)
	for module; do
		found=$(GOFLAGS="" go mod download -json "$module")
		[ -e library ] || cp -R "$(printf %s "$found" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')" library
	done
	;;
npm)
	npm pack --silent --ignore-scripts --fetch-retry-mintimeout=500 --fetch-retry-maxtimeout=2000 "$name"
	mkdir library
	tar -xzf ./*.tgz -C library --strip-components=1
	;;
deb)
	# The machine's lists have packages only: those of sources lie beside, for all libraries.
	# apt brings its gpgv, which a test's PATH lacks.
	apt=$(cd .. && pwd)/apt
	options="-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$apt/parts -o Dir::State::lists=$apt/lists
		-o Dir::Cache=$apt/cache -o APT::Sandbox::User=root -o Apt::Key::gpgvcommand=/usr/bin/gpgv"
	if [ ! -e "$apt" ]; then
		mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
		for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
			[ ! -e "$list" ] || sed 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$list" >"$apt/parts/${list##*/}"
		done
		[ ! -e "$apt/parts/sources.list" ] || mv "$apt/parts/sources.list" "$apt/parts/main.list"
		# shellcheck disable=SC2086 # words
		apt-get $options -q update || true # of what there is no source
	fi
	# shellcheck disable=SC2086
	apt-get $options -q source --download-only --tar-only "$name"
	mkdir library
	tar -xf ./*.orig.tar.* -C library --strip-components=1
	;;
esac
chmod -R u+w library
