# try.sh CONDITION [TRIES]: waits until it holds. It ends by itself, and then says
# what was waited for and what the workers did instead: a script must not hang.
left=${2:-600}
until sh -c "$1" >/dev/null 2>&1; do
  left=$((left - 1))
  if test $left -le 0; then
    echo "given up waiting until: $1" >&2
    for log in *.log; do
      test ! -e "$log" || { echo "$log says:"; cat "$log"; } >&2
    done
    exit 1
  fi
  sleep 0.1
done
