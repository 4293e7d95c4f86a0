set -e
case $TASK_SEPARATOR in comma) mark=, ;; semicolon) mark=';' ;; *) mark=: ;; esac
git clone -q --bare --no-local "$WORK" "$TMPDIR/copy"
cd "$TMPDIR"
git -C copy cat-file blob "main:$TASK_SCRIPT" > script
RANDOM=$TASK_SEED

check() {
    sort -t "$mark" -k1,1 "$1" | awk -F "$mark" 'NF == 2 { sum[$1] += $2 } END { for (name in sum) print name, sum[name] }' |
        LC_ALL=C sort -k2,2nr -k1,1 > expected
    (timeout 5 sh script < "$1") > got
    diff got expected
}

for lines in 1 7 60 400; do
    echo "a file of $lines lines"
    for name in $TASK_NAMES; do
        count=0
        while test "$count" -lt "$lines"; do
            echo "$name$mark$((RANDOM % 5))"
            test "$((RANDOM % 9))" != 0 || echo
            count=$((count + 1))
        done
    done > input
    check input
done
echo "equal sums"
for name in $TASK_NAMES; do echo "$name${mark}3"; done > input
check input
echo "nothing"
: > input
check input
