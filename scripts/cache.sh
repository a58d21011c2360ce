# Read by the scripts that fetch what tests use into a cache. It sets $cache, the folder of the cache.
# Under root, servers run as another user, who needs access to it.
cache=/var/cache
[ "$(id -u)" = 0 ] || cache=${XDG_CACHE_HOME:-$HOME/.cache}
cache=$cache/redrive-test

# fail CODE REASON prints the reason and exits.
fail() {
	echo "$2"
	exit "$1"
}

# may_fetch REASON fails with the reason why something is needed, if nothing may be fetched.
may_fetch() {
	[ "${REDRIVE_TEST_INSTALL:-yes}" != no ] || fail 1 "$1, and nothing is fetched with REDRIVE_TEST_INSTALL=no"
}

# fetching NAME makes the cache and announces what is fetched.
fetching() {
	echo "== fetch $1" >&2
	umask 022
	mkdir -p "$cache" || fail 1 "it is not installed, and there is no writing to $cache"
}
