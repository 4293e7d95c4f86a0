set -e
git clone -q --bare --no-local "$WORK" "$TMPDIR/copy"
cd "$TMPDIR/copy"
echo "main is as it was"
test "$(git rev-parse main)" = "$(cat "$SECRET/tip")"
echo "$TASK_BRANCH is main and its own commits, one after the other"
expected=$(for word in $TASK_WORDS; do echo "Add $word"; done)
test "$(git log --reverse --format=%s "main..$TASK_BRANCH")" = "$expected"
test "$(git rev-parse "$TASK_BRANCH~3")" = "$(git rev-parse main)"
echo "nothing is lost"
{ echo "$TASK_TITLE"; for word in $TASK_WORDS; do echo "$word"; done; } > "$TMPDIR/expected"
git cat-file blob "$TASK_BRANCH:index.txt" | diff - "$TMPDIR/expected"
for word in $TASK_WORDS; do test "$(git cat-file blob "$TASK_BRANCH:$word.txt")" = "About $word"; done
test "$(git cat-file blob "$TASK_BRANCH:LICENSE")" = "Free to use."
