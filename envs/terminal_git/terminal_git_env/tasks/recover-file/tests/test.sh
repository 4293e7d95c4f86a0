set -e
git clone -q --bare --no-local "$WORK" "$TMPDIR/copy"
cd "$TMPDIR/copy"
echo "the file is back"
git cat-file blob "main:$TASK_FOLDER/$TASK_NAME.txt" | diff - "$SECRET/lost"
echo "the old commits are there, and nothing else has changed"
tip=$(cat "$SECRET/tip")
git merge-base --is-ancestor "$tip" main
test "$(git diff-tree -r --name-only --no-renames "$tip" main)" = "$TASK_FOLDER/$TASK_NAME.txt"
