#!/bin/sh
# A run over twelve items is killed in the middle with no chance to clean up; the same command goes on.
set -eu
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT
cd "$where"
seq 12 >ids.txt
: >effects
cat >go.sh <<'SCRIPT'
exec resumectl run --items ids.txt -- sh -c 'sleep 0.1; echo "$1" >>effects' _ {}
SCRIPT

echo '$ resumectl run --items ids.txt -- sh -c … _ {}      # and kill -9 after the fifth item'
sh go.sh &
while [ "$(wc -l <effects)" -lt 5 ]; do sleep 0.02; done
kill -9 $!
wait || true

echo; echo '$ resumectl status'
resumectl status
echo; echo '$ (the same command again)'
sh go.sh
echo; echo "effects: $(sort -un effects | wc -l) of 12 items, $(wc -l <effects) in all"
resumectl status --check
