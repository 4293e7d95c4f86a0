set -e
git clone -q --bare --no-local "$WORK" "$TMPDIR/copy"
git -C "$TMPDIR/copy" cat-file -e "main:$TASK_SCRIPT"
each() {
    echo "$1"
    sort -t "$mark" -k1,1 "$TMPDIR/input" |
        awk -F "$mark" 'NF == 2 { sum[$1] += $2 } END { for (name in sum) print name, sum[name] }' |
        LC_ALL=C sort -k2,2nr -k1,1
}
. "$GIVEN/agent/inputs.sh" > "$TMPDIR/expected"
diff "$GIVEN/agent/output" "$TMPDIR/expected"
