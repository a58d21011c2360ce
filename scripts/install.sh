#!/bin/sh
# Installs the missing programs that the tests use, as root on Debian and derived
# systems, and fetches other versions of PostgreSQL into a cache if npm is installed.
# On other systems it changes nothing. It prints one line for each program that is
# still missing afterwards. REDRIVE_TEST_INSTALL=no forbids installing. Without missing
# programs it needs no network.
set -eu

# has succeeds if a program is installed, in PATH or in a directory for administrators.
has() {
	case $1 in
	fusermount3) test ! -e /dev/fuse || test "$(id -u)" = 0 || command -v fusermount3 ;;
	pydantic) python3 -c 'import pydantic, sys; sys.exit(pydantic.VERSION[0] < "2")' ;;
	drawtext) test -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf || fc-list | grep -q . ;;
	postgres) command -v initdb || ls /usr/lib/postgresql/*/bin/initdb ;;
	gcc) test "$(go env CGO_ENABLED)" = 1 && command -v "$(go env CC)" ;;
	*) command -v "$1" || ls "/usr/sbin/$1" "/usr/local/sbin/$1" ;;
	esac >/dev/null 2>&1
}

# Per line: a program, its Debian package, and the tests that are skipped without it.
wanted() {
	cat <<-'END'
		gcc|gcc libc6-dev|the race detector
		postgres|postgresql|the tests that start PostgreSQL
		pgbouncer|pgbouncer|the tests with PgBouncer
		redis-server|redis-server|what is measured against Redis
		fusermount3|fuse3|the power cuts of SQLite files
		ffmpeg|ffmpeg|what FFmpeg prints when it fails, and the copies of examples/watermark
		drawtext|fonts-dejavu-core|the visible watermarks of examples/watermark, which need a font
		chromium|chromium|the pages in a browser
		smtpd|opensmtpd|the delivery of a mail by a server of Debian
		ruby|ruby|what Ruby prints when it fails
		rustc|rustc|what Rust prints when it fails
		php|php-cli|what PHP prints when it fails
		node|nodejs|what Node.js prints when it fails
		pydantic|python3-pydantic|the model of a FastAPI client
		java|openjdk-17-jre-headless|Apache Kafka, and what Java prints when it fails
		mvn|maven|the tests with Apache Kafka, whose jars it fetches
		kcat|kcat|the tests that write records as another client of Kafka
		nginx|nginx-light|the server behind nginx
		python3|python3-venv|what Python prints when it fails, and the generated Python client
	END
}

packages=$(wanted | while IFS='|' read -r program package _; do has "$program" || echo "$package"; done)

if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 &&
	[ "${REDRIVE_TEST_INSTALL:-yes}" != no ]; then
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	# shellcheck disable=SC2086 # the packages are words
	echo "== install" $packages >&2
	apt() {
		DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \
			-o Acquire::http::Timeout=30 "$@" >>"$log" 2>&1 </dev/null
	}
	apt update || echo "== apt-get update failed; the existing package lists are used" >&2
	# shellcheck disable=SC2086
	apt install --no-install-recommends $packages || {
		tail -n 20 "$log" >&2
		# One that cannot be had does not keep the others away.
		for package in $packages; do
			apt install --no-install-recommends "$package" || echo "== package $package could not be installed" >&2
		done
	}
	# Debian 12 has version 1.
	has pydantic || python3 -m pip install -q --break-system-packages 'pydantic>=2,<3' >>"$log" 2>&1 </dev/null || true
fi

wanted | while IFS='|' read -r program package skipped; do
	has "$program" || echo "SKIPPED: $skipped (no $program; on Debian: apt-get install $package)"
done

said=$(sh scripts/axe.sh) || echo "SKIPPED: the checks of accessibility of the pages (axe-core: $said)"

said=$(sh scripts/openapi-client.sh) || echo "SKIPPED: the generated Python client (openapi-python-client: $said)"

said=$(sh scripts/webhooks.sh) || echo "SKIPPED: our signatures of webhooks in Python and JavaScript (standardwebhooks: $said)"

said=$(sh kafka/kafka.sh) || echo "SKIPPED: the tests with Apache Kafka ($said)"

for version in $(sh scripts/postgres.sh); do
	code=0
	said=$(sh scripts/postgres.sh "$version") || code=$?
	[ "$code" = 0 ] || echo "SKIPPED: the tests on PostgreSQL $version (${said:-see above})"
	# Where one cannot be fetched nobody waits for the next one.
	[ "$code" != 2 ] || export REDRIVE_TEST_INSTALL=no
done
