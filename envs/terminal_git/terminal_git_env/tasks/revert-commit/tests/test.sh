set -e
git clone -q --bare --no-local "$WORK" "$TMPDIR/copy"
cd "$TMPDIR/copy"
echo "the old commits are all there, with one more"
test "$(git rev-parse main^)" = "$(cat "$SECRET/tip")"
echo "the rounding is undone, and nothing else"
for file in $TASK_FILES; do git cat-file blob "main:$file" | diff - "$SECRET/$file"; done
