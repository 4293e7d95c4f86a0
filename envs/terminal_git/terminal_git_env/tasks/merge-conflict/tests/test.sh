set -e
git clone -q --bare --no-local "$WORK" "$TMPDIR/copy"
cd "$TMPDIR/copy"
echo "main is a merge of both branches"
test "$(git rev-parse main^1 main^2)" = "$(cat "$SECRET/parents")"
echo "$TASK_FILE has all three changes"
printf 'name = example\nport = %s\ntimeout = %s\nlevel = %s\nretries = 3\n' \
    "$TASK_PORT" "$TASK_TIMEOUT" "$TASK_LEVEL" > "$TMPDIR/expected"
git cat-file blob "main:$TASK_FILE" | diff - "$TMPDIR/expected"
test "$(git cat-file blob main:README)" = "An example."
echo "the work tree is what was committed"
diff "$WORK/$TASK_FILE" "$TMPDIR/expected"
test ! -e "$WORK/.git/MERGE_HEAD"
