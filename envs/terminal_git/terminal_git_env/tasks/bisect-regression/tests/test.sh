set -e
echo "the answer is the first bad commit"
test "$(tr -d '[:space:]' < "$HOME/answer.txt")" = "$(cat "$SECRET/answer")"
echo "main is as it was"
git clone -q --bare --no-local "$WORK" "$TMPDIR/copy"
test "$(git -C "$TMPDIR/copy" rev-parse main)" = "$(cat "$SECRET/tip")"
